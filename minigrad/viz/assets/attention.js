// Attention: data, state and the control bar. Each view has its own file.

const attention = {
  views: {}, // by name: {title, draw(box, state, status), heads: "several" or "one", supports(kind), sides}
  LEAST: 0.01, // the minimum weight for drawing a line
  FAINTEST: 0.002, // the minimum weight for drawing a cell

  /** A weight's opacity: higher than the weight, so that weights around 0.1 are visible. */
  opacity: (weight) => Math.max(0, Math.min(1, weight)) ** 0.7,

  /** Decode an array from base64: {shape, values}. */
  array(packed) {
    if (!packed) return null;
    const values = viz.bytes(packed.bytes, packed.half ? Uint16Array : Float32Array);
    return { shape: packed.shape, values: packed.half ? attention.halves(values) : values };
  },

  /** Half-precision floats (IEEE 754 binary16) as numbers. */
  halves(words) {
    return Float32Array.from(words, (word) => {
      const sign = word & 0x8000 ? -1 : 1, exponent = (word >> 10) & 31, part = word & 1023;
      if (exponent === 31) return part ? NaN : sign * Infinity;
      return sign * (exponent ? 2 ** (exponent - 15) * (1 + part / 1024) : 2 ** -24 * part);
    });
  },

  /** A number with 4 significant digits, or in a column with a given number of decimals. */
  number: (x) => viz.format(Number(Number(x).toPrecision(attention.digits))).replaceAll("-", "−"),
  decimal: (x, places) => Number(x).toFixed(places).replaceAll("-", "−"),
  places: (values) => {
    const most = values.reduce((top, x) => Math.max(top, Math.abs(x)), 0);
    return most ? Math.max(0, Math.min(8, attention.digits - 1 - Math.floor(Math.log10(most)))) : 0;
  },
  percent: (x) => (x >= 0.0995 ? `${Math.round(100 * x)} %` : `${(100 * x).toFixed(1)} %`),

  /** Quote a token in a sentence, isolating right-to-left text. */
  quote(text) {
    const short = attention.cut(text, 24);
    return /[\u0590-\u08ff\u200f\ufb1d-\ufefc]/.test(short) ? `“\u2068${short}\u2069”` : `“${short}”`;
  },

  /** Cut a text to a number of characters. */
  cut(text, most) {
    const letters = [...text];
    return letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : text;
  },

  /** Cut a text to a width in pixels. */
  truncate(text, font, most) {
    const pen = (attention.pen ??= document.createElement("canvas").getContext("2d"));
    pen.font = font;
    const letters = [...text].slice(0, 80), whole = [...text].length;
    const label = () => letters.join("") + (letters.length < whole ? "…" : "");
    while (letters.length > 1 && pen.measureText(label()).width > most) letters.pop();
    return { text: label(), width: Math.min(most, pen.measureText(label()).width) };
  },

  /** The style of a head: its own colour if there are several, else the accent. */
  colour: (head, several) => (several ? viz.series(head) : "--own: var(--accent)"),
};

/** One layer of one kind; arrays are decoded on first use. */
attention.Layer = class {
  constructor(packed, kind) {
    this.packed = packed;
    this.kind = kind;
    this.path = packed.path;
    this.heads = packed.heads;
    this.scale = packed.scale;
  }

  get weights() { return (this._weights ??= attention.array(this.packed.weights)).values; }
  get query() { return (this._query ??= attention.array(this.packed.query)); }
  get key() { return (this._key ??= attention.array(this.packed.key)); }
  get bias() { return (this._bias ??= attention.array(this.packed.bias)); }

  weight(head, t, s) { return this.weights[(head * this.kind.T + t) * this.kind.S + s]; }

  /** The mean of some heads for all pairs, (T, S). */
  mean(heads) {
    const size = this.kind.T * this.kind.S, sum = new Float32Array(size);
    for (const head of heads) {
      for (let i = 0; i < size; i++) sum[i] += this.weights[head * size + i] / heads.length;
    }
    return sum;
  }

  /** Whether a mask prevents query t from attending to key s, in one head or in all (null). */
  masked(t, s, head = null) {
    const mask = this.kind.masks[this.packed.mask];
    if (!mask) return false;
    const size = this.kind.T * this.kind.S, count = mask.length / size, at = t * this.kind.S + s;
    if (head !== null) return mask[(count > 1 ? head : 0) * size + at] === 1;
    for (let h = 0; h < count; h++) if (!mask[h * size + at]) return false;
    return true;
  }

  /** The keys that no query may attend to: padding. */
  get padding() {
    const { keys, queries } = this.kind;
    return (this._padding ??= keys.map((_, s) => queries.every((__, t) => this.masked(t, s))));
  }
};

