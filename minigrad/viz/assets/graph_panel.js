// The panel about a node, a group or a wire of a graph. Names from the program are inserted as text.
"use strict";

const MAX_LINKS = 8; // maximum attention layers in a panel
const FREED = "gone: a backward pass has freed the graph, and keeps only the gradients of leaves; "
  + "backward(retain_graph=True) keeps these, and so does a picture that is made before";

/** `graph` is the page's data; `go(key)` shows a box ("n3", "g4"). */
class GraphPanel {
  constructor(graph, go) {
    this.graph = graph;
    this.go = go;
    this.names = new Map(graph.names ?? []); // for ops that are the only op in a module: the module's name
    this.freed = graph.nodes.some(({ released }) => released);
    this.change = null; // accepts changed numbers (graph_change.js), on a graph's own page
    this.layers = []; // of the attention on the same page: {path, label, …}
    this.incoming = graph.nodes.map(() => []);
    this.outgoing = graph.nodes.map(() => []);
    const toEdge = ([source, target, input, slot, gradient]) => ({ source, target, input, slot, gradient });
    graph.edges = graph.edges.map(toEdge);
    for (const edge of graph.edges) {
      this.incoming[edge.target].push(edge);
      this.outgoing[edge.source].push(edge);
    }
    this.keepers = graph.nodes.map(() => []);
    for (const { id, saved } of graph.nodes) {
      for (const { node, name } of saved) if (node !== null) this.keepers[node].push({ node: id, name });
    }
    this.heads = this.headPlaces(); // indices of values whose second axis is heads
  }

  /** The inputs and results of attention: (B, H, T, …). */
  headPlaces() {
    const { nodes, ops, modules } = this.graph, places = new Set();
    const within = ({ module }) => /attention/i.test(modules[module]?.kind ?? "");
    for (const node of nodes) {
      const op = ops[node.op]?.name ?? "", attends = op.includes("attention");
      if (!attends && !(op.includes("softmax") && within(node))) continue;
      const read = this.incoming[node.id].map(({ source, gradient }) => [nodes[source].value, gradient]);
      for (const place of [node.value, node.gradient, ...read.flat()]) places.add(place);
    }
    return places;
  }

  // A node -------------------------------------------------------------------------------------------------

  node(id) {
    const node = this.graph.nodes[id], op = this.graph.ops[node.op];
    const kind = { op: op?.name ?? node.op, parameter: "parameter", input: "input",
      constant: "constant: without a gradient" }[node.kind];
    const summary = [node.name === kind ? "" : kind, node.module && `in ${node.module}`];
    return [
      viz.el("h2", {}, node.name || kind),
      this.quiet(summary.filter(Boolean).join(" · ")),
      op?.formula ? viz.el("p", { class: "formula" }, GraphPanel.prose(op.formula)) : "",
      this.facts(Object.entries(node.attributes ?? {}), "mono"),
      this.attentionLinks([node]),
      this.origin(node),
      this.section("Value", this.value(node.value, "", node), node.missing ? this.quiet(node.missing) : ""),
      this.section("Gradient", this.gradient(node)),
      node.kind === "op" ? this.section("Inputs", this.inputs(id)) : "",
      op ? this.rules(op) : "",
      this.section("Memory", this.memory(node)),
      this.times(node),
    ];
  }

  section(title, ...content) { return viz.el("section", {}, viz.el("h3", {}, title), ...content); }

  quiet(...text) { return viz.el("p", { class: "quiet" }, ...text); }

  /** The note before any backward pass: gradients are missing, not zero. */
  none() { return viz.el("p", { class: "quiet none" }, "no backward yet"); }

  aside(...text) { return viz.el("span", { class: "quiet" }, ...text); }

  /** A description list of [[name, text]]. */
  facts(all, look = null) {
    if (!all.length) return "";
    const pair = ([name, text]) => [viz.el("dt", {}, name), viz.el("dd", { class: look }, text)];
    return viz.el("dl", {}, all.flatMap(pair));
  }

  /** Links to the attention that runs in the modules of some nodes, if the page shows it. */
  attentionLinks(nodes) {
    const modules = new Set(nodes.filter(({ kind }) => kind === "op").map(({ module }) => module));
    const matches = this.layers.filter(({ path }) => modules.has(path)), visible = matches.slice(0, MAX_LINKS);
    const item = (layer) => viz.el("li", {}, viz.el("button", { class: "link look", type: "button",
      onclick: () => viz.link.send({ look: layer }) }, layer.label));
    const more = matches.length > MAX_LINKS ? this.quiet(`and ${matches.length - MAX_LINKS} more`) : "";
    return matches.length ? this.section("Attention", viz.el("ul", {}, visible.map(item)), more) : "";
  }

