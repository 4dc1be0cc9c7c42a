// Several views of one call on one page, each in a frame: attention, and a graph for each of its texts.
"use strict";

const WIDE = 1300; // width in pixels from which both are visible

/** `data`: the frames' pages as HTML, the attention's first, then the graphs'. */
class Linked {
  constructor(data) {
    this.pages = data.frames;
    this.frames = []; // by page, created when first visible
    this.ready = new Set();
    this.told = {}; // what attention and the graphs reported about themselves
    this.graph = 1; // the visible one
    this.button = {};
    this.box = viz.el("div", { id: "views" });
    const ways = [["attention", "Attention"], ["both", "Both"], ["graph", "Graph"]];
    const buttons = ways.map(([name, text]) => {
      this.button[name] = viz.el("button", { id: `show-${name}`, type: "button",
        onclick: () => this.show(name) }, text);
      return this.button[name];
    });
    const choice = viz.el("div", { class: "choice", role: "group", "aria-label": "views" }, buttons);
    document.getElementById("linked").append(viz.el("header", { class: "bar" },
      viz.el("h1", { title: data.title }, data.title), choice,
      viz.el("span", { class: "last" }, viz.theme.button())), this.box);
    addEventListener("message", (event) => this.heard(event));
    viz.theme.changed(() => this.ready.forEach((page) => this.tell(page, { theme: viz.theme.get() })));
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

  tell(page, message) { viz.link.tell(message, this.frames[page].contentWindow); }

  heard({ source, data }) {
    const page = this.frames.findIndex((frame) => frame?.contentWindow === source), message = data?.viz;
    if (page < 0 || !message) return;
    if (message.ready) this.begin(page, message);
    if (message.text !== undefined) this.choose(message.text);
    if (message.find !== undefined) {
      this.bring("graph");
      this.tell(this.graph, { find: message.find });
    }
    if (message.look) {
      this.bring("attention");
      this.tell(0, { look: message.look });
    }
  }

  /** A frame has loaded: tell it about the theme and the others, and the others about it. */
  begin(page, { layers, modules }) {
    this.ready.add(page);
    this.tell(page, { theme: viz.theme.get() });
    if (layers) this.told.layers = layers;
    if (modules) this.told.modules = modules;
    const { layers: of, modules: there } = this.told;
    for (const each of this.ready) this.tell(each, each ? { layers: of } : { modules: there });
  }

  /** Show the graph of a different text in the beam. */
  choose(text) {
    const graph = Math.min(text + 1, this.pages.length - 1);
    if (graph === this.graph) return;
    this.frames[this.graph].classList.add("away");
    this.graph = graph;
    this.frame(graph).classList.remove("away");
  }
}

viz.data().then((data) => new Linked(data));
