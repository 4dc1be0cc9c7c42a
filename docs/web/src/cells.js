// Makes the Python blocks of a document runnable, with buttons, an editor and output. The blocks of a page share one
// interpreter, which starts at the first run.

import { requirement } from "./elsewhere.js";
import { createOutput } from "./output.js";
import { progressText, Runner } from "./runner.js";

let current = null; // the running cell
const cells = [];
const runner = new Runner((message) => current?.onMessage(message));
window.minigradCells = { cells, runner }; // for tests and debugging

/** A button with text. */
function button(text, title, action) {
  const element = document.createElement("button");
  element.type = "button";
  element.textContent = text;
  element.title = title;
  element.addEventListener("click", action);
  return element;
}

class Cell {
  constructor(block, code, number) {
    this.block = block;
    this.code = code;
    this.name = `block ${number}`;
    this.original = code.textContent.replace(/\n$/, "");
    this.bar = document.createElement("div");
    this.bar.className = "run-bar";
    this.runButton = button("Run", "Run this block (Shift-Enter in the editor)", () => this.run());
    this.editButton = button("Edit", "Change the program", () => this.edit().then((editor) => editor.focus()));
    this.stopButton = button("Stop", "Stop the program", () => runner.stop());
    this.resetButton = button("Reset", "Restore the program, and forget the names of earlier runs", () => this.reset());
    this.stopButton.disabled = true;
    this.state = document.createElement("span");
    this.state.className = "run-state";
    this.state.setAttribute("role", "status");
    this.bar.append(this.runButton, this.stopButton, this.editButton, this.resetButton, this.state);
    block.after(this.bar);
    const below = document.createElement("div");
    this.bar.after(below);
    this.output = createOutput(below, (request) => runner.change(request));
  }

  get text() {
    return this.editor ? this.editor.text : this.original;
  }

  /** Replace the block with an editor. */
  async edit() {
    if (this.editor) return this.editor;
    const { createEditor } = await import("./editor.js");
    const place = document.createElement("div");
    place.className = "run-editor";
    this.block.before(place);
    this.block.hidden = true;
    this.editor = createEditor({
      parent: place,
      text: this.original,
      label: `Python, ${this.name}`,
      run: () => this.run(),
      complete: async (text) => (runner.started && !runner.busy ? (await runner.ask("complete", { text })).names : []),
    });
    return this.editor;
  }

  onMessage(message) {
    if (message.type === "out") {
      this.state.textContent = "running";
      this.output.add(message);
    } else if (message.type !== "loss") {
      this.state.textContent = progressText(message);
    }
  }

  /** Run the cell after all earlier blocks that have not run: a page's programs depend on each other. */
  async run() {
    if (current) return null;
    for (const earlier of cells.slice(0, cells.indexOf(this))) {
      if (!earlier.done && !(await earlier.runSelf())) return null;
    }
    return this.runSelf();
  }

  async runSelf() {
    current = this;
    this.output.clear();
    this.editor?.mark(null);
    this.state.textContent = "running";
    this.runButton.disabled = true;
    this.stopButton.disabled = false;
    const start = performance.now();
    try {
      const { error } = await runner.run(this.text, this.name);
      if (error) this.output.error(error);
      if (error) this.editor?.mark(error.line);
      this.done = !error;
      const seconds = (performance.now() - start) / 1000;
      this.state.textContent = error ? "" : `done in ${seconds.toFixed(seconds < 10 ? 2 : 0)} s`;
    } catch (error) {
      for (const cell of cells) cell.done = false; // the names are lost with the interpreter
      this.output.note(error.message);
      this.state.textContent = "";
    } finally {
      current = null;
      this.runButton.disabled = false;
      this.stopButton.disabled = true;
    }
    return this.done;
  }

  async reset() {
    if (runner.busy) await runner.stop();
    for (const cell of cells) cell.done = false;
    if (runner.started) await runner.ask("reset");
    this.output.clear();
    if (this.editor) this.editor.text = this.original;
    this.state.textContent = "";
  }
}

let number = 0;
for (const code of document.querySelectorAll(".md-content .language-python code, .md-content code.language-python")) {
  const block = code.closest(".highlight") ?? code.closest("pre");
  if (block.dataset.block) continue;
  block.dataset.block = ++number;
  const missing = requirement(code.textContent);
  if (!missing) {
    cells.push(new Cell(block, code, number));
    continue;
  }
  const why = document.createElement("p");
  why.className = "run-state";
  why.textContent = `Not in a browser: this needs ${missing}.`;
  block.after(why);
}

/** Make wide tables scrollable by keyboard, also in browsers that do not focus them. */
const observer = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
    else target.removeAttribute("tabindex");
  }
});
// The theme wraps tables after the document has loaded, so later than this script.
addEventListener("load", () => document.querySelectorAll(".md-typeset__scrollwrap").forEach((box) => observer.observe(box)));
