// What the boxes of a graph say, and how large they are for it. Nothing is drawn here.
"use strict";

const LONGEST = 30; // characters of a name in the drawing; the panel has all of it

class GraphBoxes {
  /** `names` are those of ops that are all there is in a module. */
  constructor(graph, names) {
    this.graph = graph;
    this.names = names;
    this.direction = graph.direction;
    this.reader = new Map(graph.docks); // of a leaf at the side of an op: the op
    this.docks = new Map(); // of such an op: these leaves
    for (const [leaf, op] of graph.docks) this.docks.set(op, [...(this.docks.get(op) ?? []), leaf]);
    this.pen = document.createElement("canvas").getContext("2d");
    this.fonts = new Map();
  }

  /** How wide a text is in pixels. */
  width(text, size, family = "sans") {
    const name = `${size} ${family}`;
    if (!this.fonts.has(name)) this.fonts.set(name, `${size}px ${viz.colour(family)}`);
    this.pen.font = this.fonts.get(name);
    return this.pen.measureText(text).width;
  }

  // Groups -------------------------------------------------------------------------------------------------

  folded(number) {
    const group = this.graph.groups[number], title = this.title(number), below = this.told(number);
    const deck = group.times ? 4 : 0; // that cards behind the first one stand out
    const text = Math.max(this.width(title.join(" "), 14, "serif"), this.width(below, 11));
    const size = { width: text + 30 + 2 * deck, height: deck ? 50 : 44 };
    return { key: `g${number}`, group, number, title, below, deck, ...size, port: 0 };
  }

  /** A group's name, how many modules it stands for, and what kind they are. */
  title(number) {
    const group = this.graph.groups[number];
    const module = group.kind === "section" ? null : this.graph.modules[group.path];
    return [cutName(group.label), group.times ? ` × ${group.times}` : "", module ? cutName(module.kind) : ""];
  }

  /** The second line of a folded group. */
  told(number) {
    const { total } = this.graph.groups[number], parts = [`${total.nodes} nodes`];
    if (this.direction !== "backward" && total.parameters) {
      parts.push(`${GraphPanel.count(total.parameters)} parameters`);
    }
    if (this.direction !== "forward" && total.gradient !== null) {
      parts.push(`∇ ${GraphPanel.number(total.gradient)}`);
    }
    return parts.join("  ·  ");
  }

  // Nodes --------------------------------------------------------------------------------------------------

  /** A node with the leaves at its side. */
  single(id) {
    const node = this.graph.nodes[id], line = this.lines(id).map((part) => part.text).join(" ");
    const body = Math.max(this.width(line, 13), this.width(this.below(id), 11), 28) + 22;
    const docks = (this.docks.get(id) ?? []).map((leaf) => ({ id: leaf, text: this.short(leaf) }));
    const side = docks.length ? Math.max(...docks.map((dock) => this.width(dock.text, 11) + 14)) + 16 : 0;
    const height = Math.max(40, docks.length * 21 - 3);
    return { key: `n${id}`, id, node, body, docks, side, width: body + side, height, port: side / 2 };
  }

  /** The parts of its first line: a name, and if it has one of its own what kind of op it is. */
  lines(id) {
    const node = this.graph.nodes[id], op = this.graph.ops[node.op]?.name ?? "";
    const module = this.names.get(id), kind = { text: cutName(op), kind: true };
    if (module) return [{ text: cutName(module), module: true }, { ...kind, text: cutName(node.name || op) }];
    if (node.kind === "op" && node.name && node.name !== op) return [{ text: this.short(id) }, kind];
    return [{ text: this.short(id) }];
  }

  /** A node's name without the path of the group around it. */
  short(id) {
    const node = this.graph.nodes[id], reader = this.reader.get(id);
    const path = this.names.has(reader) ? this.graph.nodes[reader].module
      : this.graph.groups[this.graph.groupOf[id]].path;
    const inner = path && node.name.startsWith(`${path}.`) ? node.name.slice(path.length + 1) : node.name;
    return cutName(inner || node.kind);
  }

  /** The second line of a node: shape or number, and of backward the gradient's norm or number. */
  below(id) {
    const node = this.graph.nodes[id], parts = [];
    const value = this.graph.values[node.value], gradient = this.graph.values[node.gradient];
    const single = (v) => v.table?.length === 1 && v.table[0].length === 1;
    if (this.direction !== "backward" && value) {
      parts.push(single(value) ? GraphPanel.number(value.table[0][0]) : GraphPanel.shape(value));
    }
    if (this.direction !== "forward" && gradient) {
      parts.push(`∇ ${GraphPanel.number(single(gradient) ? gradient.table[0][0] : normOf(gradient))}`);
    }
    return parts.join("  ·  ");
  }

  /** What a result is, for the pointer on its wire. */
  tell(edge) {
    const node = this.graph.nodes[edge.source], gradient = this.graph.values[edge.gradient];
    const value = this.graph.values[node.value], parts = [cutName(node.name)];
    if (value) parts.push(GraphPanel.shape(value));
    if (gradient) parts.push(`∇ ${GraphPanel.number(normOf(gradient))}`);
    return parts.join("  ·  ");
  }
}

/** The Euclidean norm of a value, null where there is none. */
function normOf(value) {
  if (!value) return null;
  if (value.table) return Math.hypot(...value.table.flat().map(viz.number));
  return viz.number(value.statistics?.norm ?? NaN);
}

/** A long name without its middle; in one line. */
function cutName(text) {
  const letters = [...text.replace(/\s+/g, " ")];
  if (letters.length <= LONGEST) return letters.join("");
  return `${letters.slice(0, LONGEST / 2).join("")}…${letters.slice(-LONGEST / 2 + 1).join("")}`;
}
