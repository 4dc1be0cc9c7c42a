// Sinusoidal positions: a heat map to point at, one pair of dimensions as curves, and the numbers as a table.

const positional = {
  ROWS: 12, COLUMNS: 16, // of the table: more is in the heat map

  /** Draws into a node: {length, width, tokens, values: float32 in base 64}. */
  draw(parent, data) {
    const bytes = Uint8Array.from(atob(data.values), (c) => c.charCodeAt(0));
    const state = { ...data, values: new Float32Array(bytes.buffer), row: 0, column: 0, parts: {} };
    const box = viz.el("div", { class: "positional" });
    parent.append(box);
    for (const part of ["map", "curves", "table"]) positional[part](box, state);
    positional.choose(state, Math.min(1, state.length - 1), 0);
    viz.theme.changed(() => positional.paint(state));
  },

  value(state, row, column) { return state.values[row * state.width + column]; },
  wavelength(state, column) { return 2 * Math.PI * 10000 ** (2 * Math.floor(column / 2) / state.width); },
  short(text) { return text.length > 24 ? text.slice(0, 23) + "…" : text.trim() ? text : "␣"; },
  fixed(value, digits) { return value.toFixed(digits).replace("-", "−"); },
  ticks(count) {
    let step = 1;
    for (let i = 0; count > 10 * step; i++) step = [2, 5, 10][i % 3] * 10 ** Math.floor(i / 3);
    return Array.from({ length: Math.ceil(count / step) }, (_, i) => i * step);
  },

  // The heat map ----------------------------------------------------------------------------------------------

  map(box, state) {
    const { length, width } = state, named = state.tokens.length > 0 && length <= 48;
    const high = Math.max(Math.min(Math.max(length * 5, 120), 480), named ? length * 20 : 0);
    const canvas = viz.el("canvas", { width, height: length, tabindex: 0, role: "application",
      "aria-label": "values by position and dimension; arrow keys move", style: `height:${high}px` });
    const rows = viz.el("div", { class: named ? "rows named" : "rows" });
    const shown = named ? state.tokens.map((token, i) => [i, positional.short(token)]) : positional.ticks(length).map((i) => [i, i]);
    for (const [i, text] of shown) rows.append(viz.el("span", { style: `top:${(i + .5) / length * 100}%` }, text));
    rows.append(...shown.map(([, text]) => viz.el("span", { class: "sizer" }, text)));
    const columns = viz.el("div", { class: "columns" }, positional.ticks(width).map(
      (i) => viz.el("span", { style: `left:${(i + .5) / width * 100}%` }, i)));
    const cross = viz.el("div", { class: "cross" });
    const scale = viz.el("div", { class: "scale" }, ["1", "0", "−1"].map((text) => viz.el("span", {}, text)));
    const told = viz.el("p", { class: "told", "aria-live": "polite" });
    Object.assign(state.parts, { canvas, cross, told });
    box.append(
      viz.el("p", { class: "quiet" }, `${length} positions down, ${width} dimensions across. Point at a cell, or move with the arrow keys.`),
      viz.el("div", { class: "frame" }, viz.el("div"), columns, viz.el("div"), rows, viz.el("div", { class: "map" }, canvas, cross), scale), told);
    canvas.addEventListener("pointermove", (event) => {
      const frame = canvas.getBoundingClientRect();
      const at = (x, size, count) => Math.max(0, Math.min(count - 1, Math.floor(x / size * count)));
      positional.choose(state, at(event.clientY - frame.top, frame.height, length), at(event.clientX - frame.left, frame.width, width));
    });
    canvas.addEventListener("keydown", (event) => {
      const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      if (!step) return;
      event.preventDefault();
      positional.choose(state, state.row + step[0], state.column + step[1]);
    });
    positional.paint(state);
  },

  /** The canvas has one pixel a number; the browser enlarges it. */
  paint(state) {
    const context = state.parts.canvas.getContext("2d"), image = context.createImageData(state.width, state.length);
    const [plus, minus, paper] = ["plus", "minus", "paper"].map((name) => positional.rgb(viz.colour(name)));
    state.values.forEach((value, i) => {
      const end = value < 0 ? minus : plus, part = Math.min(1, Math.abs(value));
      for (let c = 0; c < 3; c++) image.data[4 * i + c] = paper[c] + part * (end[c] - paper[c]);
      image.data[4 * i + 3] = 255;
    });
    context.putImageData(image, 0, 0);
  },

  rgb(colour) { return [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16)); },

  // Curves ----------------------------------------------------------------------------------------------------

  curves(box, state) {
    const pairs = Math.ceil(state.width / 2);
    const slider = viz.el("input", { type: "range", min: 0, max: pairs - 1, value: 0, "aria-label": "pair of dimensions", class: "pair",
      oninput: () => positional.choose(state, state.row, 2 * Number(slider.value)) });
    const sine = viz.el("span", { class: "key sine" }), cosine = viz.el("span", { class: "key cosine" });
    const plot = viz.svg("svg", { class: "plot", viewBox: "0 0 800 200", role: "img" });
    const save = viz.el("button", { type: "button", class: "last", onclick: () => viz.saveSvg(plot, "positional-curves.svg") }, "Save as SVG");
    Object.assign(state.parts, { slider, plot, sine, cosine });
    box.append(viz.el("h2", {}, "One pair of dimensions over the positions"),
      viz.el("div", { class: "bar" }, viz.el("label", {}, slider), sine, cosine, save), plot);
  },

  curve(state) {
    const { plot, sine, cosine } = state.parts, pair = Math.floor(state.column / 2), last = Math.max(1, state.length - 1);
    const x = (t) => 34 + t / last * 756, y = (v) => 95 - 80 * v, wave = positional.wavelength(state, 2 * pair);
    const nodes = [1, 0, -1].flatMap((v) => [viz.svg("line", { class: "grid", x1: 34, x2: 790, y1: y(v), y2: y(v) }),
      viz.svg("text", { x: 26, y: y(v) + 4, "text-anchor": "end" }, String(v).replace("-", "−"))]);
    for (const t of positional.ticks(state.length)) nodes.push(viz.svg("text", { x: x(t), y: 196, "text-anchor": "middle" }, t));
    nodes.push(viz.svg("line", { class: "now", x1: x(state.row), x2: x(state.row), y1: 8, y2: 182 }));
    const fine = Array.from({ length: 1201 }, (_, i) => i / 1200 * last);
    const both = [["sine", Math.sin], ["cosine", Math.cos]].slice(0, 2 * pair + 1 < state.width ? 2 : 1);
    both.forEach(([name, f], i) => {
      nodes.push(viz.svg("polyline", { class: name, points: fine.map((t) => `${x(t).toFixed(1)},${y(f(t * 2 * Math.PI / wave)).toFixed(1)}`).join(" ") }));
      if (state.length <= 64) {
        for (let t = 0; t < state.length; t++) nodes.push(viz.svg("circle", { class: name + "s", cx: x(t), cy: y(positional.value(state, t, 2 * pair + i)), r: 3 }));
      }
    });
    plot.replaceChildren(...nodes);
    sine.textContent = `dimension ${2 * pair}: sin`;
    cosine.textContent = `dimension ${2 * pair + 1}: cos`;
    cosine.hidden = both.length < 2;
  },

  // The table -------------------------------------------------------------------------------------------------

  table(box, state) {
    const rows = Math.min(state.length, positional.ROWS), columns = Math.min(state.width, positional.COLUMNS);
    const head = viz.el("tr", {}, viz.el("th"), Array.from({ length: columns }, (_, j) => viz.el("th", { scope: "col" }, `${j % 2 ? "cos" : "sin"} ${j}`)));
    const body = Array.from({ length: rows }, (_, i) => viz.el("tr", {},
      viz.el("th", { scope: "row" }, viz.el("span", { class: "place" }, i), state.tokens.length ? positional.short(state.tokens[i]) : ""),
      Array.from({ length: columns }, (_, j) => viz.el("td", { onpointerenter: () => positional.choose(state, i, j) },
        positional.fixed(positional.value(state, i, j), 4)))));
    state.parts.body = viz.el("tbody", {}, body);
    const cut = rows < state.length || columns < state.width ? `The first ${rows} positions and ${columns} dimensions.` : "";
    box.append(viz.el("h2", {}, "The numbers"), viz.el("p", { class: "quiet" }, cut),
      viz.el("div", { class: "scroll", tabindex: 0, "aria-label": "table of values" }, viz.el("table", {}, viz.el("thead", {}, head), state.parts.body)));
  },

  /** Look at one number: in the heat map, in the curves and in the table. */
  choose(state, row, column) {
    state.row = Math.max(0, Math.min(state.length - 1, row));
    state.column = Math.max(0, Math.min(state.width - 1, column));
    const { cross, told, slider, body } = state.parts, { length, width } = state, j = state.column;
    cross.style.cssText = `left:${j / width * 100}%;width:${100 / width}%;top:${state.row / length * 100}%;height:${100 / length}%`;
    const token = state.tokens.length ? ` (${positional.short(state.tokens[state.row])})` : "";
    const wave = positional.wavelength(state, j), power = `${2 * Math.floor(j / 2)}/${width}`;
    told.replaceChildren(`position ${state.row}${token}, dimension ${j}: ${j % 2 ? "cos" : "sin"}(${state.row} / 10000`, viz.el("sup", {}, power), `) = `
      + `${positional.fixed(positional.value(state, state.row, j), 4)}; it repeats after ${wave < 1e4 ? Number(wave.toPrecision(4)) : Math.round(wave).toLocaleString("en")} positions`);
    slider.value = Math.floor(j / 2);
    body.querySelector(".chosen")?.classList.remove("chosen");
    body.rows[state.row]?.querySelectorAll("td")[j]?.classList.add("chosen");
    positional.curve(state);
  },
};

{
  const main = document.getElementById("positional");
  if (main) {
    viz.data().then(({ positional: data }) => {
      main.append(viz.el("div", { class: "bar" }, viz.el("h1", {}, "Sinusoidal positional encoding"), viz.el("span", { class: "last" }, viz.theme.button())));
      positional.draw(main, data);
    });
  }
}
