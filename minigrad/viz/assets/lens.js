// The logit lens: a grid of layers and positions, the likeliest tokens of the cell under the pointer, and curves over
// the layers. Only visible columns are rendered, so a long text opens as fast as a short one.

const lens = {
  COLUMN: 80, // the width of a cell
  EDGE: 24, // the height of the text above and below the grid
  WORDS: 12, // tokens of the text around a cell that the panel shows
  MOST: 1600, // columns of the overview; in a longer text, a column is several positions

  /** Colour scales for cells: `part` is a fraction (0 to 1) of the full colour, or NaN; `ends` label the legend. */
  measures: {
    likely: { name: "how likely its token is", ends: ["0 %", "100 %"], part: (i) => lens.likeliest(i) },
    chance: { name: "how likely the right token is", ends: ["0 %", "100 %"], part: (i) => lens.data.chances[i] },
    rank: {
      name: "the rank of the right token", ends: ["last", "first"],
      part: (i) => (lens.data.ranks[i] ? 1 - Math.log(lens.data.ranks[i]) / Math.log(Math.max(lens.data.vocabulary, 2)) : NaN),
    },
    entropy: { name: "entropy", ends: ["sure", "anything"], part: (i) => lens.data.entropy[i] / Math.log(Math.max(lens.data.vocabulary, 2)) },
    divergence: { name: "distance from the output", ends: ["none", "farthest"], part: (i) => Math.min(lens.data.divergence[i] / lens.farthest, 1) },
  },

  open(main, data) {
    const numbers = (name, Kind) => viz.bytes(data[name], Kind), [rows, positions, count] = data.shape;
    lens.data = { ...data, rows, positions, count, ids: numbers("ids", Int32Array), ranks: numbers("ranks", Int32Array),
      ...Object.fromEntries(["probabilities", "entropy", "divergence", "chances"].map((name) => [name, numbers(name, Float32Array)])) };
    lens.spaced = data.tokens.some((text) => /^[·␣]/.test(text)); // tokens include their spaces
    lens.farthest = lens.data.divergence.reduce((a, b) => (Number.isFinite(b) && b > a ? b : a), 1e-6);
    Object.assign(lens, { row: rows - 1, position: 0, hovered: null, measure: "likely", widths: new Map() });
    lens.height = Math.max(18, Math.min(26, Math.round(460 / rows)));
    lens.build(main);
    lens.choose(rows - 1, 0);
    viz.theme.onChange(() => { lens.inks = null; lens.draw(); });
    new ResizeObserver(() => lens.draw()).observe(lens.scroller);
  },

  likeliest(i) { return lens.data.probabilities[i * lens.data.count]; },
  cell(row, position) { return row * lens.data.positions + position; },
  rowName(row) {
    return row === lens.data.rows - 1 ? "output" : row === 0 ? "embedding" : String(row);
  },
  after(row) {
    return row === lens.data.rows - 1 ? "The output" : row === 0 ? "The embedding alone" : `After layer ${row} of ${lens.data.rows - 1}`;
  },
  name(id) { return id < 0 ? "" : lens.data.names[id]; },
  percent(p) {
    if (!Number.isFinite(p)) return "unknown";
    if (p === 0) return "0 %";
    if (p < 1e-4) return p.toExponential(1).replace("-", "−");
    return `${(100 * p).toFixed(p < .0995 ? (p < .001 ? 2 : 1) : 0)} %`;
  },
  whole(n) { return n.toLocaleString("en"); },

  build(main) {
    const { data } = lens, layers = data.rows - 1;
    const select = viz.el("select", { id: "measure", onchange: () => { lens.measure = select.value; lens.draw(true); } },
      Object.entries(lens.measures).map(([key, { name }]) => viz.el("option", { value: key }, name)));
    lens.legend = viz.el("span", { class: "legend" });
    lens.find = viz.el("input", { type: "search", id: "find", placeholder: "Find in the text", "aria-label": "find in the text",
      autocomplete: "off", spellcheck: "false", onkeydown: (event) => { if (event.key === "Enter") lens.seek(lens.find.value); } });
    const save = viz.el("button", { type: "button", class: "last", id: "save", onclick: () => viz.saveSvg(lens.snapshot(), "logit-lens.svg") }, "Save as SVG");
    lens.status = viz.el("p", { class: "sr-only", "aria-live": "polite" });
    lens.labels = viz.svg("svg", { class: "labels", role: "presentation" });
    lens.grid = viz.svg("svg", { class: "grid", tabindex: 0, role: "application", "aria-label": "layers from below, tokens from the left: arrow keys move, Home and End go to the ends" });
    lens.wide = viz.el("div", { class: "wide", style: `width:${data.positions * lens.COLUMN}px` }, lens.grid);
    lens.scroller = viz.el("div", { class: "scroller", tabindex: -1, onscroll: () => lens.draw() }, lens.wide);
    lens.panel = viz.el("aside", {});
    lens.curves = viz.el("div", { class: "curves" });
    main.append(
      viz.el("div", { class: "bar" }, viz.el("h1", {}, data.title), save,
        viz.shortcuts([["← → ↑ ↓", "in the table: from cell to cell"], ["Home End", "the first, the last token"],
          ["PageUp PageDown", "ten tokens back, ten on"], ["Enter", "in the search: the next place"]]), viz.theme.button()),
      viz.el("p", { class: "quiet" }, `${lens.whole(data.positions)} ${data.positions === 1 ? "token" : "tokens"}, ${layers} ${layers === 1 ? "layer" : "layers"}. `,
        "A cell has the token that the model would choose if it stopped after that layer: the last layer's head reads the states between the layers. ",
        `Bold: it is the token that ${data.continues ? "comes next" : "stands there"}.`),
      viz.el("div", { class: "bar controls" }, viz.el("label", {}, "Colour: ", select), lens.legend, lens.find),
      viz.el("div", { class: "split" },
        viz.el("div", { class: "left" }, lens.overview(), viz.el("div", { class: "frame" }, lens.labels, lens.scroller), lens.curves, lens.status),
        lens.panel));
    lens.listen();
  },

  listen() {
    const at = (event) => {
      const box = lens.grid.getBoundingClientRect();
      const position = Math.floor((event.clientX - box.left + lens.scroller.scrollLeft) / lens.COLUMN);
      const row = lens.data.rows - 1 - Math.floor((event.clientY - box.top - lens.EDGE) / lens.height);
      return row >= 0 && row < lens.data.rows && position >= 0 && position < lens.data.positions ? [row, position] : null;
    };
    lens.grid.addEventListener("pointermove", (event) => lens.point(at(event)));
    lens.grid.addEventListener("pointerleave", () => lens.point(null));
    lens.grid.addEventListener("click", (event) => { const cell = at(event); if (cell) lens.choose(...cell); });
    lens.grid.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return; // the browser's shortcuts
      const { data, row, position } = lens, end = data.positions - 1;
      const goal = { ArrowUp: [row + 1, position], ArrowDown: [row - 1, position], ArrowLeft: [row, position - 1],
        ArrowRight: [row, position + 1], Home: [row, 0], End: [row, end], PageUp: [row, position - 10], PageDown: [row, position + 10] }[event.key];
      if (!goal) return;
      event.preventDefault();
      lens.point(null);
      lens.choose(...goal, true);
    });
  },

  // Selection -------------------------------------------------------------------------------------------------

  point(cell) {
    if (String(cell) === String(lens.hovered)) return;
    lens.hovered = cell;
    lens.show();
    lens.draw();
  },

  /** Select a cell; `reveal`: scroll it into view and announce it. */
  choose(row, position, reveal = false) {
    lens.row = Math.max(0, Math.min(lens.data.rows - 1, row));
    lens.position = Math.max(0, Math.min(lens.data.positions - 1, position));
    if (reveal) {
      const { scroller, COLUMN } = lens, left = lens.position * COLUMN, room = scroller.clientWidth;
      if (left < scroller.scrollLeft) scroller.scrollLeft = left;
      if (left + COLUMN > scroller.scrollLeft + room) scroller.scrollLeft = left + COLUMN - room;
      const i = lens.cell(lens.row, lens.position);
      lens.status.textContent = `${lens.after(lens.row)}, at ${lens.data.tokens[lens.position]}: ${lens.name(lens.data.ids[i * lens.data.count])}, ${lens.percent(lens.likeliest(i))}`;
    }
    lens.show();
    lens.draw();
  },

  /** Select the next token that contains a text, starting after the selected one and wrapping around. */
  seek(text) {
    const { data } = lens, query = text.trim().toLowerCase();
    for (let step = 1; query && step <= data.positions; step++) {
      const position = (lens.position + step) % data.positions;
      if (!data.tokens[position].toLowerCase().includes(query)) continue;
      lens.scroller.scrollLeft = (position + .5) * lens.COLUMN - lens.scroller.clientWidth / 2;
      lens.choose(lens.row, position, true);
      return;
    }
  },

  // The grid --------------------------------------------------------------------------------------------------

  /** Redraw in the next animation frame; `all`: the overview too. */
  draw(all = false) {
    lens.everything ||= all;
    if (lens.waiting) return;
    lens.waiting = true;
    requestAnimationFrame(() => {
      lens.waiting = false;
      if (lens.everything) viz.repaint();
      lens.everything = false;
      lens.paint();
    });
  },

  paint() {
    const { grid, labels, data, COLUMN, EDGE, height } = lens;
    const wide = lens.scroller.clientWidth, high = 2 * EDGE + data.rows * height, shift = lens.scroller.scrollLeft;
    if (!wide) return;
    const first = Math.max(0, Math.floor(shift / COLUMN)), end = Math.min(data.positions, Math.ceil((shift + wide) / COLUMN));
    viz.configure(grid, { width: wide, height: high }, []);
    grid.replaceChildren(...lens.columns(first, end, shift));
    const line = (row) => EDGE + (data.rows - row - .5) * height + 4;
    const names = Array.from({ length: data.rows }, (_, row) => [lens.rowName(row), line(row)]);
    names.push([data.continues ? "comes next" : "stands there", EDGE - 7], ["read", high - 7]);
    viz.configure(labels, { width: 84, height: high }, []);
    labels.replaceChildren(...names.map(([text, y]) => viz.svg("text", { x: 76, y, "text-anchor": "end" }, text)));
    lens.frame(shift, wide);
    const { ends } = lens.measures[lens.measure];
    lens.legend.replaceChildren(ends[0], viz.el("i"), ends[1]);
  },

  /** The SVG nodes of the columns from `first` to before `end`. */
  columns(first, end, shift) {
    const { data, COLUMN, EDGE, height } = lens, { part } = lens.measures[lens.measure], nodes = [];
    lens.inks ||= Array.from({ length: 101 }, (_, i) => (i ? viz.onAccent(i / 100) : viz.colour("ink"))); // by opacity
    for (let position = first; position < end; position++) {
      const x = position * COLUMN - shift, middle = x + COLUMN / 2, target = data.targets[position];
      nodes.push(viz.svg("text", { class: "edge", x: middle, y: EDGE - 7 }, lens.truncate(lens.name(target))));
      nodes.push(viz.svg("text", { class: "edge", x: middle, y: EDGE + data.rows * height + 16 }, lens.truncate(data.tokens[position])));
      for (let row = 0; row < data.rows; row++) {
        const y = EDGE + (data.rows - 1 - row) * height, i = lens.cell(row, position), id = data.ids[i * data.count];
        const value = part(i), opacity = Number.isFinite(value) ? Math.max(0, Math.min(1, value)) : 0;
        nodes.push(viz.svg("rect", { class: "cell", x, y, width: COLUMN, height, "fill-opacity": opacity.toFixed(3) }));
        nodes.push(viz.svg("text", { class: id === target ? "right" : null, x: middle, y: y + height / 2 + 4,
          fill: lens.inks[Math.round(100 * opacity)] }, lens.truncate(lens.name(id), id === target)));
      }
    }
    for (const [kind, cell] of [["hovered", lens.hovered], ["selected", [lens.row, lens.position]]]) {
      if (!cell || cell[1] < first || cell[1] >= end) continue;
      nodes.push(viz.svg("rect", { class: kind, x: cell[1] * COLUMN - shift + 1, y: EDGE + (data.rows - 1 - cell[0]) * height + 1, width: COLUMN - 2, height: height - 2 }));
    }
    return nodes;
  },

  /** A text cut to the width of a cell. */
  truncate(text, bold = false) {
    const key = `${bold}${text}`;
    if (!lens.widths.has(key)) {
      lens.pen ||= viz.el("canvas").getContext("2d");
      lens.pen.font = `${bold ? "600 " : ""}12px ${getComputedStyle(document.body).fontFamily}`;
      const room = lens.COLUMN - 8;
      let letters = [...text];
      if (lens.pen.measureText(text).width > room) {
        while (letters.length && lens.pen.measureText(`${letters.join("")}…`).width > room) letters.pop();
        letters.push("…");
      }
      lens.widths.set(key, letters.join(""));
    }
    return lens.widths.get(key);
  },

  /** The visible columns and the row names as a separate SVG element. */
  snapshot() {
    const picture = viz.svg("svg", { class: "export", width: 84 + lens.scroller.clientWidth, height: lens.grid.getAttribute("height") });
    const group = viz.svg("g", { transform: "translate(84 0)" }, [...lens.grid.cloneNode(true).childNodes]);
    picture.append(...lens.labels.cloneNode(true).childNodes, group);
    lens.scroller.after(picture); // in the page, so that its styles apply
    setTimeout(() => picture.remove());
    return picture;
  },

  // Overview --------------------------------------------------------------------------------------------------

  /** All positions as columns of pixels, and a frame around the visible ones; a click or drag scrolls the grid. */
  overview() {
    const { data } = lens, columns = Math.min(data.positions, lens.MOST);
    const value = (k) => {
      const row = data.rows - 1 - Math.floor(k / columns), column = k % columns, { part } = lens.measures[lens.measure];
      const begin = Math.floor(column * data.positions / columns), end = Math.floor((column + 1) * data.positions / columns);
      const values = Array.from({ length: end - begin }, (_, j) => part(lens.cell(row, begin + j))).filter(Number.isFinite);
      return values.length ? values.reduce((a, b) => a + b, 0) / values.length : 0;
    };
    const canvas = viz.heat({ rows: data.rows, columns, value, colours: ["accent", "accent"], label: "all positions" });
    lens.window = viz.el("div", { class: "window" });
    const go = (event) => {
      const box = canvas.getBoundingClientRect(), part = (event.clientX - box.left) / box.width;
      lens.scroller.scrollLeft = part * data.positions * lens.COLUMN - lens.scroller.clientWidth / 2;
    };
    lens.map = viz.el("div", { class: "overview" }, canvas, lens.window);
    lens.map.addEventListener("pointerdown", (event) => { lens.map.setPointerCapture(event.pointerId); go(event); });
    lens.map.addEventListener("pointermove", (event) => { if (event.buttons & 1) go(event); });
    return lens.map;
  },

  frame(shift, wide) {
    const all = lens.data.positions * lens.COLUMN;
    lens.map.hidden = all <= wide;
    Object.assign(lens.window.style, { left: `${100 * shift / all}%`, width: `${Math.min(100, 100 * wide / all)}%` });
  },

  // The panel and the curves ----------------------------------------------------------------------------------

  show() {
    const { data } = lens, [row, position] = lens.hovered || [lens.row, lens.position], i = lens.cell(row, position);
    const target = data.targets[position], rank = data.ranks[i];
    const entries = Array.from({ length: data.count }, (_, k) => {
      const id = data.ids[i * data.count + k], p = data.probabilities[i * data.count + k];
      return viz.el("li", { class: id === target ? "right" : null, style: `--part:${p.toFixed(4)}` },
        viz.el("span", { class: "name" }, lens.name(id)), viz.el("span", { class: "number" }, lens.percent(p)));
    });
    const facts = [["Entropy", `${viz.format(data.entropy[i])} nats`], ["KL from the output", `${viz.format(Math.abs(data.divergence[i]) < 5e-6 ? 0 : data.divergence[i])} nats`]];
    if (target >= 0) facts.unshift(["Its probability", lens.percent(data.chances[i])], ["Its rank", `${lens.whole(rank)} of ${lens.whole(data.vocabulary)}`]);
    lens.panel.replaceChildren(
      viz.el("h2", {}, lens.after(row)), lens.context(position), viz.el("ol", {}, entries),
      viz.el("p", { class: "target" }, target < 0 ? `What ${data.continues ? "comes next" : "stands there"} is not known.`
        : [data.continues ? "Next comes " : "There stands ", viz.el("b", {}, lens.name(target))]),
      viz.el("dl", {}, facts.flatMap(([name, value]) => [viz.el("dt", {}, name), viz.el("dd", {}, value)])));
    lens.chart(row, position);
  },

  /** The text around a position. */
  context(position) {
    const { data } = lens, begin = Math.max(0, position + 1 - lens.WORDS);
    const end = data.continues ? position + 1 : Math.min(data.positions, position + lens.WORDS / 2);
    const nodes = data.tokens.slice(begin, end).flatMap((text, k) => {
      const here = begin + k === position, joined = lens.spaced && !/^[·␣]/.test(text) || text.startsWith("##") || begin + k === 0;
      const inner = lens.spaced ? text.replace(/^[·␣]+/, "") || (here ? "␣" : "") : text.replace(/^##(?=.)/, "");
      return [joined ? "" : " ", viz.el("span", { class: here ? "here" : null }, inner)];
    });
    return viz.el("p", { class: "context" }, begin ? "…" : "", nodes);
  },

  /** Curves over the layers at one position. */
  chart(row, position) {
    const { data } = lens, column = (numbers) => Array.from({ length: data.rows }, (_, r) => numbers[lens.cell(r, position)]);
    const hasTarget = data.targets[position] >= 0, charts = [];
    if (hasTarget) {
      const name = lens.name(data.targets[position]);
      charts.push(lens.plot(`Probability of ${name}`, [["probability", column(data.chances), 0]], row, { low: 0, text: lens.percent }));
      charts.push(lens.plot(`Rank of ${name}`, [["rank", column(data.ranks), 0]], row, { low: 1, log: true, text: lens.whole, turned: true }));
    }
    const legendKey = (name, n) => viz.el("span", { class: "own", style: viz.series(n) }, name);
    charts.push(lens.plot([legendKey("Entropy", 0), ", and ", legendKey("KL from the output", 1), ", in nats"],
      [["entropy", column(data.entropy), 0], ["KL", column(data.divergence), 1]], row, { low: 0, text: viz.format }));
    lens.curves.replaceChildren(...charts);
  },

  plot(title, series, row, { low, log = false, turned = false, text }) {
    const { rows } = lens.data, wide = 250, high = 110, last = Math.max(rows - 1, 1);
    const finite = series.flatMap(([, values]) => values).filter(Number.isFinite), top = Math.max(...finite, log ? 2 : 1e-9);
    const place = (v) => (log ? Math.log(v / low) / Math.log(top / low) : (v - low) / (top - low));
    const x = (r) => 46 + r / last * (wide - 56), y = (v) => 12 + (turned ? place(v) : 1 - place(v)) * (high - 34);
    const nodes = [low, top].flatMap((v) => [viz.svg("line", { class: "line", x1: 46, x2: wide - 10, y1: y(v), y2: y(v) }),
      viz.svg("text", { x: 40, y: y(v) + 4, "text-anchor": "end" }, text(v))]);
    nodes.push(viz.svg("text", { x: 46, y: high - 4 }, "embedding"), viz.svg("text", { x: wide - 10, y: high - 4, "text-anchor": "end" }, "output"));
    nodes.push(viz.svg("line", { class: "now", x1: x(row), x2: x(row), y1: 8, y2: high - 18 }));
    for (const [, values, n] of series) {
      const points = values.flatMap((v, r) => (Number.isFinite(v) ? [`${x(r).toFixed(1)},${y(v).toFixed(1)}`] : []));
      nodes.push(viz.svg("polyline", { class: "curve", style: viz.series(n), points: points.join(" ") }));
      if (Number.isFinite(values[row])) nodes.push(viz.svg("circle", { class: "dot", style: viz.series(n), cx: x(row), cy: y(values[row]), r: 3.5 }));
    }
    const svg = viz.svg("svg", { viewBox: `0 0 ${wide} ${high}`, role: "img", "aria-label": `${series.map(([name]) => name).join(" and ")} by layer` }, nodes);
    svg.addEventListener("click", (event) => {
      const box = svg.getBoundingClientRect(), at = (event.clientX - box.left) / box.width * wide;
      lens.choose(Math.round((at - 46) / (wide - 56) * last), lens.position);
    });
    return viz.el("figure", {}, viz.el("figcaption", {}, [title].flat()), svg);
  },
};

{
  const main = document.getElementById("lens");
  if (main) viz.data().then(({ lens: data }) => lens.open(main, data));
}
