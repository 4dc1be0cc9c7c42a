// What a note attended to when it was generated: arcs to earlier notes, and the same as a list.

class RollArcs {
  /** See `_attention` in piano_roll/view.py. */
  constructor({ layers, heads, kept: limit, most, notes, weights }, count) {
    Object.assign(this, { layers, heads, limit, most, count });
    this.notes = viz.bytes(notes, Int32Array);
    this.weights = viz.bytes(weights, Uint16Array);
    this.layer = 0;
    this.head = heads; // the mean comes after the heads
  }

  get label() { return `layer ${this.layer}, ${this.head === this.heads ? "all heads" : `head ${this.head}`}`; }

  /** Pairs of an earlier note and its weight, largest first. */
  pairs(note) {
    const start = ((this.layer * (this.heads + 1) + this.head) * this.count + note) * this.limit, pairs = [];
    for (let i = start; i < start + this.limit && this.notes[i] >= 0; i++) {
      pairs.push([this.notes[i], this.weights[i] / 65535 * this.most]);
    }
    return pairs;
  }

  static percent(weight) {
    if (weight < .0005) return "< 0.1 %";
    return `${(100 * weight).toFixed(weight < .0995 ? 1 : 0)} %`;
  }

  /** Draw the arcs, thicker and darker for larger weights; `place(note)` returns an end point. */
  draw(context, note, place, colour) {
    const pairs = this.pairs(note), [x, y] = place(note), most = Math.max(...pairs.map(([, weight]) => weight));
    context.strokeStyle = colour;
    context.lineCap = "round";
    for (const [other, weight] of pairs.reverse()) {
      const part = weight / most, [left, level] = place(other), rise = Math.max(14, Math.min(90, .3 * Math.abs(x - left)));
      const peak = Math.max(Math.min(y, level) - rise, 2 * (roll.RULER + 12) - (y + level) / 2); // below the ruler
      context.globalAlpha = .1 + .8 * Math.sqrt(part);
      context.lineWidth = .6 + 4 * part;
      context.beginPath();
      context.moveTo(x, y);
      context.quadraticCurveTo((x + left) / 2, peak, left, level);
      context.stroke();
    }
    context.globalAlpha = 1;
  }

  /** Menus for the layer and the head. */
  controls(onChange) {
    const choice = (id, label, names, value, set) => {
      const options = names.map((name, i) => viz.el("option", { value: i, selected: i === value }, name));
      const select = viz.el("select", { id, onchange: () => { set(Number(select.value)); onChange(); } }, options);
      return viz.el("label", {}, `${label} `, select);
    };
    const numbers = (count) => Array.from({ length: count }, (_, i) => String(i));
    return [
      choice("layer", "Layer", numbers(this.layers), this.layer, (layer) => { this.layer = layer; }),
      choice("head", "Head", [...numbers(this.heads), "all heads"], this.head, (head) => { this.head = head; }),
    ];
  }

  /** The list of notes that a note attended to. */
  list(note) {
    const pairs = this.pairs(note), most = pairs.length === this.limit ? "most at" : "at";
    if (!pairs.length) return [viz.el("p", { class: "quiet" }, `In ${this.label}, it looked at no earlier note.`)];
    const entry = ([other, weight]) => viz.el("li", {}, viz.el("button", {
      type: "button", "data-note": other, style: `--part:${Math.min(weight, 1).toFixed(4)}`,
      onclick: () => roll.choose(other, true), onpointerenter: () => roll.highlight(other), onpointerleave: () => roll.highlight(null),
    }, viz.el("span", { class: "name" }, `${roll.pitchName(other)} `, viz.el("span", { class: "quiet" }, roll.clock(roll.music.starts[other], 1))),
    viz.el("span", { class: "weight" }, RollArcs.percent(weight))));
    return [viz.el("p", { class: "quiet" }, `In ${this.label}, it looked ${most}`), viz.el("ul", {}, pairs.map(entry))];
  }

  /** The three largest weights, for screen readers. */
  speech(note) {
    const names = this.pairs(note).slice(0, 3).map(([other, weight]) => `${roll.pitchName(other)} at ${roll.clock(roll.music.starts[other], 1)}, ${RollArcs.percent(weight)}`);
    return names.length ? `; looked at ${names.join("; ")}` : "; looked at no earlier note";
  }
}
