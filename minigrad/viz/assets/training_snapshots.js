// The panel next to the curves, which follows the step: weights as tables, heat maps and histograms, or pictures.

/** The panel. `onSelect(step)` is called with the selected step. */
class SnapshotPanel {
  constructor(tracks, onSelect) {
    Object.assign(this, { tracks, onSelect, number: 0, index: 0, playing: null });
    Object.assign(this, { statistic: "norm", order: "model", filter: "", row: null }); // of tables
    const button = (id, title, text, onclick) => (
      viz.el("button", { id, type: "button", title, "aria-label": title, onclick }, text));
    this.choice = viz.el("select", {
      id: "track", "aria-label": "what is shown", onchange: () => this.open(Number(this.choice.value)),
    }, tracks.map((track, i) => viz.el("option", { value: i }, track.name)));
    this.slider = viz.el("input", {
      id: "scrub", type: "range", min: 0, value: 0, "aria-label": "step",
      oninput: () => { this.pause(); this.go(Number(this.slider.value)); },
    });
    this.stepLabel = viz.el("output", { id: "at-step", for: "scrub" });
    this.play = button("play", "play", "▶", () => (this.playing ? this.pause() : this.start()));
    const before = button("back", "the snapshot before", "‹", () => this.go(this.index - 1));
    const after = button("on", "the next snapshot", "›", () => this.go(this.index + 1));
    const name = tracks.length > 1 ? this.choice : viz.el("h2", { class: "name" }, tracks[0].name);
    this.body = viz.el("div", { id: "snapshot" });
    this.moving = [before, this.play, after, this.slider]; // controls for the step
    this.node = viz.el("aside", { id: "snapshots", "aria-label": "at a step" },
      viz.el("div", { class: "bar" }, name),
      viz.el("div", { class: "bar scrub" }, ...this.moving, this.stepLabel),
      this.body);
  }

  get track() { return this.tracks[this.number]; }

  /** Show another track, at the step nearest to the current one. */
  open(number) {
    const step = this.track.steps[this.index];
    this.number = number;
    this.slider.max = this.track.steps.length - 1;
    for (const node of this.moving) node.hidden = this.track.steps.length < 2;
    this.row = null;
    this.build();
    this.at(step ?? Infinity);
  }

  /** Go to the snapshot nearest to a step. */
  at(step) { this.go(curves.nearest(this.track.steps, step)); }

  go(index) {
    this.index = Math.max(0, Math.min(index, this.track.steps.length - 1));
    this.slider.value = this.index;
    const step = this.track.steps[this.index];
    this.stepLabel.textContent = `step ${curves.format(step)}`;
    this.slider.setAttribute("aria-valuetext", this.stepLabel.textContent);
    this.show();
    this.onSelect(step);
  }

  start() {
    if (this.index === this.track.steps.length - 1) this.go(0);
    this.playing = setInterval(() => {
      this.go(this.index + 1);
      if (this.index === this.track.steps.length - 1) this.pause();
    }, 700);
    this.play.textContent = "❚❚";
    this.play.setAttribute("aria-label", "pause");
  }

  pause() {
    clearInterval(this.playing);
    this.playing = null;
    this.play.textContent = "▶";
    this.play.setAttribute("aria-label", "play");
  }

  /** Build the static parts of the panel. */
  build() {
    if (this.track.table) this.buildTable();
    else this.body.replaceChildren(this.frame = viz.el("div", { id: "frame" }));
  }

  /** Update the parts that depend on the step. */
  show() {
    if (this.track.table) this.showTable();
    else this.showPicture(this.track.frames[this.index]);
  }

  // Pictures

  showPicture(svg) {
    const image = this.frame.querySelector("img") ?? this.picture();
    image.src = `data:image/svg+xml,${encodeURIComponent(svg)}`;
    image.alt = `${this.track.name}, ${this.stepLabel.textContent}`;
  }

