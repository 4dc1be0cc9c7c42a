// The boxes of a graph as the layout places them. What they say, and how large they are for it, came with the page
// (minigrad/viz/graph/labels.py): pictures are the same.
"use strict";

const LONGEST = 40; // characters of a name in the drawing; the panel has all of it
const DOCK = { height: 18, step: 21, wire: 16 }; // a leaf at the side of an op

class GraphBoxes {
  /** `names` are those of ops that are all there is in a module. */
  constructor(graph, names) {
    this.graph = graph;
    this.names = names;
    this.direction = graph.direction;
    this.reader = new Map(graph.docks); // of a leaf at the side of an op: the op
  }

  /** A box by its key: its label, with the second line and the width that the direction wants. */
  box(key) {
    const label = this.graph.labels[key], way = ["forward", "backward", "both"].indexOf(this.direction);
    const { line, height, docks = [], side = 0, deck = 0 } = label, body = label.width[way];
    const below = label.below[way], size = { width: body + side, height, port: side / 2 };
    return { key, line, below, docks: docks.map(([id, text, wide]) => ({ id, text, wide })), side, deck, body, ...size };
  }

  folded(number) { return { ...this.box(`g${number}`), group: this.graph.groups[number], number }; }

  /** A node with the leaves at its side. */
  single(id) { return { ...this.box(`n${id}`), id, node: this.graph.nodes[id] }; }

  /** The room that an open group's name needs. */
  titleRoom(number) { return this.graph.labels[`g${number}`].title ?? 0; }

  /** What a result is, for the pointer on its wire. */
  tell(edge) {
    const node = this.graph.nodes[edge.source], gradient = this.graph.values[edge.gradient];
    const value = this.graph.values[node.value], parts = [cutName(node.name)];
    if (value) parts.push(GraphPanel.shape(value));
    if (gradient) parts.push(`‖∇‖ ${GraphPanel.number(normOf(gradient))}`);
    return parts.join(" · ");
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

/** The first line of a box, as one text. */
function lineText(line) { return line.map(([text, look], i) => (i && look !== "times" ? ` ${text}` : text)).join(""); }
