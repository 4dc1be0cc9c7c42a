// The page of a compute graph: boxes that open, a drawing to move about in, and a panel about what was clicked.
"use strict";

const LONGEST = 30; // characters of a name in the drawing; the panel has all of it
const SMALLEST = 0.62; // the scale below which groups are closed until the drawing fits

class GraphView {
  constructor(graph) {
    this.graph = graph;
    this.panel = new GraphPanel(graph, (key) => this.reveal(key));
    this.opened = new Set(graph.opened);
    this.direction = graph.direction;
    this.colour = graph.colour;
    this.selected = null;
    this.at = { x: 0, y: 0, scale: 1 };
    this.svg = document.getElementById("drawing");
    this.port = viz.svg("g", { id: "port" });
    this.svg.append(this.port);
    this.pen = document.createElement("canvas").getContext("2d");
    this.docks = this.findDocks();
    this.names = new Map(graph.names);
    this.legend = viz.el("div", { id: "legend" });
    document.querySelector("main").append(this.legend);
    this.bar();
    this.pointer();
    document.addEventListener("keydown", (event) => this.key(event));
    viz.theme.changed(() => document.querySelectorAll("#panel canvas").forEach((c) => c.dispatchEvent(new Event("repaint"))));
    this.startFolded();
    this.draw();
    this.fit();
    window.addEventListener("resize", () => { if (!this.moved) this.fit(); });
  }

  // What is visible ----------------------------------------------------------------------------------------

  /** Leaves that stand at the side of the op that reads them: leaf -> op, and op -> leaves. */
  findDocks() {
    const at = new Map();
    for (const [leaf, op] of this.graph.docks) at.set(op, [...(at.get(op) ?? []), leaf]);
    return { of: new Map(this.graph.docks), at };
  }

  /** The key of the box that shows a node. */
  boxOf(id) {
    let key = `n${this.docks.of.get(id) ?? id}`;
    for (let g = this.graph.groupOf[id]; g !== null; g = this.graph.groups[g].parent) if (!this.opened.has(g)) key = `g${g}`;
    return key;
  }

  /** The tree of what is visible, for the layout. */
  tree(number = 0) {
    const group = this.graph.groups[number];
    const children = [];
    for (const key of group.children) {
      const id = Number(key.slice(1));
      if (key[0] === "g") children.push(this.opened.has(id) ? this.tree(id) : this.folded(id));
      else if (!this.docks.of.has(id)) children.push(this.single(id));
    }
    const title = number ? this.width(this.title(number).join("  "), 13) + 24 : 0;
    return { key: `g${number}`, children, title };
  }

  width(text, size, family = "sans") {
    const name = `${size} ${family}`;
    if (this.fonts?.[name] === undefined) (this.fonts ??= {})[name] = `${size}px ${viz.colour(family)}`;
    this.pen.font = this.fonts[name];
    return this.pen.measureText(text).width;
  }

  /** A node with the leaves at its side. */
  single(id) {
    const node = this.graph.nodes[id];
    const lines = this.lines(id);
    const body = Math.max(this.width(lines.map((part) => part.text).join(" "), 13), this.width(this.below(id), 11), 28) + 22;
    const docks = (this.docks.at.get(id) ?? []).map((leaf) => ({ id: leaf, text: this.short(leaf) }));
    const side = docks.length ? Math.max(...docks.map((dock) => this.width(dock.text, 11) + 14)) + 16 : 0;
    return { key: `n${id}`, id, node, body, docks, side, width: body + side, height: Math.max(40, docks.length * 21 - 3), port: side / 2 };
  }

  folded(number) {
    const group = this.graph.groups[number];
    const [label, kind] = this.title(number);
    const times = group.kind === "repeat" ? ` × ${group.children.length}` : "";
    const below = this.told(number);
    const width = Math.max(this.width(`${label} ${kind}${times}`, 14, "serif"), this.width(below, 11)) + 30;
    return { key: `g${number}`, group, number, label, kind, times, below, width: width + (times ? 8 : 0), height: times ? 50 : 44, port: 0 };
  }

  title(number) {
    const group = this.graph.groups[number];
    const module = group.kind === "section" ? null : this.graph.modules[group.path];
    return [cutName(GraphPanel.label(this.graph, number)), module ? cutName(module.kind) : ""];
  }