  /** A picture that fits the panel; a click toggles its natural size. */
  picture() {
    const image = viz.el("img"), large = () => button.getAttribute("aria-pressed") === "true";
    const button = viz.el("button", {
      type: "button", class: "picture", title: "its own size", "aria-pressed": "false",
      onclick: () => button.setAttribute("aria-pressed", String(!large())),
    }, image);
    this.frame.replaceChildren(button);
    return image;
  }

  // Weights

  buildTable() {
    const table = this.track.table, kinds = [...new Set(table.flatMap((row) => Object.keys(row.statistics)))];
    if (!kinds.includes(this.statistic)) this.statistic = kinds[0];
    this.list = viz.el("div", { id: "parameters", tabindex: -1 });
    this.detail = viz.el("div", { id: "detail" });
    this.body.replaceChildren(this.choices(kinds), this.list, this.detail);
    this.rows = table.map((row, i) => this.entry(row, i));
    this.list.append(...this.rows.map(({ node }) => node));
    this.list.addEventListener("keydown", (event) => this.walk(event));
    this.row = Math.max(0, this.rows.findIndex(({ row }) => row.cells[0] > 1));
    this.lines();
  }

  /** The controls for statistic, order and filter. */
  choices(kinds) {
    const choice = (id, name, all, onSelect) => {
      const options = Object.entries(all).map(([value, text]) => (
        viz.el("option", { value, selected: value === this[id] }, text)));
      const select = viz.el("select", { id, "aria-label": name, onchange: () => {
        this[id] = select.value;
        onSelect();
      } }, options);
      return select;
    };
    const names = Object.fromEntries(kinds.map((kind) => [kind, kind]));
    const orders = { model: "in the model's order", value: "largest first" };
    const statistic = choice("statistic", "statistic", names, () => { this.lines(); this.show(); });
    const order = choice("order", "order", orders, () => this.show());
    const search = viz.el("input", {
      id: "filter", type: "search", placeholder: "name", "aria-label": "names that contain",
      value: this.filter, oninput: () => { this.filter = search.value; this.show(); },
    });
    return viz.el("div", { class: "bar" }, statistic, order, search);
  }

  /** A row of the table: a name, a sparkline, and the number at the current step. */
  entry(row, i) {
    const line = viz.svg("path", { class: "spark" }), dot = viz.svg("circle", { class: "spot", r: 2.2 });
    const value = viz.el("span", { class: "number" });
    const node = viz.el("button", {
      type: "button", class: "row", "aria-pressed": "false", "data-row": i,
      onclick: () => { this.row = i; this.show(); },
    },
      viz.el("span", { class: "name", title: row.name }, viz.el("bdi", {}, row.name)),
      viz.svg("svg", { viewBox: "0 0 80 18", width: 80, height: 18, "aria-hidden": "true" }, line, dot),
      value);
    return { node, line, dot, value, row };
  }

  /** Arrow keys move from row to row. */
  walk(event) {
    const to = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" }[event.key];
    let next = to && event.target.closest(".row")?.[to];
    while (next?.hidden) next = next[to];
    if (!next) return;
    event.preventDefault();
    next.focus();
    next.click();
  }

  numbers(row) { return (row.statistics[this.statistic] ?? []).map(viz.number); }

  /** Draw the sparklines of the selected statistic. */
  lines() {
    const steps = this.track.steps, span = steps.at(-1) - steps[0] || 1;
    for (const entry of this.rows) {
      const values = this.numbers(entry.row), finite = values.filter(Number.isFinite);
      const low = Math.min(...finite), high = Math.max(...finite);
      const rise = (v) => (high > low ? 15 - (v - low) / (high - low) * 12 : 9);
      const places = values.map((v, i) => [3 + (steps[i] - steps[0]) / span * 74, rise(v)]);
      let pen = "M";
      entry.line.setAttribute("d", places.map(([x, y], i) => {
        if (!Number.isFinite(values[i])) { pen = "M"; return ""; }
        const text = `${pen}${x.toFixed(1)} ${y.toFixed(1)}`;
        pen = "L";
        return text;
      }).join(""));
      entry.places = places;
    }
  }

