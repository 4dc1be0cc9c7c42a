// The compute graph page: collapsible boxes, and a panel for the selection.
"use strict";

const SMALLEST = 0.62; // minimum initial scale: below it, groups are folded
const SHORTCUTS = [["/", "search"], ["0", "all of it in the window"], ["+ −", "closer, farther"],
  ["Tab ← → ↑ ↓", "from box to box"], ["Enter Space", "what a box is; open or close a group"],
  ["Escape", "close the panel, and give the wheel back to the page"],
  ["Ctrl+wheel ⌘+wheel", "closer, farther; after a click into the drawing the wheel alone"]];

class GraphView {
  constructor(graph) {
    this.graph = graph;
    this.openGroups = new Set(graph.opened);
    this.selected = null; // "n3": a node, "g4": a group, "wn3": the wire of a box's result
    this.svg = document.getElementById("drawing");
    this.port = viz.svg("g", { id: "port" });
    this.svg.append(this.port);
    this.legend = viz.el("div", { id: "legend" });
    document.querySelector("main").append(this.legend); // below the drawing, not over it
    this.panel = new GraphPanel(graph, (key) => this.reveal(key));
    this.panel.change = this.change = new GraphChange(graph, () => this.refresh());
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
    new ResizeObserver(() => this.settle()).observe(this.svg); // a frame may be sized later
    viz.link.listen((message) => this.onMessage(message));
    viz.link.send({ ready: true, modules: [...new Set(graph.nodes.map(({ module }) => module))] });
  }

  /** Messages from attention on the same page: its layers, and a module to show. */
  onMessage({ layers, find, changeable }) {
    if (changeable) this.refresh();
    if (layers) {
      this.panel.layers = layers;
      this.refresh();
    }
    if (find !== undefined) this.reveal(this.attentionOf(find));
  }

  /** The key of the op that computes a module's attention weights, or else of its first op. */
  attentionOf(path) {
    const here = this.graph.nodes.filter(({ kind, module }) => kind === "op" && module === path);
    const byName = (word) => here.find(({ op }) => this.graph.ops[op]?.name.includes(word));
    return `n${(byName("attention") ?? byName("softmax") ?? here[0]).id}`;
  }

  // Layout -------------------------------------------------------------------------------------------------

  /** The groups around a box, innermost first. */
  ancestors(key) {
    const number = Number(key.slice(1)), { groups, groupOf } = this.graph, list = [];
    const first = key[0] === "n" ? groupOf[number] : groups[number].parent;
    for (let group = first; group !== null; group = groups[group].parent) list.push(group);
    return list;
  }

  /** The key of the visible box of a node; for a leaf next to an op, the op's. */
  boxOf(id) {
    const outermost = this.ancestors(`n${id}`).findLast((group) => !this.openGroups.has(group));
    return outermost === undefined ? `n${this.boxes.reader.get(id) ?? id}` : `g${outermost}`;
  }

  /** The tree of visible boxes, for the layout. */
  tree(number = 0) {
    const children = [];
    for (const key of this.graph.groups[number].children) {
      const id = Number(key.slice(1));
      if (key[0] === "g") children.push(this.openGroups.has(id) ? this.tree(id) : this.boxes.foldedGroup(id));
      else if (!this.boxes.reader.has(id)) children.push(this.boxes.node(id));
    }
    const key = `g${number}`, title = number ? lineWidth(this.graph.labels[key].line, "title") + 24 : 0;
    return { key, children, title };
  }

  /** Fold groups, innermost first, until the drawing fits the viewport at a readable scale. */
  startFolded() {
    const depth = (g) => this.ancestors(`g${g}`).length, count = (g) => this.graph.groups[g].children.length;
    for (;;) {
      this.layout();
      const open = [...this.openGroups].filter((g) => g && this.places.groups.has(`g${g}`));
      if (!open.length || this.camera.scaleToFit() >= SMALLEST) return;
      open.sort((a, b) => depth(b) - depth(a) || count(b) - count(a));
      this.openGroups.delete(open[0]);
    }
  }