  /** The second line of a folded group. */
  told(number) {
    const { total } = this.graph.groups[number], parts = [];
    parts.push(`${total.nodes} nodes`);
    if (this.direction !== "backward" && total.parameters) parts.push(`${shortCount(total.parameters)} parameters`);
    if (this.direction !== "forward" && total.gradient !== null) parts.push(`∇ ${viz.format(total.gradient)}`);
    return parts.join("  ·  ");
  }

  lines(id) {
    const node = this.graph.nodes[id], op = this.graph.ops[node.op]?.name ?? "";
    const name = this.short(id);
    if (this.names.has(id)) return [{ text: cutName(this.names.get(id)), module: true }, { text: cutName(node.name || op), kind: true }];
    return node.kind === "op" && node.name && node.name !== op ? [{ text: name }, { text: cutName(op), kind: true }] : [{ text: name || op || node.kind }];
  }

  /** A node's name without the path of the group around it. */
  short(id) {
    const node = this.graph.nodes[id];
    const path = this.graph.groups[this.graph.groupOf[id]].path;
    const reader = this.docks.of.get(id);
    const inner = reader !== undefined && this.names.has(reader) ? this.graph.nodes[reader].module : path;
    return cutName(inner && node.name.startsWith(`${inner}.`) ? node.name.slice(inner.length + 1) : node.name || node.kind);
  }

  /** The second line of a node: shape or number, and of backward the gradient's norm or number. */
  below(id) {
    const node = this.graph.nodes[id], parts = [];
    const value = this.graph.values[node.value], gradient = this.graph.values[node.gradient];
    const single = (v) => v?.table?.length === 1 && v.table[0].length === 1;
    if (this.direction !== "backward" && value) parts.push(single(value) ? viz.format(value.table[0][0]).replace("-", "−") : GraphPanel.shape(value));
    if (this.direction !== "forward" && gradient) parts.push(`∇ ${viz.format(single(gradient) ? gradient.table[0][0] : normOf(gradient))}`.replace("-", "−"));
    return parts.join("  ·  ");
  }

  // Layout -------------------------------------------------------------------------------------------------

  /** Close groups, the innermost first, until all fits the window at a size that can be read. */
  startFolded() {
    const inner = (g) => { let depth = 0; for (let at = g; at !== null; at = this.graph.groups[at].parent) depth++; return depth; };
    for (;;) {
      this.layout();
      const open = [...this.opened].filter((g) => g && this.places.groups.has(`g${g}`));
      if (!open.length || this.scaleToFit() >= SMALLEST) return;
      open.sort((a, b) => inner(b) - inner(a) || this.graph.groups[b].children.length - this.graph.groups[a].children.length);
      this.opened.delete(open[0]);
    }
  }

  layout() {
    this.boxes = new Map();
    const root = this.tree();
    const index = (group) => group.children.forEach((child) => (child.children ? index(child) : this.boxes.set(child.key, child)));
    index(root);
    const found = new Map();
    for (const edge of this.graph.edges) {
      const source = this.boxOf(edge.source), target = this.boxOf(edge.target);
      if (source === target) continue;
      const name = `${source} ${target}`;
      if (!found.has(name)) found.set(name, { source, target, edges: [], backward: false });
      found.get(name).edges.push(edge);
      if (edge.gradient !== null) found.get(name).backward = true;
    }
    this.wires = [...found.values()];
    this.places = graphLayout.run(root, this.wires);
  }

  // Drawing ------------------------------------------------------------------------------------------------

  draw() {
    const focus = document.activeElement?.dataset?.key;
    this.layout();
    const groups = viz.svg("g"), wires = viz.svg("g"), boxes = viz.svg("g"), titles = viz.svg("g");
    for (const [key, place] of this.places.groups) if (key !== "g0") groups.append(this.drawGroup(Number(key.slice(1)), place));
    for (const wire of this.places.wires) wires.append(...this.drawWire(wire));
    this.scale = this.scaleOf();
    for (const [key, place] of this.places.boxes) {
      const box = this.boxes.get(key);
      boxes.append(...(box.group ? [this.drawFolded(box, place)] : this.drawNode(box, place)));
    }
    this.port.replaceChildren(groups, wires, boxes, titles);
    for (const tint of boxes.querySelectorAll(".tint")) tint.parentNode.classList.add("tinted");
    this.drawLegend();
    this.mark();
    if (focus) this.element(focus)?.focus({ preventScroll: true });
  }

  element(key) { return this.port.querySelector(`[data-key="${key}"]`); }

