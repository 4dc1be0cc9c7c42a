// The playground: a program on the left; its output, its losses, and pictures of its computation on the right.

import { createCurve } from "./curve.js";
import { createEditor } from "./editor.js";
import { runner } from "./first.js";
import { hashOf, programOf } from "./link.js";
import { createOutput } from "./output.js";
import { downloadText, progressText } from "./runner.js";
import examples from "examples";

const PANELS = { output: "Output", graph: "Graph", playback: "Playback", explain: "Explain", attention: "Attention" };
const USUAL = { graph: "viz.graph(loss)", playback: "viz.playback(loss)", explain: "print(viz.explain(x))", attention: "viz.attention(model, x)" };
const EXPORTED = "try:\n    display\nexcept NameError:  # outside of notebooks\n\n    def display(value, **_):\n        return type(\"Shown\", (), {\"update\": lambda self, value: None})()\n\n";

const STORAGE_KEY = "minigrad.playground"; // the browser's key for the last edited program
const OWN = "own"; // its value in the menu

/** The last edited program, even from an earlier visit; null if there is none, or the browser stores nothing. */
function storedProgram() {
  try {
    return localStorage.getItem(STORAGE_KEY);
  } catch {
    return null;
  }
}

function storeProgram(program) {
  try {
    localStorage.setItem(STORAGE_KEY, program);
  } catch {
    // the browser does not store anything for this site, or is out of space
  }
}

const make = (tag, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
};

