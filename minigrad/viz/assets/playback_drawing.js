// The neighbourhood of a node as a graph: its inputs above, the readers of its result below. Gradients
// flow upwards.

const playbackDrawing = {
  WIDEST: 720, NARROWEST: 330, BOX: 50, MOST: 6,

  /** A value's norm over its finite elements, and the number of the others. */
  length({ table, statistics }) {
    if (statistics) return { norm: viz.number(statistics.norm), wrong: statistics.nan };
    const all = table.flat().map(viz.number), finite = all.filter(Number.isFinite);
    return { norm: Math.hypot(...finite), wrong: all.length - finite.length };
  },

  cut(text, width) {
    const most = Math.max(4, Math.floor(width / 7.6)), letters = [...text];
    return letters.length <= most ? text : `…${letters.slice(letters.length - most + 1).join("")}`;
  },

  /**
   * inputs and readers: [{ title, detail, kind, label, state, note, go }]: label and state belong to their wires,
   * note is printed above a box. state: "done" has carried a gradient, "wait" will, "none" never does.
   * room: its maximum width in pixels.
   */
  draw(inputs, middle, readers, room) {
    const { WIDEST, NARROWEST, BOX } = playbackDrawing;
    const WIDTH = Math.max(NARROWEST, Math.min(WIDEST, room));
    const rows = [inputs, [middle], readers].map((row) => playbackDrawing.limit(row));
    const boxes = [], wires = [], tall = 84;
    const fits = (label, slot) => (
      6.3 * label.length + 10 > slot * 0.8 ? label.replace("‖g‖ ", "") : label);
    let y = inputs.some((box) => box.note) ? 24 : 4;
    const places = rows.map((row) => {
      const place = row.length ? y : null;
      if (row.length) y += BOX + tall;
      return place;
    });
    const height = y - tall + 6;
    const centres = rows.map((row) => row.map((_, i) => (i + 0.5) * WIDTH / row.length));
    rows.forEach((row, r) => row.forEach((box, i) => {
      const wide = Math.min(r === 1 ? 260 : 200, WIDTH / row.length - 12);
      boxes.push(playbackDrawing.box(box, centres[r][i], places[r], wide, r === 1));
      if (r === 1) return;
      const [from, to] = r === 0 ? [1, 0] : [2, 1]; // the rows that the wire connects
      const [x1, x2] = [from, to].map((at) => centres[at][at === 1 ? 0 : i]);
      const label = fits(box.label, WIDTH / row.length);
      const ends = [x1, places[from] - 1, x2, places[to] + BOX + 2];
      wires.push(playbackDrawing.wire({ ...box, label }, ...ends, r === 0 ? 0.72 : 0.3));
    }));
    return viz.svg("svg", {
      id: "around", width: WIDTH, height, viewBox: `0 0 ${WIDTH} ${height}`, role: "group",
      "aria-label": "the node, what it reads, and what reads it",
    }, viz.svg("defs", {}, ["done", "wait"].map(playbackDrawing.head)), wires, boxes);
  },

  /** An arrowhead. */
  head(state) {
    const size = { viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" };
    return viz.svg("marker", { id: `head-${state}`, class: state, ...size },
      viz.svg("path", { d: "M0 0.5L8 4L0 7.5z" }));
  },

  limit(row) {
    const { MOST } = playbackDrawing;
    if (row.length <= MOST) return row;
    const state = row.some((b) => b.state === "done") ? "done" : "wait";
    const rest = { title: `and ${row.length - MOST + 1} more`, detail: "", kind: "more", label: "", state };
    return [...row.slice(0, MOST - 1), rest];
  },

  box(box, x, y, wide, now) {
    const { BOX, cut } = playbackDrawing, rx = box.kind === "op" ? 6 : BOX / 2;
    const text = (kind, down, label) => (
      viz.svg("text", { class: kind, x, y: y + down, "text-anchor": "middle" }, label));
    const parts = [
      viz.svg("title", {}, box.title), viz.svg("rect", { x: x - wide / 2, y, width: wide, height: BOX, rx }),
      text("title", 21, cut(box.title, wide - 16)), text("detail", 38, cut(box.detail, (wide - 16) * 1.1)),
    ];
    if (box.note) parts.push(text("note", -7, box.note));
    const act = box.go && {
      tabindex: 0, role: "button", "aria-label": `go to ${box.title}`, onclick: box.go,
      onkeydown: (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault(); // the space bar scrolls
        box.go();
      },
    };
    const kind = `box ${box.kind}${now ? " now" : ""}${box.go ? " link" : ""}`;
    return viz.svg("g", { class: kind, ...act }, parts);
  },

  /** An upward wire, with a label on a background at a fraction of its length. */
  wire(box, x1, y1, x2, y2, part) {
    const middle = (y1 + y2) / 2, line = viz.svg("path", {
      class: `wire ${box.state}`, d: `M${x1} ${y1}C${x1} ${middle} ${x2} ${middle} ${x2} ${y2}`,
      "marker-end": box.state === "none" ? null : `url(#head-${box.state})`,
    });
    if (!box.label) return line;
    const t = part, u = 1 - part; // a point on a Bézier curve
    const at = (a, b, c, d) => u ** 3 * a + 3 * u * u * t * b + 3 * u * t * t * c + t ** 3 * d;
    const x = at(x1, x1, x2, x2), y = at(y1, middle, middle, y2), wide = 6.3 * box.label.length + 10;
    return viz.svg("g", {}, line,
      viz.svg("rect", { class: "back", x: x - wide / 2, y: y - 9, width: wide, height: 18 }),
      viz.svg("text", { class: `label ${box.state}`, x, y: y + 4, "text-anchor": "middle" }, box.label));
  },
};
