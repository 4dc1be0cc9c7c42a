// The training page: curves of several runs on a shared axis, and next to them the snapshots of a step.

(async () => {
  const data = await viz.data(), root = document.getElementById("training");
  const UNSMOOTHED = new Set(["learning rate"]);
  const tables = data.tables.map((table) => (
    Object.fromEntries(Object.entries(table).map(([name, values]) => [name, values.map(viz.number)]))));
  const series = data.runs.flatMap((run, i) => run.series.map((s) =>
    ({ ...s, run: i, places: tables[s.table], values: s.values.map(viz.number) })));

  const state = {
    runs: data.runs, charts: [], hidden: new Set(), over: "step", smoothing: 0,
    zoom: null, at: null, hoveredChart: null, selectedX: null, drag: null,
    /** The visible range: the zoomed one, else everything. */
    range() { return this.zoom ?? this.whole(); },
    whole() {
      let low = Infinity, high = -Infinity;
      for (const s of series) {
        const x = s.places[this.over];
        if (!x?.length || this.hidden.has(s.run)) continue;
        low = Math.min(low, x[0]);
        high = Math.max(high, x.at(-1));
      }
      if (!(low <= high)) return [0, 1];
      if (low >= 0 && low < 0.1 * high) low = 0;
      return low < high ? [low, high] : [low - 1, high + 1];
    },
    /** A series' values as displayed: smoothed, if they are to be. */
    displayed(s) {
      if (!this.smoothing || s.evaluated || UNSMOOTHED.has(s.name)) return s.values;
      if (s.width !== this.smoothing) {
        s.width = this.smoothing;
        s.smooth = curves.smooth(s.places.step, s.values, s.width);
      }
      return s.smooth;
    },
  };
  const seriesOf = (name) => series.filter((s) => s.name === name);
  state.charts = data.charts.map((name) => new TrainingChart(name, seriesOf(name), state));
  const draw = () => { for (const chart of state.charts) chart.draw(); showReadout(); };

  // The controls

  const last = Math.max(1, ...series.map((s) => s.places.step?.at(-1) ?? 0));
  const parts = [0, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.08]; // fractions of all steps
  const widths = parts.map((part) => Number((part * last).toPrecision(2)));
  const smoothingLabel = viz.el("output", { for: "smoothing" }, "off");
  const smoothing = viz.el("input", {
    id: "smoothing", type: "range", min: 0, max: widths.length - 1, value: 0,
    oninput: () => {
      state.smoothing = widths[smoothing.value];
      smoothingLabel.textContent = state.smoothing ? `± ${curves.format(state.smoothing)} steps` : "off";
      draw();
    },
  });
  const axes = [["step", "steps"], ["seconds", "time"], ["tokens", "tokens"]]
    .filter(([name]) => tables.some((table) => table[name]));
  const over = viz.el("select", { id: "over", onchange: () => {
    Object.assign(state, { over: over.value, zoom: null, at: null });
    pick();
    draw();
  } }, axes.map(([name, word]) => viz.el("option", { value: name }, word)));
  const button = (id, title, text, onclick, more = {}) => (
    viz.el("button", { id, type: "button", title, onclick, ...more }, text));
  const whole = button("whole", "zoom out (Escape)", "whole range", () => zoom(null),
    { disabled: true });
  const save = button("save", "all charts as one vector picture", "SVG", () => saveAll());
  const readout = viz.el("p", { id: "readout", class: "quiet", "aria-live": "polite" });
  const toggle = (run, i) => viz.el("button", {
    type: "button", class: "run", "aria-pressed": "true", "data-run": i, style: viz.series(i),
    title: run.name, onclick: (event) => {
      if (state.hidden.has(i)) state.hidden.delete(i); else state.hidden.add(i);
      event.currentTarget.setAttribute("aria-pressed", String(!state.hidden.has(i)));
      draw();
    },
  },
    viz.el("span", { class: i < 8 ? "swatch" : "swatch again" }),
    viz.el("span", { class: "text" }, run.name, run.series.length ? "" : " (nothing logged yet)"));
  const toggles = data.runs.map(toggle);

  // Points and ranges

  function showReadout() {
    const visible = series.filter((s) => !state.hidden.has(s.run) && s.places[state.over]?.length);
    const first = visible.find((s) => !s.evaluated) ?? visible[0];
    if (!first) { readout.textContent = ""; return; }
    const x = first.places[state.over], i = state.at === null ? x.length - 1 : curves.nearest(x, state.at);
    const at = (name) => first.places[name]?.[i];
    const parts = [`step ${curves.format(at("step"))}`];
    if (at("epoch") !== undefined) parts.push(`epoch ${curves.format(at("epoch"))}`);
    if (at("seconds") !== undefined) parts.push(curves.seconds(at("seconds")));
    if (at("tokens") !== undefined) parts.push(`${curves.format(at("tokens"))} tokens`);
    readout.textContent = (state.at === null ? "last: " : "") + parts.join(" · ");
  }

  let waiting = false;
  function mark() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; for (const chart of state.charts) chart.mark(); showReadout(); });
  }

  function zoom(range) {
    const [low, high] = state.whole();
    if (range && !(range[1] - range[0] > 1e-6 * (high - low))) return; // too narrow
    state.zoom = range;
    whole.disabled = !range;
    draw();
  }

  /** Convert a value of one axis to another, such as the selected step to seconds. */
  let step = null;
  function between(value, from, to) {
    const own = series.find((s) => s.run === panel.track.run && s.places[from]?.length && s.places[to]);
    if (!own || from === to) return value;
    const x = own.places[from], y = own.places[to];
    if (x.length < 2) return y[0];
    const i = Math.min(Math.max(curves.place(x, value), 1), x.length - 1);
    const part = x[i] > x[i - 1] ? Math.max(0, Math.min(1, (value - x[i - 1]) / (x[i] - x[i - 1]))) : 0;
    return y[i - 1] + part * (y[i] - y[i - 1]);
  }
  function pick() { state.selectedX = step === null ? null : between(step, "step", state.over); }

  const onSelect = (one) => { step = one; pick(); mark(); };
  const panel = data.tracks.length ? new SnapshotPanel(data.tracks, onSelect) : null;

  for (const chart of state.charts) {
    const svg = chart.svg, value = (event) => {
      const box = svg.getBoundingClientRect();
      return chart.value((event.clientX - box.left) * (chart.right + 6) / box.width);
    };
    let begin = null;
    svg.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      begin = [event.clientX, value(event)];
      svg.setPointerCapture(event.pointerId);
    });
    svg.addEventListener("pointermove", (event) => {
      Object.assign(state, { at: value(event), hoveredChart: chart });
      state.drag = begin && Math.abs(event.clientX - begin[0]) > 5 ? [begin[1], state.at] : null;
      mark();
    });
    svg.addEventListener("pointerup", (event) => {
      const drag = state.drag;
      state.drag = null;
      const inside = (v) => Math.min(Math.max(v, chart.range[0]), chart.range[1]);
      if (drag) zoom([...drag].sort((a, b) => a - b).map(inside));
      else if (begin && panel) panel.at(between(value(event), state.over, "step"));
      begin = null;
    });
    svg.addEventListener("pointercancel", () => { begin = state.drag = null; mark(); });
    svg.addEventListener("pointerleave", () => { if (!begin) { state.at = null; mark(); } });
    svg.addEventListener("dblclick", () => zoom(null));
    svg.addEventListener("blur", () => { state.at = null; mark(); });
    svg.addEventListener("keydown", (event) => {
      const x = chart.visible[0]?.places[state.over];
      if (!x?.length || event.ctrlKey || event.metaKey || event.altKey) return; // browser shortcuts
      const last = x.length - 1, many = event.shiftKey ? 10 : 1;
      const i = state.at === null ? last : curves.nearest(x, state.at), on = state.at === null ? i : i + many;
      const to = { ArrowRight: on, ArrowLeft: i - many, Home: 0, End: last }[event.key];
      if (to !== undefined) {
        Object.assign(state, { hoveredChart: chart, at: x[Math.max(0, Math.min(to, last))] });
        mark();
      } else if (event.key === "Escape") { state.at = null; zoom(null); }
      else if (event.key === "+" || event.key === "-") {
        const [a, b] = chart.range, middle = state.at ?? (a + b) / 2, factor = event.key === "+" ? 0.5 : 2;
        const [low, high] = state.whole(), [from, end] = [a, b].map((v) => middle + (v - middle) * factor);
        zoom(from <= low && end >= high ? null : [Math.max(low, from), Math.min(high, end)]);
      } else if (event.key === "Enter" && panel && state.at !== null) {
        panel.at(between(state.at, state.over, "step"));
      } else return;
      event.preventDefault();
    });
  }

  /** Download all charts as one SVG, with the names of charts and runs. */
  function saveAll() {
    const box = document.getElementById("charts").getBoundingClientRect(), edge = 12, wide = 160, tall = 18;
    const visible = data.runs.map((run, i) => i).filter((i) => data.runs.length > 1 && !state.hidden.has(i));
    const across = Math.max(1, Math.floor(box.width / wide)), lines = Math.ceil(visible.length / across);
    const top = edge + lines * tall + (visible.length ? 12 : 0);
    const width = box.width + 2 * edge, height = box.height + top + edge, viewBox = `0 0 ${width} ${height}`;
    const drawing = viz.svg("svg", { class: "field export", width, height, viewBox });
    visible.forEach((i, n) => {
      const x = edge + n % across * wide, y = edge + Math.floor(n / across) * tall + 8;
      const { name } = data.runs[i], short = name.length > 20 ? `${name.slice(0, 19)}…` : name;
      drawing.append(viz.svg("g", { class: "curve", style: viz.series(i) },
        viz.svg("path", { class: "line", "stroke-dasharray": curves.dash(i), d: `M${x} ${y}h16` }),
        viz.svg("text", { class: "legend", x: x + 22, y: y + 4 }, short)));
    });
    for (const chart of state.charts) {
      const [figure, place] = [chart.figure, chart.svg].map((node) => node.getBoundingClientRect());
      const x = place.left - box.left + edge, y = place.top - box.top + top;
      drawing.append(viz.svg("text", { class: "label", x, y: figure.top - box.top + top + 16 }, chart.name),
        viz.svg("g", { transform: `translate(${x} ${y})` }, [...chart.svg.cloneNode(true).childNodes]));
    }
    document.body.append(drawing);
    viz.saveSvg(drawing, "training.svg");
    drawing.remove();
  }

  // The page

  const SHORTCUTS = [["← →", "in a chart: from value to value, with Shift ten at once"], ["Home End", "the first, the last value"],
    ["+ −", "in a chart: fewer steps, more steps"], ["Escape", "all steps"], ...(panel ? [["Enter", "the weights of that step"],
      ["↑ ↓", "in the list of weights: from one to another"]] : [])];
  const charts = viz.el("section", { id: "charts" }, state.charts.map((chart) => chart.figure));
  if (!data.charts.length) charts.append(viz.el("p", { id: "nothing" }, "Nothing has been logged yet."));
  root.append(
    viz.el("header", { class: "bar" },
      viz.el("h1", {}, data.title), viz.el("span", { class: "last" }), save, viz.shortcuts(SHORTCUTS), viz.theme.button()),
    viz.el("div", { class: "bar controls" },
      viz.el("label", { class: "quiet", for: "over" }, "over "), over,
      viz.el("label", { class: "quiet", for: "smoothing" }, "smoothing "), smoothing, smoothingLabel, whole),
    viz.el("div", { class: "bar runs" }, ...toggles, readout),
    viz.el("div", { id: "body", class: panel ? "with-panel" : "" }, charts, panel ? panel.node : []));
  if (panel) { panel.open(0); panel.at(Infinity); }
  new ResizeObserver(draw).observe(charts);
  draw();
  root.dataset.ready = "yes";
})();