attention.Kind = class {
  constructor(packed) {
    Object.assign(this, packed, { T: packed.queries.length, S: packed.keys.length });
    this.masks = packed.masks.map((bytes) => viz.bytes(bytes));
    this.layers = packed.layers.map((layer) => new attention.Layer(layer, this));
  }

  get cross() { return this.kind === "cross"; }

  /** Describe the two sides of a view: rows and columns, or left and right. */
  sides([row, column]) { return `${row}: ${this.meaning[0]}. ${column}: ${this.meaning[1]}.`; }

  /** For a token that a decoder reads: a sentence with the token that it generates next. */
  next(t) { return this.reads && t + 1 < this.T ? ` Next: ${attention.quote(this.queries[t + 1])}.` : ""; }

  get vectors() { return this.layers.some((layer) => layer.packed.query); }
};

/** How far an arrow key moves: [rows, columns]. */
attention.ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

/** The page's state. A change redraws the page. */
attention.State = class {
  constructor(texts) {
    this.texts = texts; // a beam's texts, or the only one: {text, score, kinds}
    this.text = 0;
    this.view = "heads";
    this.number = Math.max(0, this.kinds.findIndex(({ cross }) => cross)); // a translator starts with cross-attention
    this.at = 0;
    this.selection = null; // heads; null means all
    this.query = this.key = null; // tokens
    this.graphModules = new Set(); // modules in a graph on the same page
  }

  /** All layers, for a graph on the same page: indices, module path and label. */
  get layers() {
    return this.kinds.flatMap((kind, number) => kind.layers.map(({ path }, at) => (
      { number, at, path, label: `${kind.title}, layer ${at}` })));
  }

  get kinds() { return this.texts[this.text].kinds; }
  get kind() { return this.kinds[this.number]; }
  get layer() { return this.kind.layers[this.at]; }
  get heads() {
    const all = Array.from({ length: this.layer.heads }, (_, i) => i);
    const some = this.selection ? all.filter((head) => this.selection.has(head)) : all;
    const left = some.length ? some : all;
    return attention.views[this.view].heads === "one" ? left.slice(0, 1) : left;
  }

  set(change) {
    const kind = this.kind;
    Object.assign(this, change);
    this.number = Math.min(this.number, this.kinds.length - 1);
    if (this.kind !== kind) this.query = this.key = null;
    this.at = Math.min(this.at, this.kind.layers.length - 1);
    if (!attention.views[this.view].supports(this.kind)) this.view = "heads";
    this.draw();
  }

  /** Select a single head, or toggle it in a multiple selection. */
  choose(head, others) {
    if (!others) return this.set({ selection: new Set([head]) });
    const selection = new Set(this.heads);
    if (!selection.delete(head)) selection.add(head);
    return this.set({ selection: selection.size ? selection : new Set([head]) });
  }
};

