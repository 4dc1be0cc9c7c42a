// The boxes and wires of a graph as SVG, coloured by time, bytes or gradient norm.
"use strict";

const TIPS = { down: "l-3.4 -7h6.8z", up: "l-3.4 7h6.8z", right: "l-7 -3.2v6.4z", left: "l7 -3.2v6.4z" };

class GraphDrawing {
  /**
   * `panel` has each node's edges. `press(key)` is called when a box ("n3") or a group ("g4") is clicked, and
   * `pressWire(source, edges)` when a wire is.
   */
  constructor(boxes, panel, press, pressWire) {
    Object.assign(this, { boxes, panel, press, pressWire });
    this.graph = boxes.graph;
    this.colour = this.graph.colour;
    this.scale = null; // the range of the colour scale
  }

  /** Draw the `visible` boxes, by key, at their `places`; `edges` between them: key -> key -> [edge]. */
  all(visible, places, edges) {
    this.scale = this.scaleOf([...visible.values()]);
    const groups = viz.svg("g"), wires = viz.svg("g"), boxes = viz.svg("g");
    for (const [key, place] of places.groups) {
      if (key !== "g0") groups.append(this.group(Number(key.slice(1)), place));
    }
    for (const wire of places.wires) wires.append(this.wire(wire, edges));
    for (const [key, place] of places.boxes) {
      const box = visible.get(key);
      boxes.append(...(box.group ? [this.foldedGroup(box, place)] : this.node(box, place)));
    }
    for (const tint of boxes.querySelectorAll(".tint")) tint.parentNode.classList.add("tinted");
    return [groups, wires, boxes];
  }

  /** The attributes and listeners that make an element a button. */
  handle(key, label) {
    return { "data-key": key, id: `box-${key}`, tabindex: "0", role: "button", "aria-label": label,
      onclick: (event) => {
        event.stopPropagation();
        this.press(key);
      },
      onkeydown: (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        event.stopPropagation();
        this.press(key);
      } };
  }

  // Boxes --------------------------------------------------------------------------------------------------

  /** The frame of an open group. */
  group(number, { x, y, width, height }) {
    const { line } = this.boxes.box(`g${number}`);
    let depth = 0;
    for (let at = number; at !== null; at = this.graph.groups[at].parent) depth++;
    const look = `group ${depth % 2 ? "odd" : "even"}`;
    const title = this.line(line, { class: "title", x: x + 12, y: y + 17 });
    return viz.svg("g", { class: look, ...this.handle(`g${number}`, `${lineText(line)}, open`) },
      viz.svg("rect", { class: "frame", x, y, width, height, rx: 7 }),
      viz.svg("rect", { class: "title-bar", x, y, width, height: 24 }), title);
  }

  /** The first line of a box, in parts. */
  line(parts, place) {
    const looks = { name: "name", kind: "kind sub", times: "name times" };
    return viz.svg("text", place, parts.map(([text, look], i) => (
      viz.svg("tspan", { class: looks[look], dx: i && look !== "times" ? 6 : null }, text))));
  }

  /** A folded group; a repeated one looks like a deck of cards. */
  foldedGroup(box, { x, y, width, height }) {
    const { line, below, deck } = box;
    const card = { width: width - 2 * deck, height: height - 2 * deck, rx: 6 };
    const middle = x + card.width / 2, half = y + card.height / 2;
    const bodies = (deck ? [2 * deck, deck, 0] : [0])
      .map((aside) => viz.svg("rect", { class: "body", x: x + aside, y: y + aside, ...card }));
    const label = `${lineText(line)}, ${below}, folded`;
    return viz.svg("g", { class: "box folded", ...this.handle(box.key, label) }, bodies,
      this.tint(box, { x, y, ...card }), this.line(line, { x: middle, y: half - 2 }),
      viz.svg("text", { class: "sub", x: middle, y: half + 14 }, below));
  }

  /** A node, and the leaves next to it. */
  node(box, place) {
    const { node, below, docks, side, height } = box;
    const x = place.x + side, middle = x + box.body / 2, half = place.y + height / 2;
    const body = { x, y: place.y, width: box.body, height, rx: node.kind === "op" ? 4 : 20 };
    const text = this.line(box.line, { x: middle, y: below ? half - 3 : half + 5 });
    const handle = this.handle(box.key, [...new Set([node.name, node.op, below])].filter(Boolean).join(" "));
    const element = viz.svg("g", { class: `box ${node.kind}`, ...handle },
      viz.svg("rect", { class: "body", ...body }), this.tint(box, body), text);
    if (below) element.append(viz.svg("text", { class: "sub", x: middle, y: half + 12 }, below));
    const first = place.y + (height - docks.length * DOCK.step + DOCK.step - DOCK.height) / 2;
    return [element, ...docks.map((dock, i) => this.dock(dock, first + DOCK.step * i, x))];
  }

