// The page of a compute graph: boxes that open, and a panel about the selection.
"use strict";

const SMALLEST = 0.62; // the scale below which groups are closed until the drawing fits
const SHORTCUTS = [["/", "search"], ["0", "all of it in the window"], ["+ −", "closer, farther"],
  ["Tab ← → ↑ ↓", "from box to box"], ["Enter Space", "what a box is; open or close a group"],
  ["Escape", "close the panel, and give the wheel back to the page"],
  ["Ctrl+wheel ⌘+wheel", "closer, farther; after a click into the drawing the wheel alone"]];

class GraphView {
  constructor(graph) {
    this.graph = graph;
    this.opened = new Set(graph.opened);
    this.selected = null; // "n3": a node, "g4": a group, "wn3": the wire of a box's result
    this.svg = document.getElementById("drawing");
    this.port = viz.svg("g", { id: "port" });
    this.svg.append(this.port);
    this.legend = viz.el("div", { id: "legend" });
    document.querySelector("main").append(this.legend); // below the drawing, which it would otherwise cover
    this.panel = new GraphPanel(graph, (key) => this.reveal(key));
    this.panel.change = this.change = new GraphChange(graph, () => this.redrawn());
    this.boxes = new GraphBoxes(graph, this.panel.names);
    this.drawing = new GraphDrawing(this.boxes, this.panel, (key) => this.press(key),
      (source, edges) => this.show(`w${source}`, this.panel.wire(edges)));
    this.meaning = new GraphLegend(this.drawing);
    this.camera = new GraphCamera(this.svg, this.port, () => this.places);
    this.search = new GraphSearch(graph, this.panel.names, (key) => this.reveal(key));
    this.bar();
    this.svg.addEventListener("click", () => this.unselect());
    document.addEventListener("keydown", (event) => this.key(event));
    if (graph.fit) this.startFolded();
    this.draw();
    this.camera.fit();
    new ResizeObserver(() => this.settle()).observe(this.svg); // a frame may get its size later
    viz.link.heard((message) => this.heard(message));
    viz.link.tell({ ready: true, modules: [...new Set(graph.nodes.map(({ module }) => module))] });
  }

  /** What attention on the same page reports: its layers, and the module to show here. */
  heard({ layers, find, changeable }) {
    if (changeable) this.redrawn();
    if (layers) {
      this.panel.layers = layers;
      this.redrawn();
    }
    if (find !== undefined) this.reveal(this.attentionOf(find));
  }

  /** The key of the op that computes a module's attention weights, or else of its first op. */
  attentionOf(path) {
    const here = this.graph.nodes.filter(({ kind, module }) => kind === "op" && module === path);
    const named = (word) => here.find(({ op }) => this.graph.ops[op]?.name.includes(word));
    return `n${(named("attention") ?? named("softmax") ?? here[0]).id}`;
  }

  // What is visible ----------------------------------------------------------------------------------------

  /** The groups around a box, innermost first. */
  around(key) {
    const number = Number(key.slice(1)), { groups, groupOf } = this.graph, found = [];
    const first = key[0] === "n" ? groupOf[number] : groups[number].parent;
    for (let group = first; group !== null; group = groups[group].parent) found.push(group);
    return found;
  }

  /** The key of the box that shows a node; for a leaf next to an op, the op's. */
  boxOf(id) {
    const outermost = this.around(`n${id}`).findLast((group) => !this.opened.has(group));
    return outermost === undefined ? `n${this.boxes.reader.get(id) ?? id}` : `g${outermost}`;
  }

  /** The tree of what is visible, for the layout. */
  tree(number = 0) {
    const children = [];
    for (const key of this.graph.groups[number].children) {
      const id = Number(key.slice(1));
      if (key[0] === "g") children.push(this.opened.has(id) ? this.tree(id) : this.boxes.folded(id));
      else if (!this.boxes.reader.has(id)) children.push(this.boxes.single(id));
    }
    const key = `g${number}`, title = number ? lineWidth(this.graph.labels[key].line, "title") + 24 : 0;
    return { key, children, title };
  }

  /** Close groups, innermost first, until everything fits the window at a readable size. */
  startFolded() {
    const depth = (g) => this.around(`g${g}`).length, count = (g) => this.graph.groups[g].children.length;
    for (;;) {
      this.layout();
      const open = [...this.opened].filter((g) => g && this.places.groups.has(`g${g}`));
      if (!open.length || this.camera.scaleToFit() >= SMALLEST) return;
      open.sort((a, b) => depth(b) - depth(a) || count(b) - count(a));
      this.opened.delete(open[0]);
    }
  }

