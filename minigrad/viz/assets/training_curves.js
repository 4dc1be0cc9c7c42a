// The arithmetic of curves, and one chart.

const curves = {
  SMALL: 46, // pixels left of a chart's field
  HEIGHT: 190, // of a chart among others,
  TALLEST: 420, // and the maximum for a single chart
  ENDS: [-1, 0, 1, 100], // of common ranges: an axis's margins do not exceed them
  FEW: 4, // maximum values next to a chart's name

  /** Means of y weighted by exp(−|distance in x| / width), from both sides; NaN has no weight. */
  smooth(x, y, width) {
    const n = y.length;
    if (width <= 0 || n < 3) return y;
    const total = new Float64Array(n), weight = new Float64Array(n);
    let a = 0, b = 0;
    for (let i = 0; i < n; i++) {
      const finite = Number.isFinite(y[i]), decay = i ? Math.exp((x[i - 1] - x[i]) / width) : 0;
      a = a * decay + (finite ? y[i] : 0);
      b = b * decay + (finite ? 1 : 0);
      total[i] = a;
      weight[i] = b;
    }
    a = b = 0;
    for (let i = n - 1; i >= 0; i--) { // add what comes after each point, without the point itself
      const finite = Number.isFinite(y[i]);
      total[i] += a;
      weight[i] += b;
      const decay = i ? Math.exp((x[i - 1] - x[i]) / width) : 0;
      a = (a + (finite ? y[i] : 0)) * decay;
      b = (b + (finite ? 1 : 0)) * decay;
    }
    return y.map((value, i) => (Number.isFinite(value) ? total[i] / weight[i] : value));
  },

  /** Binary search: the first index in x (ascending) that is not below a value. */
  place(x, value) {
    let low = 0, high = x.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (x[middle] < value) low = middle + 1; else high = middle;
    }
    return low;
  },

  nearest(x, value) {
    const i = curves.place(x, value);
    if (i === 0) return 0;
    return i === x.length || value - x[i - 1] <= x[i] - value ? i - 1 : i;
  },

  /** Downsample a range without changing its curve: each pixel's first, last, minimum, maximum, and a gap. */
  thin(x, y, begin, end, low, high, cells) {
    const indices = [];
    if (end - begin <= 4 * cells) {
      for (let i = begin; i < end; i++) indices.push(i);
      return indices;
    }
    let i = begin;
    while (i < end) {
      const cell = Math.floor((x[i] - low) / (high - low) * cells);
      let least = -1, most = -1, gap = -1, last = i;
      const first = i;
      for (; i < end && Math.floor((x[i] - low) / (high - low) * cells) === cell; i++) {
        last = i;
        if (!Number.isFinite(y[i])) gap = i;
        else {
          if (least < 0 || y[i] < y[least]) least = i;
          if (most < 0 || y[i] > y[most]) most = i;
        }
      }
      indices.push(...[...new Set([first, least, most, gap, last])].filter((k) => k >= 0).sort((p, q) => p - q));
    }
    return indices;
  },

  /** Round numbers in a range. */
  ticks(low, high, about) {
    if (!(high > low)) return [low];
    const rough = (high - low) / about, power = 10 ** Math.floor(Math.log10(rough));
    const distance = (s) => Math.abs(Math.log(s / rough)), steps = [1, 2, 5, 10].map((f) => f * power);
    const step = steps.reduce((best, s) => (distance(s) < distance(best) ? s : best));
    const ticks = [];
    for (let k = Math.ceil(low / step - 1e-9); k <= Math.floor(high / step + 1e-9); k++) {
      ticks.push(Number((k * step).toPrecision(12)));
    }
    return ticks;
  },

  logTicks(low, high, most = 6) {
    let ticks = [];
    for (const factors of [[1, 2, 5], [1, 3], [1]]) {
      ticks = [];
      for (let p = Math.floor(Math.log10(low)); p <= Math.ceil(Math.log10(high)); p++) {
        for (const f of factors) {
          const tick = Number(`${f}e${p}`);
          if (tick >= low && tick <= high) ticks.push(tick);
        }
      }
      if (ticks.length <= most) return ticks.length > 2 ? ticks : curves.ticks(low, high, 4);
    }
    const every = Math.ceil(ticks.length / most);
    return ticks.filter((_, i) => i % every === 0);
  },

  bounds(low, high, log) {
    if (!(low <= high)) return log ? [0.1, 1] : [0, 1];
    const rounding = 1e-9 * Math.max(Math.abs(low), Math.abs(high)), same = high - low <= rounding;
    const end = Math.min(...curves.ENDS.filter((one) => one >= high - rounding)); // BLEU may be 100.00000000000004
    if (log) {
      const margin = same ? 2 : (high / low) ** 0.04;
      return [low / margin, Math.min(high * margin, end)];
    }
    if (same && Math.abs(high) < 1e-12) return [0, 1];
    const margin = same ? Math.abs(low) / 10 : 0.04 * (high - low), { ENDS } = curves;
    const start = low >= 0 && low < 0.15 * high ? 0 : Math.max(low - margin, ...ENDS.filter((end) => end < low || (end === low && !same)));
    return [start, Math.min(high + margin, end)];
  },

  /** From the ninth run on, colours repeat, with dashes. */
  dash(run) { return run < 8 ? null : `${2 + 3 * Math.floor(run / 8)} 2`; },

  /** An axis label. */
  label(value) {
    const size = Math.abs(value);
    if (size >= 1e9 || (size > 0 && size < 1e-4)) {
      return Number(value.toPrecision(3)).toExponential().replace("e+", "e");
    }
    if (size >= 1e6) return `${Number((value / 1e6).toPrecision(6))}M`;
    if (size >= 1e4) return `${Number((value / 1e3).toPrecision(6))}k`;
    return curves.format(Number(value.toPrecision(6)));
  },

  /** A number with commas between thousands. */
  format(value) { return value.toLocaleString("en-US", { maximumFractionDigits: 12 }); },

  /** A measured value, with 6 significant digits. */
  exact(value) {
    if (!Number.isFinite(value)) return Number.isNaN(value) ? "not a number" : value > 0 ? "∞" : "−∞";
    const size = Math.abs(value);
    if (Number.isInteger(value) || (size >= 1e4 && size < 1e12)) {
      return curves.format(Math.round(value * 10) / 10);
    }
    if (size !== 0 && (size < 1e-4 || size >= 1e12)) return value.toExponential(5);
    return String(Number(value.toPrecision(6)));
  },

  seconds(value) {
    const s = Math.round(value), parts = [Math.floor(s / 3600), Math.floor(s / 60) % 60, s % 60];
    const words = parts.map((part, i) => (part ? `${part} ${["h", "min", "s"][i]}` : "")).filter(Boolean);
    return words.slice(0, 2).join(" ") || "0 s";
  },
};

