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
      all.push({ kind: "told", text: "no backward yet: there are no gradients to show" });
    }
    const known = {
      time: ["time", GraphPanel.seconds, "minus"],
      bytes: ["bytes", GraphPanel.bytes, "accent"],
      gradient: ["gradient norm", GraphPanel.number, "backward"],
    }[colour];
    if (!known) return all;
    const [name, write, ink] = known;
    const ramp = scale && { kind: "ramp", text: `${name} ${write(scale.low)}`, high: write(scale.high), ink };
    return [...all, ramp ?? { kind: "plain", text: `no ${name} known` }];
  }

  /** For the page. */
  elements() {
    return this.meanings().map(({ kind, text, high, ink }) => {
      if (kind === "told" || kind === "plain") return viz.el("span", { class: kind }, text);
      if (kind !== "ramp") return viz.el("span", {}, viz.el("span", { class: `sample ${kind}` }), text);
      const mix = (part) => `color-mix(in srgb, var(--${ink}) ${part}%, var(--field))`;
      const style = `background: linear-gradient(to right, ${mix(5)}, ${mix(45)})`;
      return viz.el("span", { class: "bar" }, text, viz.el("span", { class: "ramp", style }), high);
    });
  }

  /** In a picture, from `top` downwards: added to `svg`, where its texts can be measured. Returns its width. */
  draw(svg, top) {
    const group = viz.svg("g", { class: "legend" }), y = Math.round(top) + 20;
    svg.append(group);
    let x = 16;
    const say = (text, kind) => {
      const told = viz.svg("text", { x, y, class: kind === "told" ? "told" : "" }, text);
      group.append(told);
      x += Math.ceil(told.getComputedTextLength()) + 6;
    };
    for (const { kind, text, high, ink } of this.meanings()) {
      if (kind === "forward" || kind === "backward") {
        group.append(viz.svg("path", { class: `wire ${kind}`, d: `M${x} ${y - 4}h20` }));
        x += 26;
      }
      say(text, kind);
      if (kind === "ramp") {
        const steps = Array.from({ length: 20 }, (_, i) => viz.svg("rect", { x: x + 4 * i, y: y - 9, width: 4,
          height: 10, fill: viz.colour(ink), opacity: (0.05 + 0.4 * i / 19).toFixed(3) }));
        group.append(...steps);
        x += 86;
        say(high, kind);
      }
      x += 10;
    }
    return { group, width: x };
  }
}
