// Linked views of one call, each in an iframe: attention, and a graph for each text.
"use strict";

const WIDE = 1300; // viewport width in pixels from which both views are visible

/** `data.frames`: the pages as HTML, attention first, then the graphs. */
class Linked {
  constructor(data) {
    this.pages = data.frames;
    this.frames = []; // by page, created on first use
    this.ready = new Set();
    this.info = {}; // reported by the attention and the graphs
    this.graph = 1; // the visible one
    this.button = {};
    this.box = viz.el("div", { id: "views" });
    const views = [["attention", "Attention"], ["both", "Both"], ["graph", "Graph"]];
    const buttons = views.map(([name, text]) => {
      this.button[name] = viz.el("button", { id: `show-${name}`, type: "button",
        onclick: () => this.show(name) }, text);
      return this.button[name];
    });
    const choice = viz.el("div", { class: "choice", role: "group", "aria-label": "views" }, buttons);
    document.getElementById("linked").append(viz.el("header", { class: "bar" },
      viz.el("h1", { title: data.title }, data.title), choice,
      viz.el("span", { class: "last" }, viz.theme.button())), this.box);
    addEventListener("message", (event) => this.onMessage(event));
    viz.theme.onChange(() => this.ready.forEach((page) => this.send(page, { theme: viz.theme.get() })));
    this.frame(0);
    this.frame(1);
    this.show(innerWidth < WIDE ? "attention" : "both");
  }

  /** A page's frame, created on first use. */
  frame(page) {
    this.frames[page] ??= this.box.appendChild(viz.el("iframe", { srcdoc: this.pages[page],
      title: page ? "compute graph" : "attention", class: page ? "graph" : "attention" }));
    return this.frames[page];
  }

  show(which) {
    this.box.dataset.show = which;
    for (const [name, button] of Object.entries(this.button)) {
      button.setAttribute("aria-pressed", String(name === which));
    }
  }

  /** Make sure that a view is visible. */
  bring(which) { if (![which, "both"].includes(this.box.dataset.show)) this.show(which); }

  send(page, message) { viz.link.send(message, this.frames[page].contentWindow); }

  onMessage({ source, data }) {
    const page = this.frames.findIndex((frame) => frame?.contentWindow === source), message = data?.viz;
    if (page < 0 || !message) return;
    if (message.ready) this.begin(page, message);
    if (message.text !== undefined) this.choose(message.text);
    if (message.find !== undefined) {
      this.bring("graph");
      this.send(this.graph, { find: message.find });
    }
    if (message.look) {
      this.bring("attention");
      this.send(0, { look: message.look });
    }
  }

  /** A frame has loaded: send it the theme, and exchange layers and modules among the frames. */
  begin(page, { layers, modules }) {
    this.ready.add(page);
    this.send(page, { theme: viz.theme.get() });
    if (layers) this.info.layers = layers;
    if (modules) this.info.modules = modules;
    const { layers: allLayers, modules: allModules } = this.info;
    for (const each of this.ready) this.send(each, each ? { layers: allLayers } : { modules: allModules });
  }

  /** Show the graph of a different text in the beam. */
  choose(text) {
    const graph = Math.min(text + 1, this.pages.length - 1);
    if (graph === this.graph) return;
    this.frames[this.graph].classList.add("inactive");
    this.graph = graph;
    this.frame(graph).classList.remove("inactive");
  }
}

viz.data().then((data) => new Linked(data));