  handle(key, told, act) {
    return { "data-key": key, id: `box-${key}`, tabindex: "0", role: "button", "aria-label": told,
      onclick: (event) => { event.stopPropagation(); if (!this.dragged) act(); },
      onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); event.stopPropagation(); act(); } } };
  }

  drawGroup(number, { x, y, width, height }) {
    const [label, kind] = this.title(number), key = `g${number}`;
    let depth = 0;
    for (let at = number; at !== null; at = this.graph.groups[at].parent) depth++;
    const made = viz.svg("g", { class: `group ${depth % 2 ? "odd" : "even"}`, ...this.handle(key, `${label} ${kind}, open`, () => this.close(number)) },
      viz.svg("rect", { class: "frame", x, y, width, height, rx: 7 }),
      viz.svg("rect", { class: "bar-of", x, y, width, height: 24 }),
      viz.svg("text", { class: "title", x: x + 12, y: y + 17 }, label, viz.svg("tspan", { class: "kind", dx: 7 }, kind)));
    return made;
  }

  drawFolded(box, { x, y, width, height }) {
    const middle = x + width / 2;
    const made = viz.svg("g", { class: "box folded", ...this.handle(box.key, `${box.label} ${box.kind}${box.times}, ${box.below}, folded`, () => this.open(box.number)) });
    const deck = box.times ? 4 : 0;
    const card = { width: width - 2 * deck, height: height - 2 * deck, rx: 6 };
    for (let i = 2; i >= 1 && deck; i--) made.append(viz.svg("rect", { class: "body", x: x + deck * i, y: y + deck * i, ...card }));
    made.append(viz.svg("rect", { class: "body", x, y, ...card, ...(deck ? {} : { width, height }) }), ...this.tint(box, x, y, deck ? card.width : width, deck ? card.height : height, 6));
    const centre = middle - deck, line = y + (height - 2 * deck) / 2;
    made.append(viz.svg("text", { class: "name", x: centre, y: line - 2 }, box.label, box.times ? viz.svg("tspan", { "font-weight": "600" }, box.times) : "",
      box.kind ? viz.svg("tspan", { class: "kind sub", dx: 6 }, box.kind) : ""),
    viz.svg("text", { class: "sub", x: centre, y: line + 14 }, box.below));
    return made;
  }

  drawNode(box, place) {
    const { node, body, docks, side, height } = box;
    const x = place.x + side, y = place.y + (height - 40) / 2, middle = x + body / 2;
    const below = this.below(box.id);
    const made = viz.svg("g", { class: `box ${node.kind}`, ...this.handle(box.key, `${node.name} ${node.op} ${below}`, () => this.select(box.key)) },
      viz.svg("rect", { class: "body", x, y, width: body, height: 40, rx: node.kind === "op" ? 4 : 20 }), ...this.tint(box, x, y, body, 40, node.kind === "op" ? 4 : 20));
    const text = viz.svg("text", { x: middle, y: below ? y + 17 : y + 25 });
    this.lines(box.id).forEach((part, i) => text.append(viz.svg("tspan", { class: part.kind ? "kind sub" : part.module ? "name" : null, dx: i ? 6 : null }, part.text)));
    made.append(text);
    if (below) made.append(viz.svg("text", { class: "sub", x: middle, y: y + 32 }, below));
    return [made, ...docks.map((dock, i) => this.drawDock(dock, place.x, place.y + (height - docks.length * 21 + 3) / 2 + i * 21, side, x))];
  }

  /** A leaf at the side of its reader, and its wire. */
  drawDock(dock, x, y, side, edge) {
    const key = `n${dock.id}`, width = side - 16;
    const { forward, backward } = this.directions([this.panel.out[dock.id][0]]);
    const made = viz.svg("g", { class: `box dock ${this.graph.nodes[dock.id].kind}`, ...this.handle(key, `${this.graph.nodes[dock.id].name}, ${this.graph.nodes[dock.id].kind}`, () => this.select(key)) },
      viz.svg("rect", { class: "body", x, y, width, height: 18, rx: 9 }), ...this.tint({ id: dock.id }, x, y, width, 18, 9),
      viz.svg("text", { class: "small", x: x + width / 2, y: y + 13 }, dock.text));
    const lines = viz.svg("g");
    const at = (dy) => y + 9 + dy;
    if (forward) lines.append(...this.arrow([[x + width, at(backward ? -2.5 : 0)], [edge, at(backward ? -2.5 : 0)]], "forward", "right"));
    if (backward) lines.append(...this.arrow([[edge, at(forward ? 2.5 : 0)], [x + width, at(forward ? 2.5 : 0)]], "backward", "left"));
    made.append(lines);
    return made;
  }

  /** Which of its two lines a wire has. Where nothing goes back, backward shows a faint line without a tip. */
  directions(edges) {
    const back = edges.some((edge) => edge.gradient !== null);
    return { forward: this.direction !== "backward", backward: this.direction !== "forward" && back };
  }

  drawWire(wire) {
    const merged = this.wires.filter((each) => each.source === wire.source && wire.targets.has(each.target));
    const edges = merged.flatMap((each) => each.edges);
    const { forward, backward } = this.directions(edges);
    const data = { "data-source": wire.source, "data-targets": [...wire.targets].join(" ") };
    const group = viz.svg("g", { class: "net", ...data });
    const moved = (dx) => wire.points.map(([x, y]) => [x + dx, y]);
    const side = forward && backward ? 2.5 : 0; // two lines beside each other
    if (forward) group.append(...this.arrow(moved(-side), "forward", wire.last ? "down" : "", -side));
    if (backward) group.append(...this.arrow(moved(side), "backward", wire.first ? "up" : "", side));
    if (!forward && !backward) group.append(viz.svg("path", { class: "wire", d: wirePath(wire.points), opacity: 0.3 }));
    const told = edges.length === 1 ? this.tell(edges[0]) : `${edges.length} results`;
    group.append(viz.svg("path", { class: "reach", d: wirePath(wire.points), onclick: (event) => {
      event.stopPropagation();
      if (!this.dragged) this.show(`w${wire.source}`, this.panel.wire(edges), new Set([wire.source, ...wire.targets]));
    } }, viz.svg("title", {}, told)));
    return [group];
  }

  tell(edge) {
    const value = this.graph.values[this.graph.nodes[edge.source].value], gradient = this.graph.values[edge.gradient];
    return [cutName(this.graph.nodes[edge.source].name), value && GraphPanel.shape(value), gradient && `∇ ${viz.format(normOf(gradient))}`].filter(Boolean).join("  ·  ");
  }

  /** A line, and the tip at one of its ends. */
  arrow(points, kind, tip, beside = 0) {
    const [x, y] = tip === "up" ? points[0] : points.at(-1);
    const shape = { down: `M${x} ${y}l-3.4 -7h6.8z`, up: `M${x} ${y}l-3.4 7h6.8z`, right: `M${x} ${y}l-7 -3.2v6.4z`, left: `M${x} ${y}l7 -3.2v6.4z` }[tip];
    const line = points.map((point) => [...point]);
    if (tip === "down") line.at(-1)[1] -= 5;
    if (tip === "up") line[0][1] += 5;
    return [viz.svg("path", { class: `wire ${kind}`, d: tip === "right" || tip === "left" ? `M${line[0]}L${line[1]}` : wirePath(line, beside) }),
      ...(shape ? [viz.svg("path", { class: `tip ${kind}`, d: shape })] : [])];
  }

  // Colour -------------------------------------------------------------------------------------------------

  measure(box) {
    const part = box.group ? box.group.total : this.graph.nodes[box.id];
    if (this.colour === "time") {
      const times = [this.direction === "backward" ? null : part.forward_seconds, this.direction === "forward" ? null : part.backward_seconds];
      const known = times.filter((time) => time !== null && time !== undefined);
      return known.length ? known.reduce((a, b) => a + b) : null;
    }
    if (this.colour === "bytes") return box.group ? part.bytes : this.graph.values[part.value]?.bytes ?? null;
    if (this.colour === "gradient") return box.group ? part.gradient : normOf(this.graph.values[part.gradient]);
    return null;
  }

  scaleOf() {
    const docked = [...this.boxes.values()].flatMap((box) => box.docks ?? []);
    const known = [...this.boxes.values(), ...docked].map((box) => this.measure(box)).filter((x) => x !== null && Number.isFinite(x) && x > 0);
    return known.length ? { low: Math.min(...known), high: Math.max(...known) } : null;
  }

  tint(box, x, y, width, height, rx) {
    const value = this.measure(box);
    if (value === null || !(value > 0) || !this.scale) return [];
    const { low, high } = this.scale;
    const part = high > low ? Math.log(Math.min(value, high) / low) / Math.log(high / low) : 1;
    return [viz.svg("rect", { class: `tint ${this.colour}`, x, y, width, height, rx, opacity: (0.05 + 0.4 * part).toFixed(3) })];
  }

  drawLegend() {
    const parts = [];
    const sample = (name, text) => viz.el("span", {}, viz.el("span", { class: `sample ${name}` }), text);
    if (this.direction !== "backward") parts.push(sample("forward", "results"));
    if (this.direction !== "forward" && this.graph.backward === "done") parts.push(sample("backward", "gradients"));
    if (this.direction !== "forward" && this.graph.backward === "none") parts.push(viz.el("span", { class: "told" }, "no backward yet: there are no gradients to show"));
    if (this.colour !== "none") {
      const name = { time: "seconds", bytes: "bytes", gradient: "gradient norm" }[this.colour];
      const write = { time: GraphPanel.seconds, bytes: GraphPanel.bytes, gradient: viz.format }[this.colour];
      const ink = { time: "minus", bytes: "accent", gradient: "backward" }[this.colour];
      const mix = (part) => `color-mix(in srgb, var(--${ink}) ${part}%, var(--field))`;
      parts.push(this.scale ? viz.el("span", { class: "bar" }, `${name === "seconds" ? "time" : name} ${write(this.scale.low)}`,
        viz.el("span", { class: "ramp", style: `background: linear-gradient(to right, ${mix(5)}, ${mix(45)})` }), write(this.scale.high)) : viz.el("span", {}, `no ${name} known`));
    }
    this.legend.replaceChildren(...parts);
  }

  // Opening, selecting -------------------------------------------------------------------------------------

  open(number) {
    const before = this.places.boxes.get(`g${number}`);
    for (const each of [number, ...this.graph.groups[number].opens]) this.opened.add(each);
    this.redraw(before, `g${number}`);
  }

  close(number) {
    const before = this.places.groups.get(`g${number}`);
    this.opened.delete(number);
    this.redraw(before, `g${number}`);
  }

  /** Draw with a group opened or closed: it stays where it was on the screen, as far as it fits. */
  redraw(before, key) {
    const corner = before && { x: before.x * this.at.scale + this.at.x, y: before.y * this.at.scale + this.at.y };
    this.draw();
    const place = this.places.groups.get(key) ?? this.places.boxes.get(key);
    if (!this.moved && this.scaleToFit() >= SMALLEST) this.fit();
    else {
      if (corner) this.look({ x: corner.x - place.x * this.at.scale, y: corner.y - place.y * this.at.scale, scale: this.at.scale });
      this.bring(place);
    }
    this.element(key)?.focus({ preventScroll: true });
    this.select(key);
  }

  /** Move, and if it must be shrink, so that a place is in the window. */
  bring(place) {
    const { width, height } = this.svg.getBoundingClientRect(), margin = 24;
    const least = place.width > 400 || place.height > 200 ? 0.4 : Math.max(this.at.scale, 0.7);
    const fit = Math.min((width - 2 * margin) / place.width, (height - 2 * margin) / place.height);
    const scale = Math.min(Math.max(this.at.scale, Math.min(0.7, fit)), Math.max(fit, least));
    const middle = { x: place.x + place.width / 2, y: place.y + place.height / 2 };
    if (scale !== this.at.scale) this.look({ scale, x: width / 2 - middle.x * scale, y: height / 2 - middle.y * scale });
    const into = (low, size, room) => (size * scale > room - 2 * margin ? margin - low * scale
      : null);
    let { x, y } = this.at;
    x = into(place.x, place.width, width) ?? Math.min(Math.max(x, margin - place.x * scale), width - margin - (place.x + place.width) * scale);
    y = into(place.y, place.height, height) ?? Math.min(Math.max(y, margin - place.y * scale), height - margin - (place.y + place.height) * scale);
    this.look({ x, y, scale });
    this.moved = true;
  }

  /** Open all that is around a box, select it, and look at it. */
  reveal(key) {
    const number = Number(key.slice(1));
    let changed = false;
    for (let g = key[0] === "n" ? this.graph.groupOf[number] : this.graph.groups[number].parent; g !== null; g = this.graph.groups[g].parent) {
      if (!this.opened.has(g)) { this.opened.add(g); changed = true; }
    }
    if (changed) this.draw();
    this.select(key);
    this.bring(this.placeOf(key));
    this.element(key)?.focus({ preventScroll: true });
  }

  placeOf(key) {
    const shown = key[0] === "n" ? `n${this.docks.of.get(Number(key.slice(1))) ?? key.slice(1)}` : key;
    return this.places.boxes.get(shown) ?? this.places.groups.get(shown);
  }

  select(key) {
    const number = Number(key.slice(1));
    const content = key[0] === "n" ? this.panel.node(number)
      : this.panel.group(number, this.opened.has(number), () => (this.opened.has(number) ? this.close(number) : this.open(number)));
    this.show(key, content);
  }

  show(key, content, around = null) {
    this.selected = key;
    this.around = around;
    const panel = document.getElementById("panel");
    const first = panel.hidden;
    panel.replaceChildren(viz.el("button", { class: "close", type: "button", title: "close (Escape)", "aria-label": "close", onclick: () => this.unselect() }, "✕"), ...content.filter((part) => part !== ""));
    panel.hidden = false;
    panel.scrollTop = 0;
    if (first && !this.moved) this.fit();
    this.mark();
  }

  unselect() {
    this.selected = this.around = null;
    document.getElementById("panel").hidden = true;
    if (!this.moved) this.fit();
    this.mark();
  }

  /** Show what belongs to the selection: its wires, and what keeps its array alive. */
  mark() {
    const key = this.selected;
    const shown = key && key[0] === "n" ? this.boxOf(Number(key.slice(1))) : key;
    for (const node of this.port.querySelectorAll(".selected, .keeps")) node.classList.remove("selected", "keeps");
    if (key) (this.element(key) ?? this.element(shown))?.classList.add("selected");
    if (key?.[0] === "n") for (const each of this.panel.keepers[Number(key.slice(1))]) this.element(this.boxOf(each.node))?.classList.add("keeps");
    for (const net of this.port.querySelectorAll(".net")) {
      const ends = [net.dataset.source, ...net.dataset.targets.split(" ")];
      const near = this.around ? net.dataset.source === key.slice(1) : shown && ends.includes(shown);
      net.classList.toggle("away", Boolean(shown && this.port.querySelector(".selected") && !near && key[0] === "n"));
      for (const line of net.querySelectorAll(".wire")) line.classList.toggle("near", Boolean(near && key));
    }
  }

  // Looking ------------------------------------------------------------------------------------------------

  scaleToFit() {
    const { width, height } = this.svg.getBoundingClientRect();
    return Math.min(width / (this.places.width + 16), height / (this.places.height + 16), 1.15);
  }

  fit() {
    const { width, height } = this.svg.getBoundingClientRect(), scale = this.scaleToFit();
    this.look({ scale, x: (width - this.places.width * scale) / 2, y: (height - this.places.height * scale) / 2 });
    this.moved = false;
  }

  look({ x, y, scale }) {
    this.at = { x, y, scale };
    this.port.setAttribute("transform", `translate(${x} ${y}) scale(${scale})`);
  }

  zoom(factor, x, y) {
    const box = this.svg.getBoundingClientRect();
    x ??= box.width / 2;
    y ??= box.height / 2;
    const scale = Math.min(Math.max(this.at.scale * factor, 0.05), 4);
    const change = scale / this.at.scale;
    this.look({ scale, x: x - (x - this.at.x) * change, y: y - (y - this.at.y) * change });
    this.moved = true;
  }

  /** Drag with one pointer, zoom with the wheel or with two. */
  pointer() {
    const down = new Map();
    let start = null;
    const spread = () => { const [a, b] = [...down.values()]; return Math.hypot(a.x - b.x, a.y - b.y); };
    this.svg.addEventListener("pointerdown", (event) => {
      down.set(event.pointerId, { x: event.clientX, y: event.clientY });
      start = { x: event.clientX, y: event.clientY };
      this.dragged = false;
    });
    window.addEventListener("pointermove", (event) => {
      const last = down.get(event.pointerId);
      if (!last) return;
      const before = down.size === 2 ? spread() : 0;
      down.set(event.pointerId, { x: event.clientX, y: event.clientY });
      const box = this.svg.getBoundingClientRect();
      if (down.size === 2) this.zoom(spread() / before, event.clientX - box.left, event.clientY - box.top);
      else if (this.dragged || Math.hypot(event.clientX - start.x, event.clientY - start.y) > 4) {
        this.dragged = this.moved = true;
        this.svg.classList.add("moving");
        this.look({ x: this.at.x + event.clientX - last.x, y: this.at.y + event.clientY - last.y, scale: this.at.scale });
      }
    });
    for (const name of ["pointerup", "pointercancel"]) window.addEventListener(name, (event) => { down.delete(event.pointerId); this.svg.classList.remove("moving"); });
    this.svg.addEventListener("click", () => { if (!this.dragged) this.unselect(); });
    this.svg.addEventListener("wheel", (event) => {
      event.preventDefault();
      const box = this.svg.getBoundingClientRect();
      this.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), event.clientX - box.left, event.clientY - box.top);
    }, { passive: false });
  }

  key(event) {
    const typing = event.target.matches?.("input, select, textarea");
    if (event.key === "Escape") { if (!typing) this.unselect(); return; }
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "/") { event.preventDefault(); document.getElementById("search").focus(); }
    else if (event.key === "0") this.fit();
    else if (event.key === "+" || event.key === "=") this.zoom(1.25);
    else if (event.key === "-") this.zoom(0.8);
    else if (event.key.startsWith("Arrow") && event.target.closest?.("#drawing")) { event.preventDefault(); this.step(event.key.slice(5)); }
  }

  /** From the box in focus to the nearest one in a direction. */
  step(direction) {
    const all = [...this.places.boxes, ...[...this.places.groups].filter(([key]) => key !== "g0")];
    const from = document.activeElement?.dataset?.key;
    const here = from && this.placeOf(from);
    const middle = ({ x, y, width, height }) => [x + width / 2, y + height / 2];
    if (!here) return this.element(all[0]?.[0])?.focus({ preventScroll: true });
    const [x, y] = middle(here), across = direction === "Left" || direction === "Right";
    const sign = direction === "Left" || direction === "Up" ? -1 : 1;
    let best = null, least = Infinity;
    for (const [key, place] of all) {
      const [px, py] = middle(place), along = sign * (across ? px - x : py - y), aside = Math.abs(across ? py - y : px - x);
      if (key !== from && along > 2 && along + 2 * aside < least) { least = along + 2 * aside; best = key; }
    }
    if (!best) return undefined;
    this.element(best).focus({ preventScroll: true });
    return this.bring(this.placeOf(best));
  }

  // The bar ------------------------------------------------------------------------------------------------

  bar() {
    const choice = (id, label, values, get, set) => {
      const buttons = values.map(([value, text, title]) => viz.el("button", { type: "button", "data-value": value, title, "aria-pressed": String(get() === value), onclick: () => {
        set(value);
        for (const each of buttons) each.setAttribute("aria-pressed", String(each.dataset.value === value));
        this.redrawn();
      } }, text));
      return viz.el("div", { class: "choice", id, role: "group", "aria-label": label }, buttons);
    };
    const button = (id, text, title, act) => viz.el("button", { id, type: "button", title, onclick: act }, text);
    const colours = [["none", "no colour"], ["time", "time"], ["bytes", "bytes"], ["gradient", "gradient norm"]];
    const colour = viz.el("select", { id: "colour", onchange: () => { this.colour = colour.value; this.redrawn(); } },
      colours.map(([value, text]) => viz.el("option", { value, selected: value === this.colour }, text)));
    document.querySelector("#graph > header").append(
      viz.el("h1", { title: this.graph.title }, this.graph.title),
      choice("direction", "direction", [["forward", "Forward", "results"], ["backward", "Backward", "gradients"], ["both", "Both", "results and gradients"]],
        () => this.direction, (value) => { this.direction = value; }),
      viz.el("label", {}, viz.el("span", { class: "quiet" }, "Colour "), colour),
      viz.el("div", { class: "choice" }, button("fold", "Fold all", "close every group", () => this.foldAll()), button("fit", "Fit", "all of it in the window (0)", () => this.fit()),
        button("closer", "+", "closer (+)", () => this.zoom(1.25)), button("farther", "−", "farther (−)", () => this.zoom(0.8))),
      this.search(),
      button("save", "Save SVG", "the drawing as it is", () => this.save()),
      viz.theme.button());
  }

  redrawn() {
    this.draw();
    if (this.selected && this.selected[0] !== "w") this.select(this.selected);
  }

  foldAll() {
    this.opened = new Set([0]);
    this.unselect();
    this.draw();
    this.fit();
  }

  search() {
    const list = viz.el("ul", { id: "found", role: "listbox", "aria-label": "found", hidden: true });
    let keys = [], at = 0;
    const choose = (i) => { list.hidden = true; input.value = ""; this.reveal(keys[i]); };
    const mark = () => [...list.children].forEach((item, i) => { item.setAttribute("aria-selected", String(i === at)); if (i === at) item.scrollIntoView({ block: "nearest" }); });
    const input = viz.el("input", { id: "search", type: "search", placeholder: "Search: name, op, module, shape", "aria-label": "search", autocomplete: "off", oninput: () => {
      const found = this.find(input.value);
      keys = found.map(([key]) => key);
      at = 0;
      list.replaceChildren(...found.map(([, name, told], i) => viz.el("li", { role: "option", onclick: () => choose(i) }, name, " ", viz.el("span", { class: "quiet" }, told))));
      if (!found.length) list.append(viz.el("li", { class: "quiet" }, "nothing found"));
      list.hidden = !input.value.trim();
      mark();
    }, onkeydown: (event) => {
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        event.preventDefault();
        at = Math.min(Math.max(at + (event.key === "ArrowDown" ? 1 : -1), 0), Math.max(keys.length - 1, 0));
        mark();
      } else if (event.key === "Enter" && keys.length && !list.hidden) choose(at);
      else if (event.key === "Escape") { list.hidden = true; input.blur(); }
    }, onblur: () => setTimeout(() => { list.hidden = true; }, 200) });
    return viz.el("div", { class: "find last" }, input, list);
  }

  /** Nodes and groups that have all the words: [key, name, what it is]. */
  find(text) {
    const plain = (words) => words.toLowerCase().replace(/\s*[×,]\s*(?=\d)/g, ",");
    const words = plain(text).split(/\s+/).filter(Boolean).map((word) => word.replace(/^[([](?=\d)|(?<=\d),?[)\]]$/g, ""));
    if (!words.length) return [];
    const all = [];
    this.graph.groups.forEach((group, g) => {
      if (g && group.kind === "module" && group.children.length) all.push([`g${g}`, group.path, this.graph.modules[group.path]?.kind ?? "module", 1]);
    });
    for (const node of this.graph.nodes) {
      const value = this.graph.values[node.value];
      const op = node.kind === "op" ? this.graph.ops[node.op]?.name ?? node.op : node.kind;
      all.push([`n${node.id}`, node.name || op, [op === node.name ? "" : op, this.names.get(node.id), value && GraphPanel.shape(value), node.module].filter(Boolean).join(" · "), 0]);
    }
    const score = (name) => (name.toLowerCase() === text.toLowerCase().trim() ? 0 : 1);
    return all.filter(([, name, told]) => { const where = plain(`${name} ${told}`); return words.every((word) => where.includes(word)); })
      .sort((a, b) => score(a[1]) - score(b[1])).slice(0, 60);
  }

  save() {
    const { width, height } = this.places, before = this.at;
    const selected = this.selected;
    this.selected = null;
    this.mark();
    this.look({ x: 0, y: 0, scale: 1 });
    for (const [name, value] of [["viewBox", `0 0 ${width} ${height}`], ["width", width], ["height", height]]) this.svg.setAttribute(name, value);
    viz.saveSvg(this.svg, "graph.svg");
    for (const name of ["viewBox", "width", "height"]) this.svg.removeAttribute(name);
    this.look(before);
    this.selected = selected;
    this.mark();
  }
}

