// What is told of a node, a group or a wire of a graph. Whatever a program named is text.
"use strict";

/** `graph` is the page's data; `go(key)` shows a box ("n3", "g4"). */
class GraphPanel {
  constructor(graph, go) {
    this.graph = graph;
    this.go = go;
    this.into = graph.nodes.map(() => []);
    this.out = graph.nodes.map(() => []);
    graph.edges = graph.edges.map(([source, target, input, slot, gradient]) => ({ source, target, input, slot, gradient }));
    for (const edge of graph.edges) {
      this.into[edge.target].push(edge);
      this.out[edge.source].push(edge);
    }
    this.keepers = graph.nodes.map(() => []);
    for (const node of graph.nodes) {
      for (const saved of node.saved) if (saved.node !== null) this.keepers[saved.node].push({ node: node.id, saved });
    }
  }

  // A node -------------------------------------------------------------------------------------------------

  node(id) {
    const node = this.graph.nodes[id], op = this.graph.ops[node.op];
    const kind = { op: op?.name ?? node.op, parameter: "parameter", input: "input", constant: "constant: wants no gradient" }[node.kind];
    return [
      viz.el("h2", {}, node.name || kind),
      viz.el("p", { class: "quiet" }, node.name === kind ? "" : kind, node.module ? `${node.name === kind ? "" : " · "}in ${node.module}` : ""),
      op?.formula ? viz.el("p", { class: "formula" }, op.formula) : "",
      this.attributes(node),
      this.made(node),
      this.section("Value", this.value(node.value, "not kept: only its shape is known")),
      this.section("Gradient", this.gradient(node)),
      node.kind === "op" ? this.section("Inputs", this.inputs(id)) : "",
      op ? this.rules(op) : "",
      this.section("Memory", this.memory(node)),
      this.times(node),
    ];
  }

  section(title, ...content) { return viz.el("section", {}, viz.el("h3", {}, title), ...content); }

  attributes(node) {
    const all = Object.entries(node.attributes ?? {});
    return all.length ? viz.el("dl", {}, all.flatMap(([key, text]) => [viz.el("dt", {}, key), viz.el("dd", { class: "mono" }, text)])) : "";
  }

  made(node) {
    if (!node.place) return "";
    return this.section("Made by", viz.el("p", { class: "quiet" }, node.place), node.code ? viz.el("pre", {}, node.code) : "");
  }

  link(id) {
    const node = this.graph.nodes[id];
    return viz.el("button", { class: "link", type: "button", onclick: () => this.go(`n${id}`) }, node.name || node.op || node.kind);
  }

  gradient(node) {
    if (this.graph.backward === "none") return viz.el("p", { class: "quiet none" }, "no backward yet");
    if (node.gradient === null) {
      return viz.el("p", { class: "quiet" }, node.kind === "constant" ? "none: it wants none" : "none arrived");
    }
    const parts = this.out[node.id].filter((edge) => edge.gradient !== null);
    const items = parts.map((edge) => viz.el("li", {}, "from ", this.link(edge.target), `, input ${edge.input}`,
      this.value(edge.gradient)));
    if (parts.length === 1 && parts[0].gradient === node.gradient) return viz.el("ul", { class: "edges" }, items);
    const told = parts.length > 1 ? `the sum of ${parts.length}` : parts.length ? "what arrives" : "where backward begins";
    return viz.el("ul", { class: "edges" }, items, viz.el("li", { class: "sum" }, told, this.value(node.gradient)));
  }

  inputs(id) {
    const edges = this.into[id];
    if (!edges.length) return viz.el("p", { class: "quiet" }, "none that is recorded");
    return viz.el("ul", { class: "edges" }, edges.map((edge) => {
      const value = this.graph.values[this.graph.nodes[edge.source].value];
      return viz.el("li", {}, viz.el("span", { class: "mono" }, edge.input), " ← ", this.link(edge.source),
        value ? viz.el("span", { class: "quiet" }, ` ${GraphPanel.shape(value)}`) : "",
        edge.gradient === null ? "" : viz.el("details", {}, viz.el("summary", {}, "the gradient given back to it"), this.value(edge.gradient)));
    }));
  }