  /** The places of all visible boxes, and the results that are read from one box by another. */
  layout() {
    const root = this.tree();
    this.visible = new Map();
    const enter = ({ children }) => children.forEach((child) => {
      if (child.children) enter(child);
      else this.visible.set(child.key, child);
    });
    enter(root);
    this.wires = new Map(); // key of a box -> key of another -> edges
    for (const edge of this.graph.edges) {
      const source = this.boxOf(edge.source), target = this.boxOf(edge.target);
      if (source === target) continue;
      if (!this.wires.has(source)) this.wires.set(source, new Map());
      const targets = this.wires.get(source);
      if (!targets.has(target)) targets.set(target, []);
      targets.get(target).push(edge);
    }
    const pairs = ([source, targets]) => [...targets.keys()].map((target) => ({ source, target }));
    this.places = graphLayout.run(root, [...this.wires].flatMap(pairs));
  }

  draw() {
    const focus = document.activeElement?.dataset?.key;
    this.layout();
    this.port.replaceChildren(...this.drawing.all(this.visible, this.places, this.wires));
    this.legend.replaceChildren(...this.meaning.elements());
    this.mark();
    if (focus) this.focus(focus);
  }

  element(key) { return this.port.querySelector(`[data-key="${key}"]`); }

  focus(key) { this.element(key)?.focus({ preventScroll: true }); }

  placeOf(key) {
    const shown = key[0] === "n" ? `n${this.boxes.reader.get(Number(key.slice(1))) ?? key.slice(1)}` : key;
    return this.places.boxes.get(shown) ?? this.places.groups.get(shown);
  }

  /** Show everything again, unless the user has moved the drawing. */
  settle() { if (!this.camera.moved) this.camera.fit(); }

  // Opening, selecting -------------------------------------------------------------------------------------

  press(key) {
    if (key[0] === "n") this.select(key);
    else this.toggle(Number(key.slice(1)));
  }

  /** Open or close a group: it stays in its place in the window if it fits. */
  toggle(number) {
    const key = `g${number}`, before = this.placeOf(key), { x, y, scale } = this.camera.at;
    if (this.opened.has(number)) this.opened.delete(number);
    else for (const each of [number, ...this.graph.groups[number].opens]) this.opened.add(each);
    this.draw();
    const place = this.placeOf(key);
    if (!this.camera.moved && this.camera.scaleToFit() >= SMALLEST) this.camera.fit();
    else {
      this.camera.look({ x: x + (before.x - place.x) * scale, y: y + (before.y - place.y) * scale, scale });
      this.camera.bring(place);
    }
    this.focus(key);
    this.select(key);
  }

  /** Open everything around a box, select it, and move to it. */
  reveal(key) {
    const closed = this.around(key).filter((group) => !this.opened.has(group));
    for (const group of closed) this.opened.add(group);
    if (closed.length) this.draw();
    this.select(key);
    this.camera.bring(this.placeOf(key));
    this.focus(key);
  }

  select(key) {
    const number = Number(key.slice(1)), open = this.opened.has(number);
    this.show(key, key[0] === "n" ? this.panel.node(number)
      : this.panel.group(number, open, () => this.toggle(number)));
  }

  show(key, content) {
    this.selected = key;
    const panel = document.getElementById("panel"), first = panel.hidden;
    const close = viz.el("button", { class: "close", type: "button", title: "close (Escape)",
      "aria-label": "close", onclick: () => this.unselect() }, "✕");
    panel.replaceChildren(close, ...content.filter((part) => part !== ""));
    panel.hidden = false;
    panel.scrollTop = 0;
    if (first) this.settle();
    this.mark();
  }

  unselect() {
    this.selected = null;
    document.getElementById("panel").hidden = true;
    this.settle();
    this.mark();
  }

  /** Highlight what belongs to the selection: its wires, and what keeps its array alive. */
  mark() {
    const key = this.selected, id = key?.[0] === "n" ? Number(key.slice(1)) : null;
    const marked = this.port.querySelectorAll(".selected, .keeps, .moved");
    for (const old of marked) old.classList.remove("selected", "keeps", "moved");
    const box = id === null ? key : this.boxOf(id), shown = key && (this.element(key) ?? this.element(box));
    shown?.classList.add("selected");
    for (const moved of this.change.moved) this.element(this.boxOf(moved))?.classList.add("moved");
    for (const { node } of id === null ? [] : this.panel.keepers[id]) {
      this.element(this.boxOf(node))?.classList.add("keeps");
    }
    for (const net of this.port.querySelectorAll(".net")) {
      const { source, targets } = net.dataset;
      const near = key?.[0] === "w" ? source === key.slice(1) : [source, ...targets.split(" ")].includes(box);
      net.classList.toggle("away", Boolean(id !== null && shown && !near));
      for (const line of net.querySelectorAll(".wire")) line.classList.toggle("near", near);
    }
  }

  // The keyboard -------------------------------------------------------------------------------------------

