// Matrix view: a cell for each pair; rows attend to columns; several heads show their mean.

attention.Matrix = class {
  static NUMBERED = 24; // maximum tokens per side for which cells show their number, in per cent

  constructor(box, state, status) {
    Object.assign(this, { box, state, status, kind: state.kind, layer: state.layer });
    this.weights = this.layer.mean(state.heads);
    this.draw();
    this.mark(state.query === null ? null : [state.query, state.key ?? 0]);
  }

  draw() {
    const { T, S } = this.kind, most = Math.max(T, S), room = this.box.clientWidth - 160; // minus labels
    const numbered = most <= attention.Matrix.NUMBERED;
    const between = (least, x, top) => Math.max(least, Math.min(top, Math.floor(x)));
    const [least, all, top] = numbered ? [24, 700, 40] : [7, 900, 26];
    this.cell = between(least, Math.min(all, room) / most, top);
    const size = Math.min(14, Math.max(7, this.cell - 1)), font = `600 ${size}px system-ui`;
    const truncate = (text) => attention.truncate(text, font, 180);
    const names = [this.kind.queries.map(truncate), this.kind.keys.map(truncate)];
    const [wide, high] = names.map((side) => Math.max(30, ...side.map((one) => one.width)));
    this.left = wide + 14;
    this.top = (numbered ? 0.72 * high : high) + 18;
    this.width = this.left + S * this.cell + (numbered ? 0.72 * high : 12);
    this.height = this.top + T * this.cell + 8;
    const cell = { width: this.cell, height: this.cell };
    this.cursor = viz.svg("rect", { class: "cursor", ...cell, visibility: "hidden" });
    this.svg = viz.svg("svg", {
      id: "matrix", width: this.width, height: this.height, viewBox: `0 0 ${this.width} ${this.height}`,
      tabindex: 0, role: "application", "aria-label": "weights; arrow keys move from cell to cell",
      "aria-describedby": "status",
    },
      this.cells(), this.hatch(), this.frame(), numbered ? this.numbers() : [],
      this.names(names, size, numbered), this.cursor);
    this.svg.addEventListener("pointermove", (event) => this.mark(this.pairAt(event) ?? this.pinned));
    this.svg.addEventListener("pointerleave", () => this.mark(this.pinned));
    this.svg.addEventListener("click", (event) => this.pin(this.pairAt(event)));
    this.svg.addEventListener("dblclick", () => this.open());
    this.svg.addEventListener("keydown", (event) => this.onKey(event));
    this.box.replaceChildren(viz.el("div", { class: "scroll" }, this.svg));
  }

  frame() {
    const { T, S } = this.kind, { cell } = this;
    return viz.svg("rect", { class: "frame", x: this.left, y: this.top, width: S * cell, height: T * cell });
  }

  at(t, s) { return [this.left + s * this.cell, this.top + t * this.cell]; }

  /** One path for all cells of the same opacity. */
  cells() {
    const paths = new Map(), { S } = this.kind, c = this.cell;
    this.weights.forEach((weight, i) => {
      if (weight < attention.FAINTEST) return;
      const step = Math.max(1, Math.round(attention.opacity(weight) * 50));
      const [x, y] = this.at(Math.floor(i / S), i % S);
      paths.set(step, `${paths.get(step) ?? ""}M${x} ${y}h${c}v${c}h${-c}z`);
    });
    const nodes = [...paths].map(([step, d]) => viz.svg("path", { d, opacity: step / 50 }));
    return viz.svg("g", { class: "cells" }, nodes);
  }

  /** A stroke through each masked cell. */
  hatch() {
    let d = "";
    const c = this.cell, { T, S } = this.kind;
    for (let t = 0; t < T; t++) for (let s = 0; s < S; s++) {
      if (!this.layer.masked(t, s)) continue;
      const [x, y] = this.at(t, s);
      d += `M${x + 0.3 * c} ${y + 0.7 * c}L${x + 0.7 * c} ${y + 0.3 * c}`;
    }
    return viz.svg("path", { class: "hatch", d });
  }

  numbers() {
    const { S } = this.kind, half = this.cell / 2;
    return viz.svg("g", {}, [...this.weights].flatMap((weight, i) => {
      if (weight < 0.005) return [];
      const [x, y] = this.at(Math.floor(i / S), i % S), fill = viz.onAccent(attention.opacity(weight));
      const place = { class: "number", fill, x: x + half, y: y + half + 4 };
      return [viz.svg("text", place, Math.round(100 * weight))];
    }));
  }

  names([queries, keys], size, slanted) {
    const text = (one, whole, attributes) => viz.svg("text", { "font-size": size, ...attributes }, one.text,
      viz.svg("title", {}, attention.cut(whole, 2000)));
    const rows = queries.map((one, t) => text(one, this.kind.queries[t], {
      class: "name", "data-row": t, "text-anchor": "end", x: this.left - 8,
      y: this.at(t, 0)[1] + this.cell / 2 + size * 0.35,
    }));
    const columns = keys.map((one, s) => {
      const x = this.at(0, s)[0] + this.cell / 2 + (slanted ? 0 : size * 0.35), y = this.top - 7;
      return text(one, this.kind.keys[s], {
        class: this.layer.padding[s] ? "name masked" : "name", "data-column": s, x, y,
        transform: `rotate(${slanted ? -45 : -90} ${x} ${y})`,
      });
    });
    return viz.svg("g", {}, rows, columns);
  }

  pairAt(event) {
    const box = this.svg.getBoundingClientRect(), place = (x) => Math.floor(x / this.cell);
    const t = place(event.clientY - box.top - this.top), s = place(event.clientX - box.left - this.left);
    return t >= 0 && s >= 0 && t < this.kind.T && s < this.kind.S ? [t, s] : null;
  }

  pin(pair) {
    this.pinned = pair;
    Object.assign(this.state, { query: pair ? pair[0] : null, key: pair ? pair[1] : null });
    this.mark(pair);
  }

  mark(pair) {
    this.pair = pair;
    for (const node of this.svg.querySelectorAll(".name.active")) node.classList.remove("active");
    this.cursor.setAttribute("visibility", pair ? "visible" : "hidden");
    this.status.textContent = pair ? this.sentence(...pair) : this.legend();
    if (!pair) return;
    const [t, s] = pair, [x, y] = this.at(t, s);
    this.cursor.setAttribute("x", x);
    this.cursor.setAttribute("y", y);
    this.svg.querySelector(`[data-row="${t}"]`).classList.add("active");
    this.svg.querySelector(`[data-column="${s}"]`).classList.add("active");
    if (pair === this.pinned && attention.views.neurons.supports(this.kind)) {
      const open = { id: "open", type: "button", onclick: () => this.open() };
      this.status.append(viz.el("button", open, "how it is computed"));
    }
  }

  legend() {
    const numbered = Math.max(this.kind.T, this.kind.S) <= attention.Matrix.NUMBERED, { heads } = this.state;
    return [
      numbered ? "Numbers are per cent." : "Point at a cell for its number.",
      this.kind.masks.length ? "A stroke: forbidden by a mask." : "",
      heads.length > 1 ? `The mean of ${heads.length} heads.` : "",
    ].join(" ");
  }

  sentence(t, s) {
    const [query, key] = [this.kind.queries[t], this.kind.keys[s]].map(attention.quote);
    const { heads } = this.state;
    if (this.layer.masked(t, s)) return `${query} takes from ${key}: nothing, the mask forbids it.`;
    const how = heads.length > 1 ? ` (mean of ${heads.length} heads)` : "";
    const detail = `${attention.number(this.weights[t * this.kind.S + s])}${how}.${this.kind.next(t)}`;
    return `${query} takes from ${key}: ${detail}`;
  }

  open() {
    if (!this.pair || !attention.views.neurons.supports(this.kind)) return;
    this.state.set({ view: "neurons", query: this.pair[0], key: this.pair[1] });
  }

  onKey(event) {
    const move = attention.ARROWS[event.key];
    if (event.key === "Escape") this.pin(null);
    else if (event.key === "Enter") this.open();
    else if (!move) return;
    event.preventDefault();
    if (!move) return;
    const within = (x, count) => Math.max(0, Math.min(count - 1, x));
    const [t, s] = this.pair ?? [0, 0], by = this.pair ? move : [0, 0]; // the first key press shows the position
    this.pin([within(t + by[0], this.kind.T), within(s + by[1], this.kind.S)]);
  }
};

attention.views.matrix = {
  title: "Matrix", heads: "several", supports: () => true, svg: true, sides: ["Row", "Column"],
  draw: (box, state, status) => new attention.Matrix(box, state, status),
};
