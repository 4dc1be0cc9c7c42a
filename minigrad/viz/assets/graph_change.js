// Editable numbers, if the parent page runs Python and can recompute the graph.
// On a standalone page, numbers are read-only.
"use strict";

class GraphChange {
  /** `onUpdate()` is called after new numbers have arrived. */
  constructor(graph, onUpdate) {
    this.graph = graph;
    this.onUpdate = onUpdate;
    this.possible = false;
    this.changedNodes = new Set(); // nodes whose numbers differ from the program's
    this.first = graph.nodes.map((node) => this.numbers(node, graph.values));
    this.undo = viz.el("button", { id: "undo", type: "button", hidden: true,
      title: "the numbers that the program has", onclick: () => this.ask({ undo: true }) }, "Undo changes");
    this.status = viz.el("span", { id: "change", role: "status" });
    viz.link.listen(({ changeable, changed, failed }) => {
      if (changeable) this.possible = true;
      if (changed) this.take(changed);
      if (failed) this.status.textContent = failed;
    });
  }

  numbers({ value }, values) { return JSON.stringify(values[value] ?? null); }

  ask(change) {
    this.status.textContent = "computing again …";
    viz.link.send({ change });
  }

  /** Apply new numbers to the graph; nodes, edges and groups are in the same order. */
  take(data) {
    const { graph } = this;
    Object.assign(graph, { values: data.values, labels: data.labels });
    data.nodes.forEach(({ value, gradient, missing }, i) => Object.assign(graph.nodes[i], { value, gradient, missing }));
    data.edges.forEach((edge, i) => { graph.edges[i].gradient = edge.at(-1); });
    data.groups.forEach(({ total }, i) => { graph.groups[i].total = total; });
    this.changedNodes = new Set(graph.nodes.filter((node, i) => this.numbers(node, graph.values) !== this.first[i]).map(({ id }) => id));
    this.undo.hidden = !this.changedNodes.size;
    this.status.textContent = this.changedNodes.size ? "computed again with your numbers" : "";
    this.onUpdate();
  }

  /** Whether a value's elements can be edited: real numbers, each in its own cell. */
  canEdit(value) { return this.possible && value.table && !value.dtype.startsWith("complex"); }

  /** An editable cell in a node's table; it shows all digits while it has the focus. */
  cell(node, at, x) {
    const full = String(x), short = GraphPanel.number(x);
    const input = viz.el("input", { type: "text", inputmode: "decimal", value: short, title: full, "data-at": at,
      "aria-label": `element ${at} of ${node.name || node.op}`, spellcheck: "false", size: Math.max(short.length, 3),
      class: viz.number(x) < 0 ? "minus" : "",
      onfocus: () => { input.value = full; input.select(); },
      onblur: () => { input.value = short; },
      onchange: () => {
        const text = input.value.trim().replace("−", "-");
        if (text && text !== full) this.ask({ node: node.id, at, text });
      } });
    return viz.el("td", {}, input);
  }
}