  rules(op) {
    const rules = Object.entries(op.rules).map(([input, source]) => this.source(
      input === "kernel" ? "the kernel's backward" : input === "plain" ? "the plain definition" : `∂ / ∂ ${input}`, source));
    const forward = op.forward ? viz.el("details", {}, viz.el("summary", {}, "Its definition"), this.source("", op.forward)) : "";
    return this.section(rules.length === 1 ? "Gradient rule" : "Gradient rules", rules.length ? rules : viz.el("p", { class: "quiet" }, "none"), forward);
  }

  source(told, source) {
    return viz.el("div", { class: "rule" }, viz.el("p", {}, told, told ? " " : "", viz.el("span", { class: "quiet" }, `${source.file}:${source.line}`)),
      viz.el("pre", {}, source.text));
  }

  memory(node) {
    const keeps = node.saved.map((saved) => viz.el("li", {}, "keeps ", viz.el("span", { class: "mono" }, saved.name),
      saved.node === null || saved.node === node.id ? "" : [" of ", this.link(saved.node)],
      viz.el("span", { class: "quiet" }, saved.bytes ? ` ${GraphPanel.bytes(saved.bytes)}` : " at no cost: it lives anyhow")));
    const kept = this.keepers[node.id].filter((each) => each.node !== node.id)
      .map((each) => viz.el("li", {}, "kept alive by ", this.link(each.node), viz.el("span", { class: "quiet" }, `, as its ${each.saved.name}`)));
    const all = [...keeps, ...kept];
    if (!all.length) return viz.el("p", { class: "quiet" }, "keeps nothing, and nothing keeps it");
    return viz.el("div", {}, viz.el("ul", {}, all), node.released ? viz.el("p", { class: "quiet" }, "A backward has released what it kept.") : "");
  }

  times(from) {
    const rows = [["forward", from.forward_seconds], ["backward", from.backward_seconds]].filter(([, s]) => s !== undefined && s !== null);
    if (!rows.length) return "";
    return this.section("Time", viz.el("dl", {}, rows.flatMap(([name, s]) => [viz.el("dt", {}, name), viz.el("dd", {}, GraphPanel.seconds(s))])));
  }

  // A group, a wire ----------------------------------------------------------------------------------------

  group(number, open, toggle) {
    const group = this.graph.groups[number], total = group.total;
    const module = group.kind === "section" ? null : this.graph.modules[group.path];
    const facts = [["nodes", total.nodes.toLocaleString("en")], ["parameters", total.parameters && total.parameters.toLocaleString("en")],
      ["results", GraphPanel.bytes(total.bytes)], ["kept for backward", total.saved_bytes && GraphPanel.bytes(total.saved_bytes)],
      ["gradient norm", total.gradient === null ? null : viz.format(total.gradient)]].filter(([, text]) => text);
    return [
      viz.el("h2", {}, GraphPanel.label(this.graph, number)),
      viz.el("p", { class: "quiet" }, group.kind === "repeat" ? `${group.children.length} of the same structure` : "",
        module ? `${group.kind === "repeat" ? ": " : ""}${module.kind}${module.told ? `(${module.told})` : ""}` : ""),
      group.path && group.kind === "module" ? viz.el("p", { class: "mono" }, group.path) : "",
      number ? viz.el("p", {}, viz.el("button", { type: "button", class: "toggle", onclick: toggle }, open ? "Close" : "Open")) : "",
      viz.el("dl", {}, facts.flatMap(([name, text]) => [viz.el("dt", {}, name), viz.el("dd", {}, text)])),
      this.graph.backward === "none" ? viz.el("p", { class: "quiet none" }, "no backward yet") : "",
      this.times(total),
      this.section("Inside", viz.el("ul", {}, group.children.map((key) => viz.el("li", {}, key[0] === "n" ? this.link(Number(key.slice(1)))
        : viz.el("button", { class: "link", type: "button", onclick: () => this.go(key) }, GraphPanel.label(this.graph, Number(key.slice(1)))))))),
    ];
  }

  wire(edges) {
    const shown = edges.slice(0, 50);
    return [
      viz.el("h2", {}, edges.length === 1 ? "A result that is read" : `${edges.length} results that are read`),
      viz.el("ul", { class: "edges" }, shown.map((edge) => viz.el("li", {}, this.link(edge.source), " → ", this.link(edge.target), `, input ${edge.input}`,
        this.value(this.graph.nodes[edge.source].value, ""),
        this.graph.backward === "none" ? viz.el("p", { class: "quiet none" }, "no backward yet")
          : edge.gradient === null ? viz.el("p", { class: "quiet" }, "no gradient goes back")
            : [viz.el("p", { class: "quiet" }, "gradient, before it is summed"), this.value(edge.gradient)]))),
      edges.length > shown.length ? viz.el("p", { class: "quiet" }, `and ${edges.length - shown.length} more`) : "",
    ];
  }