/** The path of a piece of wire: straight within a rank, bent between two. */
function wirePath([a, b, c, d], beside = 0) {
  if (Math.abs(b[0] - c[0]) < 0.6) return `M${a}L${d}`;
  const middle = (b[1] + c[1]) / 2 - beside * Math.sign(c[0] - b[0]);
  return `M${a}L${b}C${b[0]} ${middle} ${c[0]} ${middle} ${c}L${d}`;
}

function normOf(value) {
  if (!value) return null;
  return value.table ? Math.hypot(...value.table.flat().map(viz.number)) : viz.number(value.statistics?.norm ?? NaN);
}

/** A long name without its middle; in one line. */
function cutName(text) {
  const letters = [...text.replace(/\s+/g, " ")];
  if (letters.length <= LONGEST) return letters.join("");
  return `${letters.slice(0, LONGEST / 2).join("")}…${letters.slice(-LONGEST / 2 + 1).join("")}`;
}

function shortCount(count) {
  for (const [unit, size] of [["G", 1e9], ["M", 1e6], ["k", 1e3]]) if (count >= size) return `${Number((count / size).toPrecision(3))} ${unit}`;
  return String(count);
}

viz.data().then((graph) => { window.graphView = new GraphView(graph); document.body.dataset.state = "done"; });
