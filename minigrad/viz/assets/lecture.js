// Worked examples: text, matrices that show how each number was computed, charts, and sentences with weights.

const lecture = {
  open(main, data) {
    main.append(
      data.title ? viz.el("div", { class: "bar" }, viz.el("h1", {}, data.title), viz.el("span", { class: "last" }, viz.theme.button())) : [],
      data.about ? viz.el("p", { class: "about" }, data.about) : [],
      ...data.sections.map((section) => viz.el("section", {}, section.title ? viz.el("h2", {}, section.title) : [], section.blocks.map(lecture.block))));
  },

  block(block) { return viz.el("div", { class: "block" }, lecture.kinds[block.kind](block)); },

  kinds: {
    text: ({ text }) => viz.el("p", { class: "prose" }, lecture.prose(text)),
    matrix: (block) => lecture.explain([lecture.matrix(block)], [block]),
    equation: ({ parts }) => lecture.explain([lecture.equation(parts)], parts),
    steps: (block) => lecture.steps(block),
    chart: (block) => lecture.chart(block),
    line: (block) => lecture.line(block),
    choice: (block) => lecture.choice(block),
    pictures: (block) => lecture.pictures(block),
    checked: ({ claim, holds }) => viz.el("p", { class: holds ? "checked" : "checked wrong" },
      viz.el("span", { class: "sign", role: "img", "aria-label": holds ? "holds" : "does not hold" }, holds ? "✓" : "✗"), viz.el("span", {}, claim)),
    positional: ({ data }) => lecture.embed(positional, data),
    plane: (block) => lecture.embed(plane, block),
  },

  /** A container that another script renders into. */
  embed(script, data) {
    const box = viz.el("div");
    script.draw(box, data);
    return box;
  },

  /** Text with backquoted parts as code, and the rest formatted as formulas. */
  prose(text) { return text.split("`").flatMap((part, i) => (i % 2 ? viz.el("code", {}, part) : lecture.formula(part))); },

  /** Format x^2, x^(a/b) and x_i with superscripts and subscripts. */
  formula(text) {
    return text.split(/(\^\([^)]*\)|\^−?[\d.]+|\^−?∞|\^\w|_\w)/).map((part, i) => (i % 2 === 0 ? part
      : viz.el(part[0] === "^" ? "sup" : "sub", {}, part.slice(1).replace(/^\((.*)\)$/, "$1"))));
  },

  // Matrices --------------------------------------------------------------------------------------------------

  /** Matrices side by side, each grouped with the sign before it, so that lines break before signs. */
  equation(parts) {
    const named = parts.some((part) => part.columns?.length), groups = [];
    let sign = [];
    for (const part of parts) {
      if (typeof part === "string") sign = viz.el("span", { class: "sign" }, part);
      else {
        groups.push(viz.el("div", { class: "term" }, sign, lecture.matrix(part, named)));
        sign = [];
      }
    }
    return viz.el("div", { class: named ? "equation named" : "equation" }, groups);
  },

  /** `room`: reserve space for column names even if there are none, so that rows line up. */
  matrix(data, room = false) {
    const names = data.columns.map((name) => viz.el("th", { scope: "col", title: name }, name));
    const head = names.length ? viz.el("thead", {}, viz.el("tr", {}, data.rows.length ? viz.el("th") : [], lecture.cut(names, data.cut, "th")))
      : room ? viz.el("thead", { "aria-hidden": "true" }, viz.el("tr", {}, viz.el("th", {}, "\u00a0"))) : [];
    const body = data.cells.map((row, i) => viz.el("tr", {},
      data.rows.length ? viz.el("th", { scope: "row", title: data.rows[i] }, data.rows[i]) : [],
      lecture.cut(row.map((text, j) => lecture.cell(data, text, i, j)), data.cut, "td")));
    const kind = `matrix ${data.shade}${data.rows.length ? " named" : ""}`;
    const figure = viz.el("figure", { class: kind, "data-key": data.key },
      viz.el("figcaption", {}, lecture.formula(data.name), data.note ? viz.el("span", { class: "note" }, data.note) : []),
      viz.el("table", {}, head, viz.el("tbody", {}, body)));
    if (data.how) {
      for (const event of ["pointerover", "focusin"]) figure.addEventListener(event, ({ target }) => lecture.look(figure, data, target.closest("td")));
      for (const event of ["pointerleave", "focusout"]) figure.addEventListener(event, () => lecture.look(figure, data, null));
      figure.addEventListener("keydown", (event) => lecture.move(figure, event));
    }
    return figure;
  },

  cut(cells, at, name) { return at === null ? cells : [...cells.slice(0, at), viz.el(name, { class: "dots" }, "⋯"), ...cells.slice(at)]; },

  cell(data, text, i, j) {
    const value = viz.number(data.values[i][j]), most = data.shade === "signs" ? data.most || 1 : 1;
    const weight = data.shade && Number.isFinite(value) ? Math.min(1, Math.abs(value) / most) : 0;
    const sign = value === -Infinity ? "out" : data.shade === "signs" ? (value < 0 ? "minus" : "plus") : null;
    return viz.el("td", { class: sign, "data-cell": `${i} ${j}`, style: data.shade ? `--weight:${weight.toFixed(4)}` : null,
      tabindex: data.how ? (i || j ? -1 : 0) : null }, text);
  },

  /** Append a line that explains how the number under the pointer was computed; by default, an example. */
  explain(nodes, parts) {
    const example = parts.map((part) => part.example).filter(Boolean).at(-1);
    if (!example) return nodes[0];
    const hint = lecture.hinted ? [] : viz.el("p", { class: "quiet" }, "Point at any number, or go to it with Tab and the arrow keys, to see how it was computed.");
    lecture.hinted = true;
    const explanation = viz.el("p", { class: "explanation", "aria-live": "polite", "data-example": example });
    lecture.rest(explanation);
    return viz.el("div", { class: "explainable" }, nodes, explanation, hint);
  },

  /** Show the example again when no cell is hovered. */
  rest(explanation) {
    explanation.classList.add("idle");
    explanation.replaceChildren(...lecture.formula(explanation.dataset.example));
  },

  /** Mark a cell and the cells it was computed from; null clears the marks. */
  look(figure, data, cell) {
    const root = figure.closest("#lecture"), explanation = figure.closest(".explainable").querySelector(".explanation");
    for (const node of root.querySelectorAll(".marked")) {
      node.classList.remove("now", "highlight", "marked");
      for (const side of ["top", "bottom", "left", "right", "mark"]) node.style.removeProperty(`--${side}`);
    }
    if (!cell?.dataset.cell) return lecture.rest(explanation);
    const [i, j] = cell.dataset.cell.split(" ").map(Number);
    cell.classList.add("now", "marked");
    lecture.names(figure, i, j);
    data.marks.forEach(([key, part], n) => {
      const source = [...root.querySelectorAll(".matrix")].find((node) => node.dataset.key === key);
      if (source) lecture.frame(source, part, i, j, n ? "var(--minus)" : "var(--plus)");
    });
    explanation.classList.remove("idle");
    explanation.replaceChildren(...lecture.formula(data.how[i][j]));
  },

  names(figure, i, j) {
    const row = figure.querySelector(`tbody tr:nth-child(${i + 1}) th`), cell = figure.querySelector(`[data-cell="${i} ${j}"]`);
    const column = figure.querySelectorAll("thead th")[cell.cellIndex];
    for (const node of [row, column]) node?.classList.add("highlight", "marked");
  },

  /** A frame around a row, a column or a cell of a matrix. */
  frame(source, part, i, j, colour) {
    const cells = [...source.querySelectorAll("td[data-cell]")].map((node) => [node, ...node.dataset.cell.split(" ").map(Number)]);
    const rows = Math.max(...cells.map(([, r]) => r)), columns = Math.max(...cells.map(([, , c]) => c));
    const matches = { row: (r) => r === i, column: (r, c) => c === j, cell: (r, c) => r === i && c === j }[part];
    const whole = part === "row", high = part === "column";
    for (const [node, r, c] of cells.filter(([, r, c]) => matches(r, c))) {
      node.classList.add("marked");
      node.style.setProperty("--mark", colour);
      if (!high || r === 0) node.style.setProperty("--top", "2px");
      if (!high || r === rows) node.style.setProperty("--bottom", "2px");
      if (!whole || c === 0) node.style.setProperty("--left", "2px");
      if (!whole || c === columns) node.style.setProperty("--right", "2px");
    }
  },

  move(figure, event) {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (event.key === "Escape") document.activeElement.blur();
    if (!step || !event.target.dataset.cell) return;
    event.preventDefault();
    const [i, j] = event.target.dataset.cell.split(" ").map(Number);
    const next = figure.querySelector(`[data-cell="${i + step[0]} ${j + step[1]}"]`);
    if (!next) return;
    event.target.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  },

  // Other blocks ----------------------------------------------------------------------------------------------

  steps({ head, rows, code, numbers }) {
    const side = (j) => (numbers.includes(j) ? "right" : null);
    return viz.el("div", { class: "steps" }, viz.el("table", {},
      viz.el("thead", {}, viz.el("tr", {}, head.map((text, j) => viz.el("th", { scope: "col", class: side(j) }, text)))),
      viz.el("tbody", {}, rows.map((row) => viz.el("tr", {}, row.map(
        (text, j) => viz.el("td", { class: side(j) }, code.includes(j) ? viz.el("code", {}, text) : text)))))));
  },

  line({ words, weights, asks }) {
    return viz.el("p", { class: "line" }, words.map((word, i) => viz.el("span",
      { class: i === asks ? "word asks" : "word", style: `--weight:${weights[i].toFixed(4)}` },
      viz.el("span", { class: "spelling" }, word), viz.el("span", { class: "share" }, `${Math.round(100 * weights[i])} %`))));
  },

  choice({ label, names, options, start, slider }) {
    const place = viz.el("div"), output = viz.el("output"), cache = new Map();
    const control = slider
      ? viz.el("input", { type: "range", min: 0, max: options.length - 1, value: start })
      : viz.el("select", {}, names.map((name, i) => viz.el("option", { value: i, selected: i === start }, name)));
    const show = () => {
      const i = Number(control.value);
      if (cache.has(i)) viz.repaint(cache.get(i)); // the theme may have changed meanwhile
      else cache.set(i, lecture.block(options[i]));
      place.replaceChildren(cache.get(i));
      output.textContent = names[i];
    };
    control.addEventListener("input", show);
    show();
    return viz.el("div", { class: "choice" }, viz.el("label", {}, label, control, slider ? output : []), place);
  },

  /** Small heat maps; the line below shows the number under the pointer. */
  pictures({ title, shade, across, pictures }) {
    const explanation = viz.el("p", { class: "explanation idle" }, "\u00a0");
    const colours = shade === "ink" ? ["ink", "ink"] : ["plus", "minus"];
    const one = ({ caption, columns, values, most, side }) => viz.el("figure", {},
      viz.heat({ rows: values.length / columns, columns, value: (i) => viz.number(values[i]), most, colours, side,
        label: `${title}: ${caption}`, onHover: (row, column, value) => {
          explanation.replaceChildren(row === null ? "\u00a0" : `${caption || title}, row ${row + 1}, column ${column + 1}: ${viz.format(value)}`);
        } }),
      caption ? viz.el("figcaption", {}, lecture.formula(caption)) : []);
    const columns = across ? `display: grid; grid-template-columns: repeat(${across}, max-content)` : null;
    return viz.el("div", { class: "pictures" }, viz.el("p", { class: "title" }, lecture.formula(title)),
      viz.el("div", { class: "grid", style: columns }, pictures.map(one)), explanation);
  },

  // Charts ----------------------------------------------------------------------------------------------------

  chart(data) {
    const longest = Math.max(0, ...data.series.filter((one) => one.named).map((one) => one.name.length));
    const svg = viz.svg("svg", { viewBox: `0 0 ${Math.max(700, 536 + 7.2 * longest)} 300`, role: "img", "aria-label": data.title });
    const values = (key) => data.series.flatMap((one) => one[key].map(viz.number));
    const across = lecture.axis(values("x"), data.logX, 56, 520), up = lecture.axis(values("y"), data.logY, 252, 62);
    const nodes = [viz.svg("text", { class: "title", x: 0, y: 16 }, data.title),
      viz.svg("text", { x: 520, y: 290, "text-anchor": "end" }, data.across), viz.svg("text", { x: 0, y: 34 }, data.up)];
    for (const v of up.ticks) nodes.push(viz.svg("line", { class: "grid", x1: 56, x2: 520, y1: up.at(v), y2: up.at(v) }),
      viz.svg("text", { x: 48, y: up.at(v) + 4, "text-anchor": "end" }, lecture.round(v)));
    for (const v of across.ticks) nodes.push(viz.svg("text", { x: across.at(v), y: 270, "text-anchor": "middle" }, lecture.round(v)));
    for (const one of data.series) lecture.series(nodes, one, across, up);
    lecture.keys(nodes, data.series.filter((one) => one.named), up);
    svg.append(...nodes);
    const save = viz.el("button", { type: "button", onclick: () => viz.saveSvg(svg, "chart.svg") }, "Save as SVG");
    const numbers = viz.el("details", {}, viz.el("summary", {}, "Numbers"), lecture.steps(data.table));
    return viz.el("figure", { class: "chart" }, svg, viz.el("div", { class: "bar" }, save), numbers);
  },

  /** A line with gaps where numbers are not finite, and dots if there are few. */
  series(nodes, one, across, up) {
    const style = viz.series(one.colour), places = one.x.map((x, i) => [across.at(viz.number(x)), up.at(viz.number(one.y[i]))]);
    const inPlot = ([x, y]) => Number.isFinite(x) && Number.isFinite(y), parts = [[]];
    for (const place of places) inPlot(place) ? parts.at(-1).push(place) : parts.push([]);
    for (const part of one.joined ? parts : []) nodes.push(viz.svg("polyline", { class: "series", style, "stroke-dasharray": one.dashed ? "3 4" : null,
      points: part.map((place) => place.map((v) => v.toFixed(1)).join(",")).join(" ") }));
    if (!one.dashed) places.forEach((place, i) => inPlot(place) && (!one.joined || places.length <= 32) && nodes.push(viz.svg("circle",
      { class: "point", style, cx: place[0], cy: place[1], r: 3.5 }, viz.svg("title", {}, `${one.name} at ${one.x[i]}: ${viz.format(one.y[i])}`))));
  },

  /** Labels at the ends of the lines, moved apart where they would overlap. */
  keys(nodes, series, up) {
    const end = (one) => one.y.map((y) => up.at(viz.number(y))).filter(Number.isFinite).at(-1) ?? 252;
    const ends = series.map((one) => ({ one, y: end(one) })).sort((a, b) => a.y - b.y);
    ends.forEach((end, i) => { if (i) end.y = Math.max(end.y, ends[i - 1].y + 17); });
    ends.reverse().forEach((end, i) => { end.y = Math.min(end.y, i ? ends[i - 1].y - 17 : 290); });
    for (const { one, y } of ends) nodes.push(viz.svg("text", { class: "named", style: viz.series(one.colour), x: 532, y: y + 4 }, one.name));
  },

  /** A scale with round ticks. As in pictures, a linear axis includes 0 if it is near. */
  axis(values, log, from, to) {
    const scale = log ? Math.log10 : (x) => x, finite = values.filter((v) => Number.isFinite(scale(v)));
    if (!finite.length) finite.push(1);
    const high = Math.max(...finite), least = Math.min(...finite), low = !log && least < .15 * high ? Math.min(0, least) : least;
    const span = scale(high) - scale(low) || 1, at = (v) => from + (scale(v) - scale(low)) / span * (to - from);
    if (log) {
      const first = Math.ceil(scale(low) - 1e-3), whole = Math.floor(scale(high) + 1e-3) - first + 1, stride = Math.max(1, Math.ceil(whole / 8));
      return { at, ticks: Array.from({ length: Math.max(0, Math.ceil(whole / stride)) }, (_, i) => Number(`1e${first + i * stride}`)) };
    }
    const step = [.01, .02, .05, .1, .2, .25, .5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].find((s) => span / s <= 5) ?? span;
    return { at, ticks: Array.from({ length: 7 }, (_, i) => Math.ceil(low / step) * step + i * step).filter((v) => v <= high * 1.0001) };
  },

  round(value) {
    const size = Math.abs(value);
    return size && (size < 1e-4 || size >= 1e5) ? value.toExponential().replace("+", "") : Number(value.toPrecision(3)).toLocaleString("en", { maximumFractionDigits: 6 });
  },
};

{
  const main = document.getElementById("lecture");
  if (main) viz.data().then((data) => lecture.open(main, data));
}