  showTable() {
    const words = this.filter.toLowerCase();
    for (const [i, entry] of this.rows.entries()) {
      const value = this.numbers(entry.row)[this.index], [x, y] = entry.places[this.index] ?? [0, NaN];
      entry.now = value;
      const finite = Number.isFinite(value);
      const missing = value === undefined || (this.statistic === "change" && this.index === 0);
      entry.value.textContent = finite ? viz.format(value) : missing ? "–" : curves.exact(value);
      entry.dot.style.display = finite && Number.isFinite(y) ? "" : "none";
      if (finite) { entry.dot.setAttribute("cx", x); entry.dot.setAttribute("cy", y); }
      entry.node.hidden = !entry.row.name.toLowerCase().includes(words);
      entry.node.setAttribute("aria-pressed", String(i === this.row));
    }
    const focused = document.activeElement;
    const size = (entry) => (Number.isFinite(entry.now) ? entry.now : -Infinity);
    const sorted = this.order === "value" ? [...this.rows].sort((a, b) => size(b) - size(a)) : this.rows;
    if (sorted.some(({ node }, i) => this.list.children[i] !== node)) {
      this.list.append(...sorted.map(({ node }) => node));
      if (this.list.contains(focused)) focused.focus();
    }
    this.showDetail(this.rows[this.row]?.row);
  }

  showDetail(row) {
    if (!row) { this.detail.replaceChildren(); return; }
    const shape = viz.el("span", { class: "quiet" }, ` ${row.shape.join(" × ") || "scalar"}`);
    const name = viz.el("h2", { title: row.name }, row.name, shape);
    const pictures = viz.el("div", { class: "pictures" }, this.heat(row), this.histogram(row));
    const lines = Object.entries(row.statistics).map(([kind, all]) => {
      const x = viz.number(all[this.index]), number = viz.el("td", {}, Number.isNaN(x) ? "–" : viz.format(x));
      return viz.el("tr", {}, viz.el("th", { scope: "row" }, kind), number);
    });
    const numbers = viz.el("table", { class: "numbers" }, viz.el("tbody", {}, lines));
    this.detail.replaceChildren(name, pictures, numbers);
  }

  heat(row) {
    const [rows, columns] = row.cells, most = viz.number(row.scale);
    const all = viz.bytes(row.heat, Int8Array), begin = this.index * rows * columns;
    const value = (i) => (all[begin + i] === -128 ? NaN : all[begin + i] / 127 * most);
    const caption = `means, ${rows} × ${columns} cells, to ±${viz.format(most)}`;
    const label = viz.el("figcaption", { class: "quiet" }, caption);
    const onHover = (r, c, number) => {
      label.textContent = r === null ? caption : `cell ${r}, ${c}: ${viz.format(number)}`;
    };
    const canvas = viz.heat({ rows, columns, value, most, label: `heat map of ${row.name}`, onHover });
    canvas.classList.toggle("vector", rows === 1);
    return viz.el("figure", {}, canvas, label);
  }

  histogram(row) {
    const all = viz.bytes(row.histogram), bins = all.length / this.track.steps.length;
    const [low, high] = row.range.map(viz.number), height = 96, width = 200, parts = [];
    if (low < 0 && high > 0) {
      parts.push(viz.svg("path", { class: "zero", d: `M${-low / (high - low) * width} 0V${height}` }));
    }
    const wide = width / bins, bars = Array.from({ length: bins }, (_, i) => {
      const tall = all[this.index * bins + i] / 255 * height;
      return viz.svg("rect", { x: i * wide + 0.5, y: height - tall, width: wide - 1, height: tall });
    });
    parts.push(viz.svg("g", { class: "bars" }, bars));
    parts.push(viz.svg("path", { class: "axis", d: `M0 ${height + 0.5}H${width}` }));
    const aria = { role: "img", "aria-label": `histogram of ${row.name}` };
    const ends = [low, high].map((x) => viz.el("span", {}, viz.format(x)));
    return viz.el("figure", { class: "histogram" },
      viz.svg("svg", { viewBox: `0 0 ${width} ${height + 1}`, ...aria }, parts),
      viz.el("figcaption", { class: "quiet" }, ends));
  }
}