/** The panels' expressions from the head of a program: lines "#| graph: viz.graph(loss)". */
function panelsOf(program) {
  const expressions = [...program.matchAll(/^#\| (\w+): (.+)$/gm)].map(([, name, code]) => [name, code]);
  return { ...USUAL, ...Object.fromEntries(expressions) };
}

class Playground {
  constructor(root) {
    this.root = root;
    root.className = "play";
    this.runner = runner;
    runner.listen = (message) => this.onMessage(message);
    this.build();
    this.sink = this.outputs.output;
    this.busy = false;
    this.runner.start().then(
      () => this.say("ready"),
      (error) => this.say(error.message),
    );
    this.load();
    addEventListener("hashchange", () => this.load());
  }

  // The parts ---------------------------------------------------------------------------------------------

  build() {
    const menu = make("select", { id: "example", ariaLabel: "Example", onchange: () => this.choose() });
    const own = make("option", { value: OWN, textContent: "Your program", hidden: storedProgram() === null });
    menu.append(own, ...examples.map(({ title }, i) => make("option", { value: i, textContent: title })));
    menu.value = 0;
    this.menu = menu;
    this.runButton = make("button", { type: "button", className: "main", textContent: "Run", title: "Shift-Enter", onclick: () => this.run() });
    this.stopButton = make("button", { type: "button", textContent: "Stop", disabled: true, onclick: () => this.runner.stop() });
    this.state = make("span", { className: "run-state" });
    this.state.setAttribute("role", "status");
    const bar = make("div", { className: "play-bar" }, menu, this.runButton, this.stopButton, ...this.exports(), this.state);
    const place = make("div", { className: "play-editor" });
    const right = make("div", { className: "play-right" }, this.tabs(), ...this.panels());
    const note = make("p", { className: "play-note" });
    this.root.append(bar, make("div", { className: "play-sides" }, place, right), note);
    downloadText().then((text) => (note.textContent = `${text} Programs run in this page, and reach nothing else.`), () => {});
    const complete = async (text) => (this.runner.busy ? [] : (await this.runner.ask("complete", { text })).names);
    this.editor = createEditor({ parent: place, text: "", label: "Python program", run: () => this.run(), complete, change: (program) => this.onEdit(program) });
    window.playground = this; // for tests and debugging
  }

  exports() {
    const button = (textContent, title, onclick) => make("button", { type: "button", textContent, title, onclick });
    return [
      button("Link", "Copy a link that carries this program", () => this.link()),
      button(".py", "Save as a Python file", () => this.save("program.py", this.exportText())),
      button(".ipynb", "Save as a notebook", () => this.save("program.ipynb", this.notebook())),
    ];
  }

  tabs() {
    const list = make("div", { className: "play-tabs" });
    list.setAttribute("role", "tablist");
    this.tab = {};
    for (const [name, title] of Object.entries(PANELS)) {
      const tab = make("button", { type: "button", id: `tab-${name}`, textContent: title, onclick: () => this.open(name) });
      tab.setAttribute("role", "tab");
      tab.setAttribute("aria-controls", `panel-${name}`);
      this.tab[name] = tab;
      list.append(tab);
    }
    list.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const names = Object.keys(PANELS);
      const at = names.findIndex((name) => this.tab[name] === document.activeElement);
      const next = names[(at + step + names.length) % names.length];
      this.select(next);
      this.tab[next].focus();
    });
    return list;
  }

  panels() {
    this.panel = {};
    this.outputs = {};
    this.expression = {};
    return Object.keys(PANELS).map((name) => {
      const panel = make("div", { id: `panel-${name}`, className: "play-panel" });
      panel.setAttribute("role", "tabpanel");
      panel.setAttribute("aria-labelledby", `tab-${name}`);
      if (name === "output") this.curve = createCurve(panel);
      else panel.append(this.expressionInput(name));
      this.outputs[name] = createOutput(panel, (request) => this.runner.change(request));
      this.panel[name] = panel;
      return panel;
    });
  }

  /** An input for the expression that a panel shows. */
  expressionInput(name) {
    const input = make("input", { type: "text", spellcheck: false, ariaLabel: `What ${PANELS[name]} shows` });
    input.addEventListener("keydown", (event) => event.key === "Enter" && this.draw(name));
    this.expression[name] = input;
    const button = make("button", { type: "button", textContent: "Show", onclick: () => this.draw(name) });
    return make("div", { className: "play-ask" }, input, button);
  }

  select(name) {
    for (const other of Object.keys(PANELS)) {
      this.tab[other].setAttribute("aria-selected", String(other === name));
      this.tab[other].tabIndex = other === name ? 0 : -1;
      this.panel[other].hidden = other !== name;
    }
    this.selected = name;
  }

  /** Select a panel, and draw it if the program has run since it was drawn. */
  open(name) {
    this.select(name);
    if (name !== "output" && this.runs && this.drawnRuns[name] !== this.runs) this.draw(name);
  }

  // Messages ------------------------------------------------------------------------------------

  say(text) {
    this.state.textContent = text;
  }

  onMessage(message) {
    if (message.type === "out") this.sink.add(message);
    else if (message.type === "loss") this.curve.add(message.step, message.loss);
    else this.say(progressText(message));
  }

  /** Show the program selected in the menu: an example, or the last edited program. */
  choose() {
    this.show(this.menu.value === OWN ? { program: storedProgram() ?? "" } : examples[this.menu.value]);
  }

  /** Store a program that the user has changed. */
  onEdit(program) {
    if (this.showing) return;
    storeProgram(program);
    this.menu.options[0].hidden = false;
    this.menu.value = OWN;
  }

  show({ program }) {
    this.showing = true;
    this.editor.text = program;
    this.showing = false;
    this.runs = 0;
    this.drawnRuns = {};
    for (const output of Object.values(this.outputs)) output.clear();
    this.curve.clear();
    this.select("output");
    for (const [name, code] of Object.entries(panelsOf(program))) if (this.expression[name]) this.expression[name].value = code;
  }

  /** Load the link's program, without running it; or the last edited program; or the first example. */
  async load() {
    try {
      const linked = await programOf(location.hash), program = linked ?? storedProgram();
      this.show(program === null ? examples[0] : { program });
      if (program !== null) this.menu.value = OWN;
      if (linked !== null) this.outputs.output.note("This program came with the link. It has not run yet: read it, then press Run.");
    } catch (error) {
      this.show(examples[0]);
      this.outputs.output.note(`The link's program cannot be read: ${error.message}`);
    }
  }

  /** Run a program or an expression, whose output goes to one panel; `fresh` forgets earlier names. */
  async execute(name, code, what, fresh = false) {
    if (this.busy) return null;
    this.busy = true; // starting with the click: Python may still be starting
    this.sink = this.outputs[name];
    this.sink.clear();
    this.runButton.disabled = true;
    this.stopButton.disabled = false;
    this.say("running");
    try {
      if (fresh) await this.runner.ask("reset");
      this.say("running");
      const { error } = await this.runner.run(code, what);
      if (error) this.sink.error(error);
      this.say(error ? "" : "done");
      return error;
    } catch (error) {
      this.sink.note(error.message);
      this.say("");
      return { kind: "stopped", line: null };
    } finally {
      this.busy = false;
      this.runButton.disabled = false;
      this.stopButton.disabled = true;
    }
  }

  async run() {
    if (this.busy) return;
    this.select("output");
    this.curve.clear();
    this.editor.mark(null);
    this.reveal();
    const error = await this.execute("output", this.editor.text, "program", true);
    if (error) this.editor.mark(error.line);
    this.reveal(); // now it has its full height
    this.runs = (this.runs || 0) + 1;
  }

  /** If the output is below the editor, as on a phone, scroll it into view. */
  reveal() {
    const right = this.root.querySelector(".play-right"), { top } = right.getBoundingClientRect();
    if (top > 0.5 * innerHeight) right.scrollIntoView({ block: "start" });
  }

  async draw(name) {
    if (this.busy) return;
    this.drawnRuns[name] = this.runs;
    await this.execute(name, `from minigrad import viz\n${this.expression[name].value}`, PANELS[name].toLowerCase());
  }

  // Exports ----------------------------------------------------------------------------------------

  async link() {
    const url = new URL(await hashOf(this.editor.text), location.href).href;
    history.replaceState(null, "", url);
    try {
      await navigator.clipboard.writeText(url);
      this.say("the link is copied");
    } catch {
      this.say("the link is in the address bar");
    }
  }

  exportText() {
    const program = this.editor.text;
    if (!/\bdisplay\(/.test(program)) return program;
    const head = /^(?:"""[^]*?"""\n)?(?:#\|.*\n)*/.exec(program)[0];
    return `${head}${head ? "\n" : ""}${EXPORTED}${program.slice(head.length)}`;
  }

  notebook() {
    const cell = (code) => ({ cell_type: "code", execution_count: null, metadata: {}, outputs: [], source: code });
    const expressions = Object.entries(panelsOf(this.editor.text)).filter(([name]) => this.editor.text.includes(`#| ${name}:`));
    const cells = [cell(this.editor.text), ...expressions.map(([, code]) => cell(`from minigrad import viz\n\n${code}`))];
    const kernelspec = { display_name: "Python 3", language: "python", name: "python3" };
    const numbered = cells.map((one, i) => ({ ...one, id: `cell-${i}` }));
    return JSON.stringify({ cells: numbered, metadata: { kernelspec }, nbformat: 4, nbformat_minor: 5 }, null, 1);
  }

  save(name, text) {
    const url = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
    make("a", { href: url, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  }
}

const root = document.getElementById("playground");
if (root) new Playground(root);