  /** The nodes in a group. */
  inside(number) {
    return this.graph.groups[number].children.flatMap((key) => (
      key[0] === "n" ? this.graph.nodes[Number(key.slice(1))] : this.inside(Number(key.slice(1)))));
  }

  origin(node) {
    if (!node.place) return "";
    return this.section("Made by", this.quiet(node.place), node.code ? viz.el("pre", {}, node.code) : "");
  }

  link(id) {
    const node = this.graph.nodes[id];
    return this.button(`n${id}`, this.names.get(id) ?? (node.name || node.op || node.kind));
  }

  button(key, text) {
    return viz.el("button", { class: "link", type: "button", onclick: () => this.go(key) }, text);
  }

  /** The gradient on each edge, and the sum; for an op with several results, the first one's. */
  gradient(node) {
    if (this.graph.backward === "none") return this.none();
    const parts = this.outgoing[node.id].filter((edge) => edge.gradient !== null);
    if (node.gradient === null && !parts.length) {
      if (node.kind === "constant") return this.quiet("none: a constant has no gradient");
      return this.quiet(node.kind === "op" && this.freed ? FREED : "none arrived");
    }
    const several = parts.some((edge) => edge.slot);
    const result = (slot) => (several ? `, of result ${slot + 1}` : "");
    const items = parts.map((edge) => viz.el("li", {}, "from ", this.link(edge.target),
      `, input ${edge.input}${result(edge.slot)}`, this.value(edge.gradient)));
    const first = parts.filter((edge) => !edge.slot);
    if (node.gradient !== null && !(first.length === 1 && first[0].gradient === node.gradient)) {
      const sum = first.length > 1 ? `the sum of ${first.length}` : "what arrives";
      const summary = first.length ? `${sum}${result(0)}` : "where backward begins";
      items.push(viz.el("li", { class: "sum" }, summary, this.value(node.gradient)));
    }
    return viz.el("ul", { class: "edges" }, items);
  }

  inputs(id) {
    const edges = this.incoming[id];
    if (!edges.length) return this.quiet("none that is recorded");
    return viz.el("ul", { class: "edges" }, edges.map((edge) => {
      const value = this.graph.values[this.graph.nodes[edge.source].value];
      const back = edge.gradient === null ? "" : viz.el("details", {},
        viz.el("summary", {}, "the gradient that goes back to it"), this.value(edge.gradient));
      return viz.el("li", {}, viz.el("span", { class: "mono" }, edge.input), " ← ", this.link(edge.source),
        value ? [" ", viz.el("span", { class: "quiet nowrap" }, GraphPanel.shape(value))] : "", back);
    }));
  }

  /** For each input, the formula and the rule's source; collapsed: the kernel and the definition. */
  rules(op) {
    const rules = Object.entries(op.rules)
      .map(([input, source]) => [this.derivative(op, input), this.source(`∂ / ∂ ${input}`, source)]);
    const collapsible = (title, source) => (source ? viz.el("details", {}, viz.el("summary", {}, title),
      this.source("", source)) : "");
    return this.section(rules.length === 1 ? "Gradient rule" : "Gradient rules",
      ...(rules.length ? rules.flat() : [this.quiet(op.kernel ? "in its kernel" : "none")]),
      collapsible("Its kernel", op.kernel), collapsible("Its definition", op.forward));
  }

  derivative(op, input) {
    const formula = op.gradients?.[input];
    return formula ? viz.el("p", { class: "formula derivative" }, formula) : "";
  }

  source(about, { file, line, text }) {
    const where = viz.el("p", {}, about, about ? " " : "", this.aside(GraphPanel.location(file, line)));
    return viz.el("div", { class: "rule" }, where, viz.el("pre", {}, text));
  }