  /** A leaf next to its reader, which begins at `edge`, and its wire. */
  dock(dock, y, edge) {
    const width = dock.wide, x = edge - DOCK.wire - width;
    const leaf = this.graph.nodes[dock.id], body = { x, y, width, height: DOCK.height, rx: 9 };
    const { forward, backward } = this.directions([this.panel.outgoing[dock.id][0]]);
    const offset = forward && backward ? 2.5 : 0, near = x + width, line = y + 9;
    const handle = this.handle(`n${dock.id}`, `${leaf.name}, ${leaf.kind}`);
    const element = viz.svg("g", { class: `box dock ${leaf.kind}`, ...handle },
      viz.svg("rect", { class: "body", ...body }), this.tint(dock, body),
      viz.svg("text", { class: "small", x: x + width / 2, y: y + 13 }, dock.text));
    const [over, under] = [line - offset, line + offset];
    if (forward) element.append(...this.arrow([[near, over], [edge, over]], "forward", "right"));
    if (backward) element.append(...this.arrow([[edge, under], [near, under]], "backward", "left"));
    return element;
  }

  // Wires --------------------------------------------------------------------------------------------------

  /** The directions of a wire. Without a gradient, backward shows only a faint line. */
  directions(edges) {
    const back = edges.some((edge) => edge.gradient !== null), { direction } = this.boxes;
    return { forward: direction !== "backward", backward: direction !== "forward" && back };
  }

  /** A segment of a wire, from one result to all its readers on this segment. */
  wire(wire, edges) {
    const { source, points } = wire, targets = [...wire.targets], path = wirePath(points);
    const results = targets.flatMap((target) => edges.get(source).get(target));
    const { forward, backward } = this.directions(results);
    const element = viz.svg("g", { class: "net", "data-source": source, "data-targets": targets.join(" ") });
    const shift = (dx) => points.map(([x, y]) => [x + dx, y]);
    const side = forward && backward ? 2.5 : 0; // two parallel lines
    if (forward) element.append(...this.arrow(shift(-side), "forward", wire.last ? "down" : "", -side));
    if (backward) element.append(...this.arrow(shift(side), "backward", wire.first ? "up" : "", side));
    if (!forward && !backward) element.append(viz.svg("path", { class: "wire", d: path, opacity: 0.3 }));
    element.append(viz.svg("path", { class: "reach", d: path, onclick: (event) => {
      event.stopPropagation();
      this.pressWire(source, results);
    } }, viz.svg("title", {}, results.length === 1 ? this.boxes.describe(results[0]) : `${results.length} results`)));
    return element;
  }

  /** A line, with an arrowhead at one of its ends. */
  arrow(points, kind, tip, offset = 0) {
    const line = points.map((point) => [...point]), [x, y] = tip === "up" ? points[0] : points.at(-1);
    if (tip === "down") line.at(-1)[1] -= 5;
    if (tip === "up") line[0][1] += 5;
    const path = line.length === 2 ? `M${line[0]}L${line[1]}` : wirePath(line, offset);
    const parts = [viz.svg("path", { class: `wire ${kind}`, d: path })];
    if (tip) parts.push(viz.svg("path", { class: `tip ${kind}`, d: `M${x} ${y}${TIPS[tip]}` }));
    return parts;
  }

  // Colour -------------------------------------------------------------------------------------------------

  /** The value that a box's colour encodes; null if unknown. */
  measure(box) {
    const part = box.group ? box.group.total : this.graph.nodes[box.id], { direction } = this.boxes;
    if (this.colour === "time") {
      const times = [direction === "backward" ? null : part.forward_seconds,
        direction === "forward" ? null : part.backward_seconds].filter((time) => time !== null);
      return times.length ? times.reduce((a, b) => a + b) : null;
    }
    const { values } = this.graph;
    if (this.colour === "bytes") return box.group ? part.bytes : values[part.value]?.bytes ?? null;
    if (this.colour === "gradient") return box.group ? part.gradient : normOf(values[part.gradient]);
    return null;
  }

  scaleOf(boxes) {
    const values = [...boxes, ...boxes.flatMap((box) => box.docks ?? [])].map((box) => this.measure(box))
      .filter((x) => Number.isFinite(x) && x > 0);
    return values.length ? { low: Math.min(...values), high: Math.max(...values) } : null;
  }

  /** A box's colour, on a logarithmic scale: an overlay, or nothing. */
  tint(box, body) {
    const value = this.measure(box);
    if (!(value > 0) || !Number.isFinite(value)) return [];
    const { low, high } = this.scale;
    const part = high > low ? Math.log(value / low) / Math.log(high / low) : 1;
    const opacity = (0.05 + 0.4 * part).toFixed(3);
    return [viz.svg("rect", { class: `tint ${this.colour}`, ...body, opacity })];
  }
}

/** The path of a wire segment: straight within a rank, curved between two. */
function wirePath([a, b, c, d], offset = 0) {
  if (Math.abs(b[0] - c[0]) < 0.6) return `M${a}L${d}`;
  const middle = (b[1] + c[1]) / 2 - offset * Math.sign(c[0] - b[0]);
  return `M${a}L${b}C${b[0]} ${middle} ${c[0]} ${middle} ${c}L${d}`;
}
