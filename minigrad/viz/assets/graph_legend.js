// The meaning of a graph's lines and colours, below the drawing and in saved files.
"use strict";

class GraphLegend {
  /** `drawing` has the direction and the meaning of the colours. */
  constructor(drawing) { this.drawing = drawing; }

  /** { kind, text } for each line and for the colours; `high` labels the strong end of a ramp. */
  meanings() {
    const { boxes: { direction }, graph: { backward }, colour, scale } = this.drawing, all = [];
    if (direction !== "backward") all.push({ kind: "forward", text: "results" });
    if (direction !== "forward" && backward === "done") all.push({ kind: "backward", text: "gradients" });
    if (direction !== "forward" && backward === "none") {
      all.push({ kind: "note", text: "no backward yet: there are no gradients to show" });
    }
    const measure = {
      time: ["time", GraphPanel.seconds, "minus"],
      bytes: ["bytes", GraphPanel.bytes, "accent"],
      gradient: ["gradient norm", GraphPanel.number, "backward"],
    }[colour];
    if (!measure) return all;
    const [name, format, ink] = measure;
    const ramp = scale && { kind: "ramp", text: `${name} ${format(scale.low)}`, high: format(scale.high), ink };
    return [...all, ramp ?? { kind: "plain", text: `no ${name} known` }];
  }

  /** The legend as HTML, for the page. */
  elements() {
    return this.meanings().map(({ kind, text, high, ink }) => {
      if (kind === "note" || kind === "plain") return viz.el("span", { class: kind }, text);
      if (kind !== "ramp") return viz.el("span", {}, viz.el("span", { class: `sample ${kind}` }), text);
      const mix = (part) => `color-mix(in srgb, var(--${ink}) ${part}%, var(--field))`;
      const style = `background: linear-gradient(to right, ${mix(5)}, ${mix(45)})`;
      return viz.el("span", { class: "bar" }, text, viz.el("span", { class: "ramp", style }), high);
    });
  }

  /** Append the legend to a picture, below `top`, where its texts can be measured. Returns group and width. */
  draw(svg, top) {
    const group = viz.svg("g", { class: "legend" }), y = Math.round(top) + 20;
    svg.append(group);
    let x = 16;
    const write = (text, kind) => {
      const node = viz.svg("text", { x, y, class: kind === "note" ? "note" : "" }, text);
      group.append(node);
      x += Math.ceil(node.getComputedTextLength()) + 6;
    };
    for (const { kind, text, high, ink } of this.meanings()) {
      if (kind === "forward" || kind === "backward") {
        group.append(viz.svg("path", { class: `wire ${kind}`, d: `M${x} ${y - 4}h20` }));
        x += 26;
      }
      write(text, kind);
      if (kind === "ramp") {
        const steps = Array.from({ length: 20 }, (_, i) => viz.svg("rect", { x: x + 4 * i, y: y - 9, width: 4,
          height: 10, fill: viz.colour(ink), opacity: (0.05 + 0.4 * i / 19).toFixed(3) }));
        group.append(...steps);
        x += 86;
        write(high, kind);
      }
      x += 10;
    }
    return { group, width: x };
  }
}
