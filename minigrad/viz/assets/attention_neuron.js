// Neuron view: how one query's weights result from q and k, element by element.

attention.Neurons = class {
  constructor(box, state, status) {
    Object.assign(this, { box, state, status, kind: state.kind, layer: state.layer, head: state.heads[0] });
    if (!this.layer.query) {
      status.textContent = "This layer's queries and keys are not known: its scores are no product of the two.";
      box.replaceChildren();
      return;
    }
    this.t = Math.min(state.query ?? (this.kind.kind === "decoder" ? this.kind.T - 1 : 0), this.kind.T - 1);
    this.s = state.key ?? this.strongest();
    this.draw();
  }

  /** The key that the query attends to most. */
  strongest() {
    const weights = this.kind.keys.map((_, s) => this.layer.weight(this.head, this.t, s));
    return weights.indexOf(weights.reduce((most, weight) => Math.max(most, weight)));
  }

  /** A vector in the head: the query's or a key's. */
  vector(array, i) {
    const [, count, width] = array.shape, start = (this.head * count + i) * width;
    return array.values.subarray(start, start + width);
  }

  /** From query and key to weight: elementwise product, sum, scaled sum, bias and weight. */
  pair(s) {
    const { layer, head, t, kind } = this, { bias } = layer;
    const q = this.vector(layer.query, t), k = this.vector(layer.key, s);
    const product = Float64Array.from(q, (x, i) => x * k[i]);
    const sum = product.reduce((total, x) => total + x, 0), scaled = sum * layer.scale;
    const own = bias && bias.shape[0] > 1 ? head : 0; // a bias shared by all heads is stored once
    const added = bias ? bias.values[(own * kind.T + t) * kind.S + s] : 0;
    const masked = layer.masked(t, s, head), weight = layer.weight(head, t, s);
    return { q, k, product, sum, scaled, added, score: scaled + added, masked, weight };
  }

  draw() {
    this.q = this.vector(this.layer.query, this.t);
    this.pairs = this.kind.keys.map((_, s) => this.pair(s));
    this.measure();
    const table = viz.el("table", { class: "neuron", id: "neurons" }, this.header(),
      viz.el("tbody", {}, this.query(), this.pairs.map((pair, s) => this.row(pair, s))));
    this.detail = viz.el("div");
    this.box.replaceChildren(viz.el("div", { class: "scroll" }, table), this.detail);
    this.select(this.s);
    table.addEventListener("keydown", (event) => this.onKey(event));
  }

  /** The values that get the full colour, and each column's number of decimals. */
  measure() {
    const size = (v) => v.reduce((most, x) => Math.max(most, Math.abs(x)), 1e-30);
    const largest = (vectors) => vectors.map(size).reduce((most, x) => Math.max(most, x));
    this.most = {
      vector: largest([this.q, ...this.pairs.map((p) => p.k)]),
      product: largest(this.pairs.map((p) => p.product)),
    };
    this.places = Object.fromEntries(["sum", "scaled", "added"].map((column) => (
      [column, attention.places(this.pairs.map((p) => p[column]))])));
  }

  header() {
    const th = (text, name = null) => viz.el("th", { scope: "col", class: name }, text);
    return viz.el("thead", {}, viz.el("tr", {}, th(""), th(`q above, k below (${this.q.length} elements)`),
      th("q ∘ k"), th("q · k", "value"), th(this.factor(), "value"),
      this.layer.bias ? th("+ added", "value") : [], th("softmax")));
  }

  /** The query's row, with a menu for the query. */
  query() {
    const change = (event) => this.state.set({ query: Number(event.target.value), key: null });
    const options = this.kind.queries.map((text, t) => (
      viz.el("option", { value: t, selected: t === this.t }, `${t}  ${attention.cut(text, 40)}`)));
    const aria = { id: "query", "aria-label": "the token that looks" };
    const choose = viz.el("select", { ...aria, onchange: change }, options);
    return viz.el("tr", { class: "query" }, viz.el("th", {}, choose),
      viz.el("td", {}, this.strip(this.q, this.most.vector)),
      viz.el("td", { colspan: this.layer.bias ? 5 : 4 }));
  }

  /** The scale of q · k, as text. */
  factor() {
    const { scale } = this.layer, width = this.q.length;
    if (Math.abs(scale * Math.sqrt(width) - 1) < 1e-4) return `÷ √${width}`;
    return scale === 1 ? "not scaled" : `× ${attention.number(scale)}`;
  }

  row(pair, s) {
    const td = (...children) => viz.el("td", {}, children), text = this.kind.keys[s];
    const value = (column) => (
      viz.el("td", { class: "value" }, attention.decimal(pair[column], this.places[column])));
    const button = { type: "button", id: `key-${s}`, title: attention.cut(text, 2000) };
    const meter = viz.el("span", { class: "meter", "aria-hidden": "true" }, viz.el("span"));
    meter.firstChild.style.width = `${100 * pair.weight}%`;
    const weight = viz.el("span", { class: "mono weight" }, attention.decimal(pair.weight, 4));
    const row = { "data-key": s, class: pair.masked ? "masked" : null, onclick: () => this.select(s) };
    return viz.el("tr", row,
      viz.el("th", { scope: "row" }, viz.el("button", button, attention.cut(text, 40))),
      td(this.strip(pair.k, this.most.vector)), td(this.strip(pair.product, this.most.product)),
      value("sum"), value("scaled"), this.layer.bias ? value("added") : [],
      pair.masked ? td("masked") : td(meter, weight));
  }

  /** A vector as a row of cells: blue above zero, red below. */
  strip(values, most) {
    const columns = values.length, room = Math.min(256, 0.25 * this.box.clientWidth);
    const side = Math.max(2, Math.min(14, Math.floor(room / columns)));
    const value = (i) => values[i], label = `${columns} numbers`;
    const canvas = viz.heat({ rows: 1, columns, value, most, side, label });
    canvas.style.height = "16px";
    return canvas;
  }

  select(s) {
    this.s = this.state.key = s;
    this.state.query = this.t;
    for (const row of this.box.querySelectorAll("tr[data-key]")) {
      row.setAttribute("aria-selected", String(Number(row.dataset.key) === s));
    }
    const pair = this.pairs[s], names = [this.kind.queries[this.t], this.kind.keys[s]].map(attention.quote);
    const what = pair.masked ? "nothing, the mask forbids it" : attention.number(pair.weight);
    this.status.textContent = `${names[0]} takes from ${names[1]}: ${what}.${this.kind.next(this.t)}`;
    this.detail.replaceChildren(this.formula(pair), this.elements(pair));
  }

  formula(pair) {
    const n = attention.number, sup = (text) => viz.el("sup", {}, text);
    const line = (...parts) => viz.el("div", {}, parts);
    const lines = [line(`q · k = ${n(pair.sum)}`), line(`${this.factor()} = ${n(pair.scaled)}`)];
    if (this.layer.bias) lines.push(line(`+ ${n(pair.added)} = ${n(pair.score)}`));
    if (pair.masked) lines.push(line("the mask makes the score −∞, and e", sup("−∞"), " = 0"));
    else {
      const open = this.pairs.filter((p) => !p.masked).map((p) => p.score);
      const top = open.reduce((a, b) => Math.max(a, b));
      const total = open.reduce((sum, score) => sum + Math.exp(score - top), 0);
      const keys = open.length === 1 ? "1 key" : `${open.length} keys`;
      const weight = n(Math.exp(pair.score - top) / total);
      const power = ["e", sup(n(pair.score))], sum = ["e", sup("score")];
      lines.push(line("softmax: ", ...power, " / Σ ", ...sum, ` over ${keys} = ${weight}`));
    }
    return viz.el("div", { id: "sum" }, lines);
  }

  elements(pair) {
    const sign = (x) => (x > 0 ? "plus" : x < 0 ? "minus" : null);
    const row = (name, values, places = attention.places(values)) => viz.el("tr", {},
      viz.el("th", { scope: "row" }, name),
      [...values].map((x) => viz.el("td", { class: sign(x) }, attention.decimal(x, places))));
    const numbers = [...pair.q].map((_, i) => viz.el("th", { scope: "col" }, i));
    const table = viz.el("table", { class: "numbers", id: "elements" },
      viz.el("tr", {}, viz.el("th", {}, "element"), numbers),
      row("q", pair.q), row("k", pair.k), row("q ∘ k", pair.product));
    return viz.el("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "elements" }, table);
  }

  onKey(event) {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!by || !event.target.id.startsWith("key-")) return;
    event.preventDefault();
    const to = Math.max(0, Math.min(this.kind.S - 1, this.s + by));
    this.select(to);
    document.getElementById(`key-${to}`).focus();
  }
};

attention.views.neurons = {
  title: "Neurons", heads: "one", supports: (kind) => kind.vectors, svg: false, sides: ["Query", "Key"],
  draw: (box, state, status) => new attention.Neurons(box, state, status),
};