/** A chart of one quantity, with the series of all runs. `state`: the page's state, read only. */
class TrainingChart {
  constructor(name, series, state) {
    Object.assign(this, { name, series, state });
    this.log = false;
    this.values = viz.el("span", { class: "values" });
    this.tip = viz.el("div", { class: "tip", hidden: true });
    this.toggle = viz.el("button", {
      type: "button", class: "log", "aria-pressed": "false", title: "logarithmic axis",
      onclick: () => {
        this.log = !this.log;
        this.toggle.setAttribute("aria-pressed", String(this.log));
        this.draw();
      },
    }, "log");
    this.svg = viz.svg("svg", {
      class: "field", tabindex: 0, role: "application", "aria-label": `${name}: arrow keys walk along it`,
    });
    this.figure = viz.el("figure", { class: "chart", "data-chart": name },
      viz.el("figcaption", {}, viz.el("h2", {}, name), this.values, this.toggle), this.svg, this.tip);
  }

  /** The series of runs that are not hidden, on the selected axis. */
  get visible() { return this.series.filter((s) => !this.state.hidden.has(s.run) && s.places[this.state.over]); }

  /** The width of the field. */
  get wide() { return this.right - curves.SMALL; }

  x(value) {
    const [a, b] = this.range;
    return curves.SMALL + (value - a) / (b - a) * this.wide;
  }

  value(x) {
    const [a, b] = this.range;
    return a + (x - curves.SMALL) / this.wide * (b - a);
  }

  y(value) {
    const [a, b] = this.limits, span = this.bottom - 8;
    if (!Number.isFinite(value) || (this.log && value <= 0)) return NaN;
    return this.bottom - (this.log ? Math.log(value / a) / Math.log(b / a) : (value - a) / (b - a)) * span;
  }

