// Search for nodes and groups of a graph.
"use strict";

class GraphSearch {
  /** `names`: for ops that are the only op in their module. `go(key)` shows the choice. */
  constructor(graph, names, go) {
    Object.assign(this, { go, keys: [], at: 0, all: GraphSearch.entries(graph, names) });
    this.list = viz.el("ul", { id: "matches", role: "listbox", "aria-label": "matches", hidden: true,
      onmousedown: (event) => event.preventDefault() }); // keep the focus in the input
    this.input = viz.el("input", { id: "search", type: "search", autocomplete: "off", role: "combobox",
      placeholder: "Search: name, op, module, shape", "aria-label": "search", "aria-controls": "matches",
      "aria-expanded": "false", oninput: () => this.update(), onkeydown: (event) => this.key(event),
      onblur: () => this.show(false) });
    this.element = viz.el("div", { class: "find last" }, this.input, this.list);
  }

  /** All searchable entries: [key, name, description]. */
  static entries(graph, names) {
    const all = [];
    graph.groups.forEach(({ kind, label, times, path, children }, g) => {
      if (!g || kind === "section" || !children.length) return;
      all.push([`g${g}`, times ? `${label} × ${times}` : path, graph.modules[path]?.kind ?? "module"]);
    });
    for (const node of graph.nodes) {
      const value = graph.values[node.value], shape = value && GraphPanel.shape(value);
      const op = node.kind === "op" ? graph.ops[node.op]?.name ?? node.op : node.kind;
      const description = [op === node.name ? "" : op, names.get(node.id), shape, node.module];
      all.push([`n${node.id}`, node.name || op, description.filter(Boolean).join(" · ")]);
    }
    return all;
  }

  /** Entries that contain all the words; exact names come first. "(2, 3)" and "2 × 3" are the same. */
  find(text) {
    const plain = (words) => words.toLowerCase().replace(/\s*[×,]\s*(?=\d)/g, ",");
    const words = plain(text).split(/\s+/).filter(Boolean)
      .map((word) => word.replace(/^[([](?=\d)|(?<=\d),?[)\]]$/g, ""));
    if (!words.length) return [];
    const other = (name) => Number(name.toLowerCase() !== text.toLowerCase().trim());
    return this.all.filter(([, name, description]) => {
      const where = plain(`${name} ${description}`);
      return words.every((word) => where.includes(word));
    }).sort((a, b) => other(a[1]) - other(b[1])).slice(0, 60);
  }

  update() {
    const matches = this.find(this.input.value);
    this.keys = matches.map(([key]) => key);
    this.at = 0;
    this.list.replaceChildren(...matches.map(([, name, description], i) => (
      viz.el("li", { role: "option", id: `match-${i}`, onclick: () => this.choose(i) }, name, " ",
        viz.el("span", { class: "quiet" }, description)))));
    if (!matches.length) this.list.append(viz.el("li", { class: "quiet" }, "no matches"));
    this.show(Boolean(this.input.value.trim()));
    this.mark();
  }

  show(open) {
    this.list.hidden = !open;
    this.input.setAttribute("aria-expanded", String(open));
  }

  /** The entry that Enter selects. */
  mark() {
    this.input.setAttribute("aria-activedescendant", this.keys.length ? `match-${this.at}` : "");
    [...this.list.querySelectorAll("[role=option]")].forEach((item, i) => {
      item.setAttribute("aria-selected", String(i === this.at));
      if (i === this.at) item.scrollIntoView({ block: "nearest" });
    });
  }

  choose(i) {
    this.show(false);
    this.input.value = "";
    this.go(this.keys[i]);
  }

  key(event) {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const next = this.at + (event.key === "ArrowDown" ? 1 : -1);
      this.at = Math.max(Math.min(next, this.keys.length - 1), 0);
      this.mark();
    } else if (event.key === "Enter" && this.keys.length && !this.list.hidden) this.choose(this.at);
    else if (event.key === "Escape") {
      this.show(false);
      this.input.blur();
    }
  }
}