  key(event) {
    const typing = event.target.matches?.("input, select, textarea");
    if (event.key === "Escape" && !typing) this.unselect();
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    const inside = event.target.closest?.("#drawing");
    if (event.key === "/") {
      event.preventDefault();
      this.search.input.focus();
    } else if (event.key === "0") this.camera.fit();
    else if (event.key === "+" || event.key === "=") this.camera.zoom(1.25);
    else if (event.key === "-") this.camera.zoom(0.8);
    else if (event.key.startsWith("Arrow") && inside) {
      event.preventDefault();
      this.step(event.key.slice(5));
    }
  }

  /** From the box in focus to the nearest one in a direction. */
  step(direction) {
    const all = [...this.places.boxes, ...[...this.places.groups].filter(([key]) => key !== "g0")];
    const from = document.activeElement?.dataset?.key, here = from && this.placeOf(from);
    if (!here) {
      this.focus(all[0]?.[0]);
      return;
    }
    const middle = ({ x, y, width, height }) => [x + width / 2, y + height / 2], [x, y] = middle(here);
    const sign = direction === "Left" || direction === "Up" ? -1 : 1;
    const across = direction === "Left" || direction === "Right";
    let best = null, least = Infinity;
    for (const [key, place] of all) {
      const [px, py] = middle(place), along = sign * (across ? px - x : py - y);
      const far = along + 2 * Math.abs(across ? py - y : px - x);
      if (key !== from && along > 2 && far < least) [best, least] = [key, far];
    }
    if (!best) return;
    this.focus(best);
    this.camera.bring(this.placeOf(best));
  }

  // The bar ------------------------------------------------------------------------------------------------

  bar() {
    const button = (id, text, title, onclick) => (
      viz.el("button", { id, type: "button", title, onclick }, text));
    const ways = [["forward", "Forward", "results"], ["backward", "Backward", "gradients"],
      ["both", "Both", "results and gradients"]];
    document.querySelector("#graph > header").append(
      viz.el("h1", { title: this.graph.title }, this.graph.title),
      this.choice("direction", ways, this.boxes.direction, (value) => { this.boxes.direction = value; }),
      viz.el("label", {}, viz.el("span", { class: "quiet" }, "Colour "), this.colours()),
      viz.el("div", { class: "choice" },
        button("fold", "Fold all", "close every group", () => this.foldAll()),
        button("fit", "Fit", "all of it in the window (0)", () => this.camera.fit()),
        button("closer", "+", "closer (+)", () => this.camera.zoom(1.25)),
        button("farther", "−", "farther (−)", () => this.camera.zoom(0.8))),
      this.search.element,
      button("save", "Save SVG", "the drawing as it is", () => this.save()), this.change.undo, this.change.told,
      viz.shortcuts(SHORTCUTS), viz.theme.button());
  }

  /** Buttons, one of which is pressed; values are [value, text, title]. */
  choice(id, values, now, set) {
    const buttons = values.map(([value, text, title]) => viz.el("button", { type: "button", title,
      "data-value": value, "aria-pressed": String(value === now), onclick: () => {
        set(value);
        for (const each of buttons) each.setAttribute("aria-pressed", String(each.dataset.value === value));
        this.redrawn();
      } }, text));
    return viz.el("div", { class: "choice", id, role: "group", "aria-label": id }, buttons);
  }

  colours() {
    const all = [["none", "no colour"], ["time", "time"], ["bytes", "bytes"], ["gradient", "gradient norm"]];
    const option = ([value, text]) => (
      viz.el("option", { value, selected: value === this.drawing.colour }, text));
    const chosen = viz.el("select", { id: "colour", onchange: () => {
      this.drawing.colour = chosen.value;
      this.redrawn();
    } }, all.map(option));
    return chosen;
  }

  redrawn() {
    const at = document.activeElement?.dataset?.at, { scrollTop } = document.getElementById("panel");
    this.draw();
    if (!this.selected || this.selected[0] === "w") return;
    this.select(this.selected);
    document.getElementById("panel").scrollTop = scrollTop;
    if (at) document.querySelector(`#panel [data-at="${at}"]`)?.focus({ preventScroll: true });
  }

  foldAll() {
    this.opened = new Set([0]);
    this.unselect();
    this.draw();
    this.camera.fit();
  }

  /** Offer the whole drawing as a file, as it is, with the legend but without a selection. */
  save() {
    const { at } = this.camera, { selected } = this, legend = this.meaning.draw(this.svg, this.places.height);
    const width = Math.max(this.places.width, legend.width), height = this.places.height + 34;
    const frame = { viewBox: `0 0 ${width} ${height}`, width, height };
    this.selected = null;
    this.mark();
    this.camera.look({ x: (width - this.places.width) / 2, y: 0, scale: 1 });
    for (const [name, value] of Object.entries(frame)) this.svg.setAttribute(name, value);
    viz.saveSvg(this.svg, "graph.svg");
    for (const name of Object.keys(frame)) this.svg.removeAttribute(name);
    legend.group.remove();
    this.camera.look(at);
    this.selected = selected;
    this.mark();
  }
}

viz.data().then((graph) => {
  window.graphView = new GraphView(graph);
  document.body.dataset.state = "done";
});
