// The boxes of a graph, for the layout. Their labels are in the page's data (minigrad/viz/graph/fold.py).
"use strict";

const LONGEST = 40; // characters of a name in the drawing; the panel shows the whole name
const DOCK = { height: 18, step: 21, wire: 16 }; // a leaf next to an op
const FONTS = { text: "13px --sans", kind: "11px --sans", name: "14px --serif", times: "600 14px --serif",
  title: "13px --serif" }; // keep in sync with graph.css

class GraphBoxes {
  /** `names`: for ops that are the only op in their module. */
  constructor(graph, names) {
    this.graph = graph;
    this.names = names;
    this.direction = graph.direction;
    this.reader = new Map(graph.docks); // for a leaf next to an op: the op
  }

  /** A box by its key: its label, whose second line depends on the direction, and its size. */
  box(key) {
    const number = Number(key.slice(1)), label = this.graph.labels[key];
    const below = label.below[["forward", "backward", "both"].indexOf(this.direction)];
    const wide = Math.max(lineWidth(label.line), textWidth(below, "kind")), parts = { key, line: label.line, below };
    if (key[0] === "g") {
      const deck = this.graph.groups[number].times ? 4 : 0; // the offset of the cards behind the first
      const body = wide + 30 + 2 * deck;
      return { ...parts, deck, body, width: body, height: 44 + 1.5 * deck, port: 0 };
    }
    const docks = label.docks.map(([id, text]) => ({ id, text, wide: textWidth(text, "kind") + 14 }));
    const side = docks.length ? Math.max(...docks.map((dock) => dock.wide)) + DOCK.wire : 0;
    const body = Math.max(wide, 28) + 22, height = Math.max(40, docks.length * DOCK.step - DOCK.step + DOCK.height);
    return { ...parts, docks, side, body, width: body + side, height, port: side / 2 };
  }

  foldedGroup(number) { return { ...this.box(`g${number}`), group: this.graph.groups[number], number }; }

  /** A node with the leaves next to it. */
  node(id) { return { ...this.box(`n${id}`), id, node: this.graph.nodes[id] }; }

  /** A description of a result, for the tooltip of its wire. */
  describe(edge) {
    const node = this.graph.nodes[edge.source], gradient = this.graph.values[edge.gradient];
    const value = this.graph.values[node.value], parts = [cutName(node.name)];
    if (value) parts.push(GraphPanel.shape(value));
    if (gradient) parts.push(`‖∇‖ ${GraphPanel.number(normOf(gradient))}`);
    return parts.join(" · ");
  }
}

/** The Euclidean norm of a value, null if there is none. */
function normOf(value) {
  if (!value) return null;
  if (value.table) return Math.hypot(...value.table.flat().map(viz.number));
  return viz.number(value.statistics?.norm ?? NaN);
}

/** A name on one line, shortened in the middle if it is long. */
function cutName(text) {
  const letters = [...text.replace(/\s+/g, " ")];
  if (letters.length <= LONGEST) return letters.join("");
  return `${letters.slice(0, LONGEST / 2).join("")}…${letters.slice(-LONGEST / 2 + 1).join("")}`;
}

/** The first line of a box, as one text. */
function lineText(line) { return line.map(([text, look], i) => (i && look !== "times" ? ` ${text}` : text)).join(""); }

const pen = document.createElement("canvas").getContext("2d");

/** The width of a text. */
function textWidth(text, look) {
  const style = getComputedStyle(document.documentElement);
  pen.font = FONTS[look].replace(/--\w+/, (name) => style.getPropertyValue(name));
  return pen.measureText(text).width;
}

/** The width of a first line; `name`: the look of names in it. */
function lineWidth(line, name = "name") {
  return line.reduce((sum, [text, look], i) => (
    sum + textWidth(text, look === "name" ? name : look) + (i && look !== "times" ? 6 : 0)), 0);
}