  /** Redraw everything after a change of content or width. */
  draw() {
    const width = Math.max(this.figure.clientWidth, 160), single = this.state.charts.length === 1;
    this.height = single ? Math.max(curves.HEIGHT, Math.min(0.45 * width, curves.TALLEST)) : curves.HEIGHT;
    this.right = width - 6;
    this.bottom = this.height - 22;
    this.range = this.state.range();
    const parts = this.visible.map((s) => this.part(s));
    const low = Math.min(...parts.map((p) => p.low)), high = Math.max(...parts.map((p) => p.high));
    this.limits = curves.bounds(low, high, this.log);
    const clip = `clip-${this.state.charts.indexOf(this)}`;
    this.svg.setAttribute("viewBox", `0 0 ${width} ${this.height}`);
    this.svg.setAttribute("width", width);
    this.svg.setAttribute("height", this.height);
    this.marks = viz.svg("g", { class: "marks" });
    this.svg.replaceChildren(
      viz.svg("clipPath", { id: clip },
        viz.svg("rect", { x: curves.SMALL, y: 2, width: this.wide + 4, height: this.bottom })),
      ...this.yAxis(), ...this.xAxis(),
      viz.svg("g", { "clip-path": `url(#${clip})` }, ...parts.flatMap((part) => this.curve(part))),
      this.marks);
    this.mark();
  }

