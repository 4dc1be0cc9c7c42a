// Head view: tokens on both sides, a line for each weight. Hovering over a token highlights its lines.

attention.Heads = class {
  static PITCH = 26;
  static MOST = 2000; // lines in the overview; more would blur into grey

  constructor(box, state, status) {
    Object.assign(this, { box, state, status, kind: state.kind, layer: state.layer, heads: state.heads });
    this.several = this.heads.length > 1;
    this.pinned = state.query === null ? null : { side: 0, at: state.query };
    this.hovered = null;
    this.draw();
    this.mark();
  }

  draw() {
    const { PITCH } = attention.Heads, whole = this.box.clientWidth;
    const within = (least, x, top) => Math.max(least, Math.min(top, Math.floor(x)));
    const names = [this.kind.queries, this.kind.keys], most = within(64, 0.2 * whole, 240);
    const cut = names.map((side) => side.map((text) => attention.truncate(text, "600 15px system-ui", most)));
    const [left, right] = cut.map((side) => Math.max(44, ...side.map((one) => one.width)));
    this.square = within(4, Math.min(224, 0.12 * whole) / this.heads.length, 14);
    const extra = this.several ? Math.max(60, this.square * this.heads.length + 12) : 60; // also fits "masked"
    this.extra = extra;
    const gap = within(72, whole - left - right - 2 * extra - 32, 460);
    this.x = [extra + left + 8, extra + left + 8 + gap];
    const rows = Math.max(this.kind.T, this.kind.S);
    this.top = names.map((side) => 30 + (PITCH * (rows - side.length)) / 2);
    const width = this.x[1] + right + 8 + extra, height = 34 + PITCH * rows;
    const titles = this.kind.cross ? ["target", "source"] : ["looks", "at"];
    this.under = viz.svg("g", { class: "links" });
    this.over = viz.svg("g", { class: "links" });
    this.shades = viz.svg("g", { class: "shades" });
    const tokens = [left, right].map((wide, side) => viz.svg("g", { class: side ? "keys" : "queries" },
      cut[side].map((one, i) => this.token(side, i, one, names[side][i], wide))));
    this.svg = viz.svg("svg", {
      id: "heads", width, height, viewBox: `0 0 ${width} ${height}`,
      role: "group", "aria-label": "tokens and lines",
    },
      viz.svg("text", { class: "caption", x: this.x[0] - 8, y: 14, "text-anchor": "end" }, titles[0]),
      viz.svg("text", { class: "caption", x: this.x[1] + 8, y: 14 }, titles[1]),
      this.under, this.over, this.shades, tokens);
    this.overview();
    this.box.replaceChildren(viz.el("div", { class: "scroll" }, this.svg));
    this.svg.addEventListener("keydown", (event) => this.onKey(event));
  }

  /** The lines of all tokens; if there are too many, the largest weights. */
  overview() {
    const { MOST } = attention.Heads, all = this.heads.map((head) => this.all(head));
    const weights = Float32Array.from(all.flatMap((pairs) => pairs.map(([, , weight]) => weight))).sort();
    const least = weights.length > MOST ? weights[weights.length - MOST] : 0;
    this.heads.forEach((head, i) => (
      this.lines(this.under, head, all[i].filter(([, , weight]) => weight >= least))));
    this.hint = least ? `The heaviest ${MOST} of ${weights.length} lines. ` : "";
  }

  y(side, i) { return this.top[side] + attention.Heads.PITCH * (i + 0.5); }

  token(side, i, cut, whole, wide) {
    const y = this.y(side, i), x = this.x[side] + (side ? 8 : -8), own = { side, at: i };
    const ground = {
      class: "ground", x: side ? this.x[1] + 2 : this.x[0] - wide - 14, y: y - attention.Heads.PITCH / 2 + 1,
      width: wide + 12, height: attention.Heads.PITCH - 2, rx: 4,
    };
    return viz.svg("g", {
      class: side && this.layer.padding[i] ? "token masked" : "token",
      role: "button", tabindex: side || i ? -1 : 0,
      "data-side": side, "data-at": i, "aria-label": attention.cut(whole, 200),
      onpointerenter: () => this.point(own), onpointerleave: () => this.point(null),
      onfocus: () => this.point(own), onblur: () => this.point(null), onclick: () => this.pin(own),
    },
      viz.svg("title", {}, attention.cut(whole, 2000)), viz.svg("rect", ground),
      viz.svg("text", { x, y: y + 5, "text-anchor": side ? "start" : "end" }, cut.text));
  }

  /** A head's pairs that have a line, for one token or for all. */
  all(head, only = null) {
    const pairs = [], { T, S } = this.kind;
    for (let t = 0; t < T; t++) {
      if (only?.side === 0 && only.at !== t) continue;
      for (let s = 0; s < S; s++) {
        if (only?.side === 1 && only.at !== s) continue;
        const weight = this.layer.weight(head, t, s);
        if (weight >= attention.LEAST) pairs.push([t, s, weight]);
      }
    }
    return pairs;
  }

  /** Lines of equal opacity share a path, so that thousands render fast. */
  lines(group, head, pairs) {
    const paths = new Map(), [a, b] = this.x, mid = (a + b) / 2, count = this.heads.length;
    const lower = (this.heads.indexOf(head) - (count - 1) / 2) * Math.min(2, 12 / count); // side by side
    for (const [t, s, weight] of pairs) {
      const step = Math.max(1, Math.round(attention.opacity(weight) * 25));
      const y0 = this.y(0, t) + lower, y1 = this.y(1, s) + lower;
      paths.set(step, `${paths.get(step) ?? ""}M${a} ${y0}C${mid} ${y0} ${mid} ${y1} ${b} ${y1}`);
    }
    for (const [step, d] of [...paths].sort((p, q) => p[0] - q[0])) {
      group.append(viz.svg("path", { d, style: attention.colour(head, this.several), opacity: step / 25 }));
    }
  }

  point(where) {
    this.hovered = where;
    this.mark();
  }

  pin(where) {
    this.pinned = this.same(where, this.pinned) ? null : where;
    this.state.query = this.pinned?.side === 0 ? this.pinned.at : null;
    this.mark();
  }

  same(one, other) { return Boolean(one && other && one.side === other.side && one.at === other.at); }

  /** Highlight a token's lines, and label the other side's tokens with its weights. */
  mark() {
    const one = this.hovered ?? this.pinned;
    this.over.replaceChildren();
    this.shades.replaceChildren();
    this.under.classList.toggle("faint", one !== null);
    for (const node of this.svg.querySelectorAll(".token")) {
      const own = { side: Number(node.dataset.side), at: Number(node.dataset.at) };
      node.classList.toggle("active", this.same(own, one));
      node.setAttribute("aria-pressed", String(this.same(own, this.pinned)));
    }
    if (!one) {
      this.status.textContent = `${this.hint}Point at a token to see what it looks at, click to keep it; `
        + "or Tab into the tokens and walk with the arrow keys.";
      return;
    }
    for (const head of this.heads) this.lines(this.over, head, this.all(head, one));
    const other = 1 - one.side, names = other ? this.kind.keys : this.kind.queries;
    const shares = names.map((_, i) => this.share(one, i));
    shares.forEach((share, i) => this.shade(other, i, share));
    this.nameHeads(other);
    this.status.textContent = this.sentence(one, names, shares);
  }

  /** The weights between a token and one on the other side, one per head. */
  share(one, other) {
    const [t, s] = one.side ? [other, one.at] : [one.at, other];
    const weights = this.heads.map((head) => this.layer.weight(head, t, s));
    return { weights, masked: this.layer.masked(t, s) };
  }

  /** The left edge of the heads' squares on a side. */
  squares(side, count) {
    return side ? this.svg.viewBox.baseVal.width - this.extra + 6 : this.extra - 6 - this.square * count;
  }

  /** The heads' numbers above their squares, if these are wide enough. */
  nameHeads(side) {
    const { square, heads } = this, digits = String(Math.max(...heads)).length;
    if (!this.several || square < 7 * digits + 1) return;
    const y = this.y(side, 0) - attention.Heads.PITCH / 2 - 2, x = this.squares(side, heads.length) + square / 2;
    this.shades.append(...heads.map((head, k) => viz.svg("text",
      { class: "head", x: x + square * k, y, "text-anchor": "middle" }, head)));
  }

  /** Label a token with a square for each head, or with a single head's weight. */
  shade(side, i, { weights, masked }) {
    const { square } = this, y = this.y(side, i), first = this.squares(side, weights.length);
    const x = side ? first : this.extra - 6;
    const text = (name, label) => this.shades.append(
      viz.svg("text", { class: name, x, y: y + 4, "text-anchor": side ? "start" : "end" }, label));
    if (masked) text("caption", "masked");
    else if (!this.several && weights[0] >= 0.0005) text("share", attention.decimal(weights[0], 3));
    else if (this.several) this.shades.append(...weights.map((weight, k) => viz.svg("rect", {
      x: first + square * k, y: y - 7, width: square - 1, height: 13,
      opacity: attention.opacity(weight).toFixed(3), style: attention.colour(this.heads[k], true),
    }, viz.svg("title", {}, `head ${this.heads[k]}: ${attention.number(weight)}`))));
  }

  sentence(one, names, shares) {
    const mean = ({ weights }) => weights.reduce((sum, weight) => sum + weight, 0) / weights.length;
    const most = shares.map((share, i) => [mean(share), i]).filter(([share]) => share >= 0.005)
      .sort((p, q) => q[0] - p[0]).slice(0, 4);
    const list = most.map(([share, i]) => `${attention.quote(names[i])} ${attention.percent(share)}`);
    const own = attention.quote((one.side ? this.kind.keys : this.kind.queries)[one.at]);
    const how = this.several ? ` (mean of ${this.heads.length} heads)` : "";
    const looks = one.side ? "is looked at by" : "looks at", next = one.side ? "" : this.kind.next(one.at);
    return `${own} ${looks} ${list.join(", ") || "no token"}${how}.${next}`;
  }

  onKey(event) {
    const node = event.target.closest(".token");
    if (event.key === "Escape" && this.pinned) this.pin(this.pinned);
    if (!node) return;
    const side = Number(node.dataset.side), at = Number(node.dataset.at);
    const last = [this.kind.T - 1, this.kind.S - 1];
    const to = {
      ArrowDown: [side, at + 1], ArrowUp: [side, at - 1], ArrowRight: [1, at], ArrowLeft: [0, at],
      Home: [side, 0], End: [side, last[side]],
    }[event.key];
    if (event.key === "Enter" || event.key === " ") this.pin({ side, at });
    else if (!to) return;
    event.preventDefault();
    if (!to) return;
    const place = Math.max(0, Math.min(last[to[0]], to[1]));
    const target = this.svg.querySelector(`.token[data-side="${to[0]}"][data-at="${place}"]`);
    node.setAttribute("tabindex", -1);
    target.setAttribute("tabindex", 0);
    target.focus();
  }
};

attention.views.heads = {
  title: "Heads", heads: "several", supports: () => true, svg: true, sides: ["Left", "Right"],
  draw: (box, state, status) => new attention.Heads(box, state, status),
};
