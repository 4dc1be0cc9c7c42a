// Sinusoidal positional encoding: an interactive heat map, one pair of dimensions as curves, and a table of numbers.

const positional = {
  ROWS: 12, COLUMNS: 16, // of the table
  NAMED: 48, // maximum positions for labelling each row
  WAVES: 60, // maximum periods in a plot; more could not be distinguished

  /** Render into a node: {length, width, tokens, values: float32 in base64}. */
  draw(parent, data) {
    const values = viz.bytes(data.values, Float32Array);
    const state = { ...data, values, row: 0, column: 0, parts: {} };
    const box = viz.el("div", { class: "positional" });
    parent.append(box);
    for (const part of ["map", "curves", "table"]) positional[part](box, state);
    positional.choose(state, Math.min(1, state.length - 1), 0);
  },

  value(state, row, column) { return state.values[row * state.width + column]; },
  name(state, row) { return state.tokens.length ? viz.short(state.tokens[row]) : ""; },
  wavelength(state, column) { return 2 * Math.PI * 10000 ** (2 * Math.floor(column / 2) / state.width); },
  withMinus(text) { return String(text).replaceAll("-", "−"); },
  decimal(value, digits) { return positional.withMinus(value.toFixed(digits)); },

  /** Round numbers from `begin` to below `end`, at most eleven. */
  ticks(begin, end) {
    let step = 1;
    for (let i = 0; end - begin > 10 * step; i++) step = [2, 5, 10][i % 3] * 10 ** Math.floor(i / 3);
    const ticks = [];
    for (let tick = Math.ceil(begin / step) * step; tick < end; tick += step) ticks.push(tick);
    return ticks;
  },

  // The heat map -------------------------------------------------------------------------------------------

  map(box, state) {
    const { length, width } = state, named = state.tokens.length > 0 && length <= positional.NAMED;
    const high = Math.max(Math.min(Math.max(length * 5, 120), 480), named ? length * 20 : 0);
    const pixelRows = Math.min(length, high), means = positional.means(state, pixelRows);
    const canvas = viz.heat({
      rows: pixelRows, columns: width, value: (i) => means[i], onHover: (row, column) => {
        if (row !== null) positional.choose(state, Math.floor((row + .5) / pixelRows * length), column);
      },
    });
    const label = "values by position and dimension; arrow keys move";
    viz.configure(canvas, {
      tabindex: 0, role: "application", "aria-label": label, style: `height:${high}px`,
      onkeydown: (event) => positional.walk(event, state),
    }, []);
    const across = ([i, text]) => viz.el("span", { style: `left:${(i + .5) / width * 100}%` }, text);
    const down = ([i, text]) => viz.el("span", { style: `top:${(i + .5) / length * 100}%` }, text);
    const ticks = (count) => positional.ticks(0, count).map((i) => [i, i]);
    const names = named ? state.tokens.map((_, i) => [i, positional.name(state, i)]) : ticks(length);
    const sizers = names.map(([, text]) => viz.el("span", { class: "sizer" }, text)); // as wide as the widest
    const rows = viz.el("div", { class: named ? "rows named" : "rows" }, names.map(down), sizers);
    const columns = viz.el("div", { class: "columns" }, ticks(width).map(across));
    const cross = viz.el("div", { class: "cross" });
    const scale = viz.el("div", { class: "scale" }, ["1", "0", "−1"].map((text) => viz.el("span", {}, text)));
    const explanation = viz.el("p", { class: "explanation", "aria-live": "polite" });
    Object.assign(state.parts, { cross, explanation });
    box.append(
      viz.el("p", { class: "quiet" }, `${length} positions down, ${width} dimensions across. `,
        pixelRows < length ? `A row of the picture is the mean of ${viz.format(length / pixelRows)} positions. ` : "",
        "Point at a cell, or move with the arrow keys."),
      viz.el("div", { class: "frame" }, viz.el("div"), columns, viz.el("div"), rows,
        viz.el("div", { class: "map" }, canvas, cross), scale),
      explanation);
  },

  /** With more positions than pixels, average neighbouring rows: sampling would alias. */
  means({ values, length, width }, rows) {
    if (rows === length) return values;
    const means = new Float32Array(rows * width);
    for (let r = 0; r < rows; r++) {
      const begin = Math.floor(r * length / rows), end = Math.floor((r + 1) * length / rows);
      for (let i = begin * width; i < end * width; i++) {
        means[r * width + i % width] += values[i] / (end - begin);
      }
    }
    return means;
  },

  walk(event, state) {
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const step = steps[event.key];
    if (!step || event.ctrlKey || event.metaKey || event.altKey) return; // browser shortcuts
    event.preventDefault();
    positional.choose(state, state.row + step[0], state.column + step[1]);
  },

  // Curves -------------------------------------------------------------------------------------------------

  curves(box, state) {
    const last = Math.ceil(state.width / 2) - 1;
    const slider = viz.el("input", {
      type: "range", min: 0, max: last, value: 0, "aria-label": "pair of dimensions", class: "pair",
      oninput: () => positional.choose(state, state.row, 2 * Number(slider.value)),
    });
    const sine = viz.el("span", { class: "key sine" }), cosine = viz.el("span", { class: "key cosine" });
    const plot = viz.svg("svg", { class: "plot", viewBox: "0 0 800 200", role: "img" });
    const onclick = () => viz.saveSvg(plot, "positional-curves.svg");
    const save = viz.el("button", { type: "button", class: "last", onclick }, "Save as SVG");
    Object.assign(state.parts, { slider, plot, sine, cosine });
    box.append(viz.el("h2", {}, "One pair of dimensions over the positions"),
      viz.el("div", { class: "bar" }, viz.el("label", {}, slider), sine, cosine, save), plot);
  },

  /** The range of the curves: all positions, or a window around the selected one if there are too many. */
  range(state, wave) {
    const last = Math.max(1, state.length - 1), span = Math.min(last, positional.WAVES * wave);
    return [Math.max(0, Math.min(state.row - span / 2, last - span)), span];
  },

  curve(state) {
    const { plot, sine, cosine } = state.parts, pair = Math.floor(state.column / 2);
    const wave = positional.wavelength(state, 2 * pair), [begin, span] = positional.range(state, wave);
    const x = (t) => 34 + (t - begin) / span * 756, y = (v) => 95 - 80 * v;
    const nodes = [1, 0, -1].flatMap((v) => [
      viz.svg("line", { class: "grid", x1: 34, x2: 790, y1: y(v), y2: y(v) }),
      viz.svg("text", { x: 26, y: y(v) + 4, "text-anchor": "end" }, positional.withMinus(v)),
    ]);
    const first = Math.ceil(begin), end = Math.min(Math.floor(begin + span) + 1, state.length);
    for (const t of positional.ticks(first, end)) {
      nodes.push(viz.svg("text", { x: x(t), y: 196, "text-anchor": "middle" }, t));
    }
    nodes.push(viz.svg("line", { class: "now", x1: x(state.row), x2: x(state.row), y1: 8, y2: 182 }));
    const both = [["sine", Math.sin], ["cosine", Math.cos]].slice(0, 2 * pair + 1 < state.width ? 2 : 1);
    for (const [i, [name, f]] of both.entries()) {
      const points = Array.from({ length: 1201 }, (_, k) => begin + k / 1200 * span).map((t) => (
        `${x(t).toFixed(1)},${y(f(t * 2 * Math.PI / wave)).toFixed(1)}`));
      nodes.push(viz.svg("polyline", { class: name, points: points.join(" ") }));
      for (let t = first; t < end && end - first <= 64; t++) {
        const cy = y(positional.value(state, t, 2 * pair + i));
        nodes.push(viz.svg("circle", { class: `${name}s`, cx: x(t), cy, r: 3 }));
      }
    }
    plot.replaceChildren(...nodes);
    sine.textContent = `dimension ${2 * pair}: sin`;
    cosine.textContent = `dimension ${2 * pair + 1}: cos`;
    cosine.hidden = both.length < 2;
  },

  // The table ----------------------------------------------------------------------------------------------

  table(box, state) {
    const rows = Math.min(state.length, positional.ROWS), columns = Math.min(state.width, positional.COLUMNS);
    const all = Array.from({ length: columns }, (_, j) => j);
    const head = all.map((j) => viz.el("th", { scope: "col" }, `${j % 2 ? "cos" : "sin"} ${j}`));
    const cell = (i) => (j) => viz.el("td", { onpointerenter: () => positional.choose(state, i, j) },
      positional.decimal(positional.value(state, i, j), 4));
    state.parts.body = viz.el("tbody", {}, Array.from({ length: rows }, (_, i) => {
      const place = viz.el("span", { class: "place" }, i);
      const name = viz.el("th", { scope: "row" }, place, " ", positional.name(state, i));
      return viz.el("tr", {}, name, all.map(cell(i)));
    }));
    const cut = rows < state.length || columns < state.width;
    const note = cut ? `The first ${rows} positions and ${columns} dimensions.` : "";
    box.append(viz.el("h2", {}, "The numbers"), viz.el("p", { class: "quiet" }, note),
      viz.el("div", { class: "scroll", tabindex: 0, "aria-label": "table of values" },
        viz.el("table", {}, viz.el("thead", {}, viz.el("tr", {}, viz.el("th"), head)), state.parts.body)));
  },

  /** Select one number in the heat map, the curves and the table. */
  choose(state, row, column) {
    state.row = Math.max(0, Math.min(state.length - 1, row));
    state.column = Math.max(0, Math.min(state.width - 1, column));
    const { cross, explanation, slider, body } = state.parts, { length, width, row: i, column: j } = state;
    const percent = (part) => `${part * 100}%`;
    Object.assign(cross.style, {
      left: percent(j / width), width: percent(1 / width),
      top: percent(i / length), height: percent(1 / length),
    });
    const name = positional.name(state, i), token = name ? ` (${name})` : "";
    const wave = positional.wavelength(state, j), power = `${2 * Math.floor(j / 2)}/${width}`;
    const repeats = wave < 1e4 ? Number(wave.toPrecision(4)) : Math.round(wave).toLocaleString("en");
    explanation.replaceChildren(
      `position ${i}${token}, dimension ${j}: ${j % 2 ? "cos" : "sin"}(${i} / 10000`,
      viz.el("sup", {}, power), `) = ${positional.decimal(positional.value(state, i, j), 4)}; `
      + `it repeats after ${repeats} positions`);
    slider.value = Math.floor(j / 2);
    body.querySelector(".selected")?.classList.remove("selected");
    body.rows[i]?.querySelectorAll("td")[j]?.classList.add("selected");
    positional.curve(state);
  },
};

{
  const main = document.getElementById("positional");
  if (main) {
    viz.data().then(({ positional: data }) => {
      main.append(viz.el("div", { class: "bar" }, viz.el("h1", {}, "Sinusoidal positional encoding"),
        viz.el("span", { class: "bar last" }, viz.shortcuts([["← → ↑ ↓", "in the picture: from number to number"]]), viz.theme.button())));
      positional.draw(main, data);
    });
  }
}