  /** What a node keeps alive, and what keeps its result alive. */
  memory(node) {
    const keeps = node.saved.map((saved) => viz.el("li", {},
      "keeps ", viz.el("span", { class: "mono" }, saved.name),
      saved.node === null || saved.node === node.id ? "" : [" of ", this.link(saved.node)],
      this.aside(saved.bytes ? ` ${GraphPanel.bytes(saved.bytes)}` : " at no cost: it is alive anyway")));
    const keptBy = this.keepers[node.id].filter((each) => each.node !== node.id).map((each) => viz.el("li", {},
      "kept alive by ", this.link(each.node), this.aside(`, as its ${each.name}`)));
    const all = [...keeps, ...keptBy];
    if (!all.length) return this.quiet("keeps nothing, and nothing keeps it");
    const released = node.released ? this.quiet("A backward pass has released what it kept.") : "";
    return viz.el("div", {}, viz.el("ul", {}, all), released);
  }

  times(from) {
    const durations = [["forward", from.forward_seconds], ["backward", from.backward_seconds]]
      .filter(([, seconds]) => seconds !== null);
    const facts = durations.map(([name, seconds]) => [name, GraphPanel.seconds(seconds)]);
    return facts.length ? this.section("Time", this.facts(facts)) : "";
  }

  // A group, a wire ----------------------------------------------------------------------------------------

  group(number, open, toggle) {
    const group = this.graph.groups[number], { total } = group;
    const module = group.kind === "section" ? null : this.graph.modules[group.path];
    const alike = group.times ? `${group.times} of the same structure` : "";
    const summary = module?.kind ? `${module.kind}${module.text ? `(${module.text})` : ""}` : "";
    const count = (n) => n.toLocaleString("en");
    const facts = [["nodes", count(total.nodes)], ["parameters", total.parameters && count(total.parameters)],
      ["results", GraphPanel.bytes(total.bytes)],
      ["kept for backward", total.saved_bytes && GraphPanel.bytes(total.saved_bytes)],
      ["gradient norm", total.gradient !== null && GraphPanel.number(total.gradient)]];
    const child = (key) => (key[0] === "n" ? this.link(Number(key.slice(1)))
      : this.button(key, GraphPanel.title(this.graph.groups[Number(key.slice(1))])));
    return [
      viz.el("h2", {}, GraphPanel.title(group)),
      this.quiet([alike, summary].filter(Boolean).join(": ")),
      group.path && group.kind === "module" ? viz.el("p", { class: "mono" }, group.path) : "",
      viz.el("p", {}, viz.el("button", { type: "button", class: "toggle", onclick: toggle },
        open ? "Close" : "Open")),
      this.attentionLinks(this.inside(number)),
      this.facts(facts.filter(([, text]) => text)),
      this.graph.backward === "none" ? this.none() : "",
      this.times(total),
      this.section("Inside", viz.el("ul", {}, group.children.map((key) => viz.el("li", {}, child(key))))),
    ];
  }

  wire(edges) {
    const visible = edges.slice(0, 50), more = edges.length - visible.length;
    const back = (edge) => {
      if (this.graph.backward === "none") return this.none();
      if (edge.gradient === null) return this.quiet("no gradient goes back");
      return [this.quiet("gradient, before it is summed"), this.value(edge.gradient)];
    };
    const item = (edge) => viz.el("li", {}, this.link(edge.source), " → ", this.link(edge.target),
      `, input ${edge.input}`, this.value(this.graph.nodes[edge.source].value), back(edge));
    return [
      viz.el("h2", {}, edges.length > 1 ? `${edges.length} results that are read` : "A result that is read"),
      viz.el("ul", { class: "edges" }, visible.map(item)),
      more ? this.quiet(`and ${more} more`) : "",
    ];
  }

  // Numbers ------------------------------------------------------------------------------------------------

  /** A value by its index: type, and a table, or statistics and a heat map. A `node`'s own value is editable. */
  value(place, otherwise = "", node = null) {
    const value = this.graph.values[place];
    if (!value) return otherwise && this.quiet(otherwise);
    const summary = [GraphPanel.shape(value), value.dtype, value.device, GraphPanel.bytes(value.bytes)];
    return viz.el("div", { class: "value" }, this.quiet(GraphPanel.nowrap(summary)),
      value.table ? this.table(value.table, node && this.change?.canEdit(value) ? node : null) : "", value.statistics ? this.statistics(value.statistics) : "",
      value.heat ? this.heat(value.heat, this.blockNames(value, this.heads.has(place))) : "");
  }

  /** A table of numbers; those of a `node` are editable. */
  table(rows, node = null) {
    const plain = (x) => viz.el("td", { title: String(x), class: viz.number(x) < 0 ? "minus" : "" }, GraphPanel.number(x));
    const cell = (x, at) => (node ? this.change.cell(node, at, x) : plain(x));
    const table = viz.el("table", { class: "numbers" },
      rows.map((row, i) => viz.el("tr", {}, row.map((x, j) => cell(x, i * row.length + j)))));
    return viz.el("div", { class: "scroll" }, table, node ? this.quiet("Type another number: the rest follows.") : "");
  }

