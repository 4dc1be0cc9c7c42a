// Model view: a thumbnail of every head in every layer. A click opens the head.

attention.Model = class {
  constructor(box, state, status) {
    Object.assign(this, { box, state, status, kind: state.kind });
    this.columns = Math.max(...this.kind.layers.map((layer) => layer.heads));
    this.draw();
    status.textContent = "Every head of every layer. Click one to open it.";
  }

  draw() {
    const room = (this.box.clientWidth - 80) / this.columns - 8; // minus layer names and gaps
    const side = Math.max(40, Math.min(96, Math.floor(room)));
    const aria = { role: "group", "aria-label": "layers and heads" };
    const grid = viz.el("div", { class: "grid", id: "model", ...aria });
    grid.style.gridTemplateColumns = `4rem repeat(${this.columns}, ${side}px)`;
    grid.append(viz.el("span", { class: "quiet" }, side < 56 ? "head" : ""));
    const heads = Array.from({ length: this.columns }, (_, head) => head);
    grid.append(...heads.map((head) => viz.el("span", { class: "quiet" }, side < 56 ? head : `head ${head}`)));
    this.kind.layers.forEach((layer, at) => {
      grid.append(viz.el("span", { class: "quiet", title: layer.path }, `layer ${at}`));
      const cell = (head) => (head < layer.heads ? this.thumbnail(layer, at, head) : viz.el("span"));
      grid.append(...heads.map(cell));
    });
    grid.addEventListener("keydown", (event) => this.onKey(event));
    this.box.replaceChildren(viz.el("div", { class: "scroll" }, grid));
  }

  thumbnail(layer, at, head) {
    return viz.el("button", {
      id: `cell-${at}-${head}`, type: "button", "data-layer": at, "data-head": head,
      tabindex: at || head ? -1 : 0,
      "aria-label": `layer ${at}, head ${head}`, title: `layer ${at}, head ${head}`,
      onclick: () => this.state.set({ view: this.state.last ?? "heads", at, selection: new Set([head]) }),
    }, this.picture(layer, head));
  }

  /** One pixel per pair; in long texts, pairs that share a pixel show their largest weight. */
  picture(layer, head) {
    const { T, S } = this.kind, most = 96;
    const h = Math.min(T, most), w = Math.min(S, most), cells = new Float32Array(h * w);
    for (let t = 0; t < T; t++) for (let s = 0; s < S; s++) {
      const i = Math.floor((t * h) / T) * w + Math.floor((s * w) / S);
      cells[i] = Math.max(cells[i], layer.weight(head, t, s));
    }
    return viz.heat({ rows: h, columns: w, value: (i) => cells[i], shade: attention.opacity });
  }

  onKey(event) {
    const node = event.target.closest("button"), move = attention.ARROWS[event.key];
    if (!node || !move) return;
    event.preventDefault();
    const layer = Number(node.dataset.layer) + move[0], head = Number(node.dataset.head) + move[1];
    const to = document.getElementById(`cell-${layer}-${head}`);
    if (!to) return;
    node.tabIndex = -1;
    to.tabIndex = 0;
    to.focus();
  }
};

attention.views.model = {
  title: "Model", heads: "several", supports: () => true, svg: false, sides: ["Row", "Column"],
  draw: (box, state, status) => new attention.Model(box, state, status),
};