/** The control bar: the beam's text, kind, view, layer and heads. */
attention.Bar = class {
  constructor(state, box) {
    this.state = state;
    this.box = box;
  }

  draw() {
    const { state } = this;
    this.box.replaceChildren(...this.beam(),
      viz.el("div", { class: "bar" }, this.kinds(), viz.el("span", { class: "last" }, this.views())),
      viz.el("div", { class: "bar" }, this.layer(), state.view === "model" ? [] : this.heads()),
    );
  }

  button(id, text, pressed, onclick, more = {}) {
    return viz.el("button", { id, type: "button", "aria-pressed": String(pressed), onclick, ...more }, text);
  }

  /** The beam's texts, best first. */
  beam() {
    const { state } = this;
    if (state.texts.length === 1) return [];
    const rows = state.texts.map(({ text, score }, i) => {
      const button = this.button(`text-${i}`, "", i === state.text, () => state.set({ text: i }));
      button.append(viz.el("span", { class: "text", dir: "auto", title: attention.cut(text, 2000) },
        attention.cut(text, 300)), viz.el("span", { class: "mono" }, attention.decimal(score, 2)));
      return viz.el("li", {}, button);
    });
    return [viz.el("ol", { id: "beam", "aria-label": "texts that the search found, with scores" }, rows)];
  }

  kinds() {
    const { state } = this;
    const name = (kind) => [viz.el("span", { class: "long" }, kind.title),
      viz.el("span", { class: "short" }, kind.short)]; // for narrow windows
    const buttons = state.kinds.map((kind, i) => (
      this.button(`kind-${i}`, name(kind), i === state.number, () => state.set({ number: i }),
        { "aria-label": kind.title })));
    return viz.el("div", { class: "choice", role: "group", "aria-label": "kind of attention" }, buttons);
  }

  views() {
    const { state } = this;
    const buttons = Object.entries(attention.views).map(([name, view]) => {
      const enabled = view.supports(state.kind);
      return this.button(`view-${name}`, view.title, name === state.view, () => state.set({ view: name }), {
        disabled: !enabled,
        title: enabled ? null : "queries and keys are not known here: record a model, not its weights alone",
      });
    });
    return viz.el("div", { class: "choice", role: "group", "aria-label": "view" }, buttons);
  }

  layer() {
    const { state } = this, count = state.kind.layers.length;
    if (state.view === "model") return viz.el("span", { class: "quiet" }, "layers downwards, heads across");
    const step = (id, text, by, label) => viz.el("button", {
      id, type: "button", "aria-label": label, disabled: state.at + by < 0 || state.at + by >= count,
      onclick: () => state.set({ at: state.at + by }),
    }, text);
    const options = state.kind.layers.map((_, i) => (
      viz.el("option", { value: i, selected: i === state.at }, `layer ${i}`)));
    const change = (event) => state.set({ at: Number(event.target.value) });
    const choose = viz.el("select", { id: "layer", "aria-label": "layer", onchange: change }, options);
    const path = viz.el("code", { id: "path", class: "quiet" }, attention.cut(state.layer.path, 60));
    const graphLink = !state.graphModules.has(state.layer.path) ? [] : viz.el("button", { id: "find", type: "button",
      title: "show it in the graph", onclick: () => viz.link.send({ find: state.layer.path }) }, "In the graph");
    return viz.el("div", { class: "steps" }, step("earlier", "‹", -1, "the layer before"), choose,
      step("later", "›", 1, "the layer after"), path, graphLink);
  }

  heads() {
    const { state } = this, selection = new Set(state.heads), one = attention.views[state.view].heads === "one";
    const several = selection.size > 1;
    const chips = Array.from({ length: state.layer.heads }, (_, head) => this.button(
      `head-${head}`, String(head), selection.has(head),
      (event) => state.choose(head, !one && (event.shiftKey || event.ctrlKey || event.metaKey)),
      {
        "data-head": head, style: attention.colour(head, several),
        title: one ? `head ${head}` : `head ${head} alone; with Shift, also this one`,
      },
    ));
    const all = selection.size === state.layer.heads;
    if (!one) chips.push(this.button("head-all", "all", all, () => state.set({ selection: null })));
    return viz.el("div", { class: "steps last" }, viz.el("span", { class: "quiet" }, one ? "head" : "heads"),
      viz.el("div", { class: "chips", role: "group", "aria-label": "heads" }, chips));
  }
};