  /** The visible part of a series, with its minimum and maximum. */
  part(series) {
    const x = series.places[this.state.over], [from, to] = this.range;
    const begin = Math.max(curves.place(x, from) - 1, 0), end = Math.min(curves.place(x, to) + 2, x.length);
    const front = this.state.displayed(series);
    let low = Infinity, high = -Infinity;
    for (let i = begin; i < end; i++) {
      const value = front[i];
      if (x[i] < from || x[i] > to || !Number.isFinite(value) || (this.log && value <= 0)) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
    return { series, x, begin, end, front, low, high };
  }

  curve({ series, x, begin, end, front }) {
    const dash = { "stroke-dasharray": curves.dash(series.run) };
    const nodes = [], cells = Math.round(this.wide);
    const path = (values, kind) => (
      viz.svg("path", { class: kind, d: this.path(x, values, begin, end, cells), ...dash }));
    if (series.evaluated) {
      nodes.push(path(series.values, "thread"));
      if (end - begin <= cells) nodes.push(...this.dots(series, x, begin, end));
    } else {
      if (front !== series.values) nodes.push(path(series.values, "raw"));
      nodes.push(path(front, "line"));
    }
    const own = { class: "curve", style: viz.series(series.run) };
    return [viz.svg("g", own, ...nodes), ...this.crosses(series, x, begin, end)];
  }

  /** A dot for each evaluation, and a ring for the best. */
  dots(series, x, begin, end) {
    const dots = [], best = series.best.at(-1);
    for (let i = begin; i < end; i++) {
      const y = this.y(series.values[i]), [kind, r] = i === best ? ["best", 3.6] : ["dot", 2.4];
      if (Number.isFinite(y)) dots.push(viz.svg("circle", { class: kind, cx: this.x(x[i]), cy: y, r }));
    }
    return dots;
  }

  path(x, values, begin, end, cells) {
    const [from, to] = this.range;
    let text = "", pen = "M";
    for (const i of curves.thin(x, values, begin, end, from, to, cells)) {
      const y = this.y(values[i]);
      if (Number.isFinite(y)) {
        text += `${pen}${this.x(x[i]).toFixed(1)} ${y.toFixed(1)}`;
        pen = "L";
      } else pen = "M";
    }
    return text;
  }

  /** Crosses at the bottom for non-finite values, each with a line along consecutive ones. */
  crosses(series, x, begin, end) {
    const crosses = [], y = this.bottom - 4;
    for (let i = begin; i < end; i++) {
      if (Number.isFinite(series.values[i])) continue;
      const from = this.x(x[i]);
      while (i + 1 < end && !Number.isFinite(series.values[i + 1])) i++;
      const d = `M${from - 3} ${y - 3}l6 6m0 -6l-6 6M${from} ${y}H${this.x(x[i])}`;
      crosses.push(viz.svg("path", { class: "cross", d }, viz.svg("title", {}, "not a finite number")));
    }
    return crosses;
  }

  yAxis() {
    const ticks = this.log ? curves.logTicks(...this.limits) : curves.ticks(...this.limits, 4);
    return ticks.flatMap((tick) => {
      const y = this.y(tick), place = { x: curves.SMALL - 6, y: y + 3.5, "text-anchor": "end" };
      return [
        viz.svg("path", { class: "grid", d: `M${curves.SMALL} ${y}H${this.right}` }),
        viz.svg("text", { class: "tick", ...place }, curves.label(tick)),
      ];
    });
  }

  xAxis() {
    const [low, high] = this.range, over = this.state.over;
    const [unit, word] = over !== "seconds" ? [1, over]
      : [[3600, "hours"], [60, "minutes"], [1, "seconds"]].find(([u]) => high - low >= 2 * u || u === 1);
    const nodes = [viz.svg("path", { class: "axis", d: `M${curves.SMALL} ${this.bottom}H${this.right}` }),
      viz.svg("text", { class: "tick", x: this.right, y: this.bottom + 15, "text-anchor": "end" }, word)];
    const about = Math.max(2, Math.min(6, (this.right - 40) / 70));
    for (const tick of curves.ticks(low / unit, high / unit, about)) {
      const x = this.x(tick * unit), text = curves.label(tick);
      nodes.push(viz.svg("path", { class: "axis", d: `M${x} ${this.bottom}v3` }));
      if (x + 3 * text.length < this.right - 6 * word.length - 6) {
        nodes.push(viz.svg("text", { class: "tick", x, y: this.bottom + 15, "text-anchor": "middle" }, text));
      }
    }
    return nodes;
  }

  /** Draw the crosshair, the selected step, and the values. */
  mark() {
    if (!this.marks) return;
    const { at, selectedX, drag } = this.state, nodes = [], readings = [];
    if (drag) {
      const [x, end] = drag.map((value) => this.x(value)).sort((a, b) => a - b);
      nodes.push(viz.svg("rect", { class: "drag", x, y: 2, width: end - x, height: this.bottom - 2 }));
    }
    for (const [value, kind] of [[selectedX, "selected-step"], [at, "hair"]]) {
      const x = value === null ? NaN : this.x(value);
      const inside = x >= curves.SMALL - 1 && x <= this.right + 1;
      if (inside) nodes.push(viz.svg("path", { class: kind, d: `M${x} 2V${this.bottom}` }));
    }
    for (const series of this.visible) {
      const x = series.places[this.state.over];
      if (!x.length) continue;
      const i = at === null ? x.length - 1 : curves.nearest(x, at), style = viz.series(series.run);
      const [cx, cy] = [this.x(x[i]), this.y(this.state.displayed(series)[i])];
      if (at !== null && Number.isFinite(cy) && cx >= curves.SMALL && cx <= this.right) {
        nodes.push(viz.svg("circle", { class: "at", style, cx, cy, r: 3.5 }));
      }
      readings.push({ value: series.values[i], series, node: this.number(series, i) });
    }
    this.marks.replaceChildren(...nodes);
    this.showValues(readings);
  }

  /** The value of a point, in its run's colour. */
  number(series, i) {
    const value = series.values[i], kind = series.evaluated ? "evaluation" : "training";
    const name = this.state.runs[series.run].name, step = curves.format(series.places.step[i]);
    return viz.el("span", {
      class: series.evaluated ? "value evaluated" : "value", style: viz.series(series.run),
      "data-run": series.run, title: `${name}, ${kind}, step ${step}: ${value}`,
    }, curves.exact(value));
  }

  /** Show the values next to the name or, if there are many, in a tooltip of the hovered chart. */
  showValues(readings) {
    const few = readings.length <= curves.FEW, { at, hoveredChart } = this.state;
    this.values.replaceChildren(...few ? readings.map(({ node }) => node) : []);
    this.tip.hidden = few || at === null || hoveredChart !== this;
    if (this.tip.hidden) return;
    const size = ({ value }) => (Number.isFinite(value) ? value : -Infinity);
    this.tip.replaceChildren(...readings.sort((a, b) => size(b) - size(a)).map(({ node, series }) =>
      viz.el("div", {}, viz.el("span", { class: "name" }, this.state.runs[series.run].name), node)));
    const left = this.x(at) > (this.right + curves.SMALL) / 2;
    this.tip.style.left = left ? `${curves.SMALL + 4}px` : "auto";
    this.tip.style.right = left ? "auto" : "8px";
  }
}