  statistics(all) {
    const entries = Object.entries(all).filter(([name, x]) => name !== "nan" || x);
    return viz.el("dl", {}, entries.flatMap(([name, x]) => [
      viz.el("dt", {}, name === "nan" ? "not finite" : name),
      viz.el("dd", { title: String(x) }, GraphPanel.number(x))]));
  }

  /** The names of a heat map's blocks: their indices "[0, 3]", or heads. */
  blockNames({ shape, heat }, heads) {
    const leading = shape.slice(0, -2);
    return Array.from({ length: heat.blocks > 1 ? heat.blocks : 0 }, (_, i) => {
      const index = leading.map((size, axis) => Math.floor(i / leading.slice(axis + 1).reduce((a, b) => a * b, 1)) % size);
      if (!heads || shape.length !== 4) return `[${index.join(", ")}]`;
      return `${leading[0] > 1 ? `${index[0]}, ` : ""}head ${index[1]}`;
    });
  }

  /** Heat map of means over cells, with a readout for the pointer. Blocks with `names` are stacked. */
  heat({ rows, columns, low, high, cells }, names) {
    const bytes = viz.bytes(cells), [least, most] = [low, high].map(GraphPanel.number);
    const range = `means of cells, ${least} to ${most}`, caption = this.quiet(range);
    const side = Math.max(3, Math.min(12, Math.floor(360 / Math.max(rows, columns))));
    const tall = rows / Math.max(names.length, 1);
    const part = (name, k) => {
      const value = (i) => {
        const byte = bytes[k * tall * columns + i];
        return byte === 255 ? NaN : low + (high - low) * byte / 254;
      };
      return viz.heat({ rows: tall, columns, value, most: Math.max(Math.abs(low), Math.abs(high)), side,
        label: `heat map of means${name && `, ${name}`}, from ${least} to ${most}`,
        onHover: (row, column, mean) => {
          const where = name ? `${name}, ` : "";
          caption.textContent = row === null ? range : `${where}the mean of this cell: ${GraphPanel.number(mean)}`;
        } });
    };
    if (!names.length) return viz.el("div", {}, part("", 0), caption);
    const figure = names.map((name, k) => viz.el("figure", {}, viz.el("figcaption", {}, name), part(name, k)));
    return viz.el("div", {}, viz.el("div", { class: "blocks" }, figure), caption);
  }

  /** A line of a docstring: text between double backticks is code. */
  static prose(text) {
    return text.split("``").map((part, i) => (i % 2 ? viz.el("code", {}, part) : part));
  }

  /** A line of a file, or of a notebook's cell. */
  static location(file, line) { return /^cell \d+$/.test(file) ? `${file}, line ${line}` : `${file}:${line}`; }

  /** Facts on a line that breaks only between them. */
  static nowrap(facts) { return facts.map((text, i) => [i ? " · " : "", viz.el("span", { class: "nowrap" }, text)]).flat(); }

  /** A number with a typographic minus, in the exponent too. */
  static number(x) { return viz.format(x).replaceAll("-", "−"); }

  /** A shape as Python writes it: "()", "(3,)", "(2, 3)". */
  static shape({ shape }) { return `(${shape.join(", ")}${shape.length === 1 ? "," : ""})`; }

  static count(number) {
    return GraphPanel.unit(number, [["G", 1e9], ["M", 1e6], ["k", 1e3], ["", 1]]).trim();
  }

  static bytes(count) {
    return GraphPanel.unit(count, [["GB", 1e9], ["MB", 1e6], ["kB", 1e3], ["B", 1]]);
  }

  static seconds(time) {
    return GraphPanel.unit(time, [["s", 1], ["ms", 1e-3], ["µs", 1e-6], ["ns", 1e-9]]);
  }

  /** Three significant digits, in the largest unit that leaves at least 1. */
  static unit(amount, units) {
    const [name, size] = units.find(([, size]) => amount >= size) ?? units.at(-1);
    return `${Number((amount / size).toPrecision(3))} ${name}`;
  }

  /** A group's name, and the number of modules that it represents. */
  static title(group) { return group.times ? `${group.label} × ${group.times}` : group.label; }
}