  // Numbers ------------------------------------------------------------------------------------------------

  /** A value by its place in the data: its kind, and a table, or statistics and a heat map. */
  value(place, otherwise = "") {
    const value = place === null || place === undefined ? null : this.graph.values[place];
    if (!value) return otherwise ? viz.el("p", { class: "quiet" }, otherwise) : "";
    const told = `${GraphPanel.shape(value)} · ${value.dtype} · ${value.device} · ${GraphPanel.bytes(value.bytes)}`;
    return viz.el("div", { class: "value" }, viz.el("p", { class: "quiet" }, told),
      value.table ? this.table(value.table) : "", value.statistics ? this.statistics(value.statistics) : "",
      value.heat ? this.heat(value.heat) : "");
  }

  table(rows) {
    const cell = (x) => viz.el("td", { title: String(x), class: viz.number(x) < 0 ? "minus" : "" }, viz.format(x).replace("-", "−"));
    return viz.el("div", { class: "scroll" }, viz.el("table", { class: "numbers" }, rows.map((row) => viz.el("tr", {}, row.map(cell)))));
  }

  statistics(all) {
    return viz.el("dl", {}, Object.entries(all).filter(([name, x]) => name !== "nan" || x)
      .flatMap(([name, x]) => [viz.el("dt", {}, name === "nan" ? "not finite" : name), viz.el("dd", { title: String(x) }, viz.format(x).replace("-", "−"))]));
  }

  /** Blue above zero, red below, paper at zero. */
  heat(heat) {
    const canvas = viz.el("canvas", { width: heat.columns, height: heat.rows, role: "img",
      "aria-label": `heat map of means, from ${viz.format(heat.low)} to ${viz.format(heat.high)}` });
    const side = Math.max(3, Math.min(12, Math.floor(360 / Math.max(heat.columns, heat.rows))));
    canvas.style.width = `${heat.columns * side}px`;
    canvas.style.height = `${heat.rows * side}px`;
    const paint = () => {
      const pen = canvas.getContext("2d"), bytes = atob(heat.cells);
      const most = Math.max(Math.abs(heat.low), Math.abs(heat.high)) || 1;
      const colours = { plus: viz.colour("plus"), minus: viz.colour("minus"), field: viz.colour("field"), quiet: viz.colour("quiet") };
      for (let i = 0; i < bytes.length; i++) {
        const code = bytes.charCodeAt(i), x = heat.low + (heat.high - heat.low) * code / 254;
        const at = [i % heat.columns, Math.floor(i / heat.columns), 1, 1];
        pen.globalAlpha = 1;
        pen.fillStyle = code === 255 ? colours.quiet : colours.field;
        pen.fillRect(...at);
        if (code === 255) continue;
        pen.globalAlpha = Math.abs(x) / most;
        pen.fillStyle = x < 0 ? colours.minus : colours.plus;
        pen.fillRect(...at);
      }
    };
    paint();
    canvas.addEventListener("repaint", paint);
    return viz.el("div", {}, canvas, viz.el("p", { class: "quiet" }, `means of cells, ${viz.format(heat.low).replace("-", "−")} to ${viz.format(heat.high).replace("-", "−")}`));
  }

  static shape(value) { return value.shape.length ? value.shape.join(" × ") : "scalar"; }

  static bytes(count) {
    for (const [unit, size] of [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]]) if (count >= size) return `${Number((count / size).toPrecision(3))} ${unit}`;
    return `${count} B`;
  }

  static seconds(s) {
    for (const [unit, size] of [["s", 1], ["ms", 1e-3], ["µs", 1e-6]]) if (s >= size) return `${Number((s / size).toPrecision(3))} ${unit}`;
    return `${Number((s * 1e9).toPrecision(3))} ns`;
  }

  /** What a group is called: a section by the ops at its ends. */
  static label(graph, number) {
    const group = graph.groups[number];
    if (group.label) return group.label;
    if (group.kind !== "section") return graph.title;
    const name = (key) => (key[0] === "g" ? GraphPanel.label(graph, Number(key.slice(1))) : graph.nodes[Number(key.slice(1))].name);
    return `${name(group.children[0])} … ${name(group.children.at(-1))}`;
  }
}