  /** Lay out the visible boxes, and collect the wires between them. */
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
    const box = key[0] === "n" ? `n${this.boxes.reader.get(Number(key.slice(1))) ?? key.slice(1)}` : key;
    return this.places.boxes.get(box) ?? this.places.groups.get(box);
  }

  /** Fit the drawing again, unless the user has moved it. */
  settle() { if (!this.camera.moved) this.camera.fit(); }

  // Folding and selection ----------------------------------------------------------------------------------

  press(key) {
    if (key[0] === "n") this.select(key);
    else this.toggle(Number(key.slice(1)));
  }

  /** Open or close a group, which keeps its place in the viewport if it fits. */
  toggle(number) {
    const key = `g${number}`, before = this.placeOf(key), { x, y, scale } = this.camera.at;
    if (this.openGroups.has(number)) this.openGroups.delete(number);
    else for (const each of [number, ...this.graph.groups[number].opens]) this.openGroups.add(each);
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

  /** Open the groups around a box, select it, and scroll to it. */
  reveal(key) {
    const closed = this.ancestors(key).filter((group) => !this.openGroups.has(group));
    for (const group of closed) this.openGroups.add(group);
    if (closed.length) this.draw();
    this.select(key);
    this.camera.bring(this.placeOf(key));
    this.focus(key);
  }

  select(key) {
    const number = Number(key.slice(1)), open = this.openGroups.has(number);
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

  /** Highlight the selection, its wires, and the nodes that keep its array alive. */
  mark() {
    const key = this.selected, id = key?.[0] === "n" ? Number(key.slice(1)) : null;
    const highlights = this.port.querySelectorAll(".selected, .keeps, .changed");
    for (const old of highlights) old.classList.remove("selected", "keeps", "changed");
    const box = id === null ? key : this.boxOf(id), selected = key && (this.element(key) ?? this.element(box));
    selected?.classList.add("selected");
    for (const changed of this.change.changedNodes) this.element(this.boxOf(changed))?.classList.add("changed");
    for (const { node } of id === null ? [] : this.panel.keepers[id]) {
      this.element(this.boxOf(node))?.classList.add("keeps");
    }
    for (const net of this.port.querySelectorAll(".net")) {
      const { source, targets } = net.dataset;
      const near = key?.[0] === "w" ? source === key.slice(1) : [source, ...targets.split(" ")].includes(box);
      net.classList.toggle("dim", Boolean(id !== null && selected && !near));
      for (const line of net.querySelectorAll(".wire")) line.classList.toggle("near", near);
    }
  }

  // Keyboard -----------------------------------------------------------------------------------------------

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

  /** Move the focus to the nearest box in a direction. */
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
      const distance = along + 2 * Math.abs(across ? py - y : px - x);
      if (key !== from && along > 2 && distance < least) [best, least] = [key, distance];
    }
    if (!best) return;
    this.focus(best);
    this.camera.bring(this.placeOf(best));
  }

  // Toolbar ------------------------------------------------------------------------------------------------

  bar() {
    const button = (id, text, title, onclick) => (
      viz.el("button", { id, type: "button", title, onclick }, text));
    const options = [["forward", "Forward", "results"], ["backward", "Backward", "gradients"],
      ["both", "Both", "results and gradients"]];
    document.querySelector("#graph > header").append(
      viz.el("h1", { title: this.graph.title }, this.graph.title),
      this.choice("direction", options, this.boxes.direction, (value) => { this.boxes.direction = value; }),
      viz.el("label", {}, viz.el("span", { class: "quiet" }, "Colour "), this.colours()),
      viz.el("div", { class: "choice" },
        button("fold", "Fold all", "close every group", () => this.foldAll()),
        button("fit", "Fit", "all of it in the window (0)", () => this.camera.fit()),
        button("closer", "+", "closer (+)", () => this.camera.zoom(1.25)),
        button("farther", "−", "farther (−)", () => this.camera.zoom(0.8))),
      this.search.element,
      button("save", "Save SVG", "the drawing as it is", () => this.save()), this.change.undo, this.change.status,
      viz.shortcuts(SHORTCUTS), viz.theme.button());
  }

  /** A group of toggle buttons, one of them pressed; `values`: [value, text, title]. */
  choice(id, values, now, set) {
    const buttons = values.map(([value, text, title]) => viz.el("button", { type: "button", title,
      "data-value": value, "aria-pressed": String(value === now), onclick: () => {
        set(value);
        for (const each of buttons) each.setAttribute("aria-pressed", String(each.dataset.value === value));
        this.refresh();
      } }, text));
    return viz.el("div", { class: "choice", id, role: "group", "aria-label": id }, buttons);
  }

  colours() {
    const all = [["none", "no colour"], ["time", "time"], ["bytes", "bytes"], ["gradient", "gradient norm"]];
    const option = ([value, text]) => (
      viz.el("option", { value, selected: value === this.drawing.colour }, text));
    const select = viz.el("select", { id: "colour", onchange: () => {
      this.drawing.colour = select.value;
      this.refresh();
    } }, all.map(option));
    return select;
  }

  refresh() {
    const at = document.activeElement?.dataset?.at, { scrollTop } = document.getElementById("panel");
    this.draw();
    if (!this.selected || this.selected[0] === "w") return;
    this.select(this.selected);
    document.getElementById("panel").scrollTop = scrollTop;
    if (at) document.querySelector(`#panel [data-at="${at}"]`)?.focus({ preventScroll: true });
  }

  foldAll() {
    this.openGroups = new Set([0]);
    this.unselect();
    this.draw();
    this.camera.fit();
  }

  /** Download the whole drawing, with the legend but without the selection. */
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
