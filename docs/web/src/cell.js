// A block of Python with buttons, an editor and output. The blocks of a page share one interpreter, which starts at the
// first run.

import { createOutput } from "./output.js";
import { progressText, Runner } from "./runner.js";

let current = null; // the running cell
export const cells = [];
export const runner = new Runner((message) => current?.onMessage(message));

/** An element with properties and children. */
export function element(tag, properties = {}, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
}

/** A button with text. */
export const button = (textContent, title, onclick) => element("button", { type: "button", textContent, title, onclick });

export class Cell {
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
    this.bar.append(...this.buttons(), this.state);
    block.after(this.bar);
    const below = document.createElement("div");
    this.bar.after(below);
    this.output = createOutput(below, (request) => runner.change(request));
  }

  buttons() {
    return [this.runButton, this.stopButton, this.editButton, this.resetButton];
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
      text: this.text,
      change: (program) => this.onEdit(program),
      label: `Python, ${this.name}`,
      run: () => this.run(),
      complete: async (text) => (runner.started && !runner.busy ? (await runner.ask("complete", { text })).names : []),
    });
    return this.editor;
  }

  onEdit(_program) {}

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
      if (!earlier.done && !(await earlier.provide())) return null;
    }
    return this.runSelf();
  }

  /** Run the cell because later cells need its names. */
  provide() {
    return this.runSelf();
  }

  /** Run a program with the cell's buttons and output; resolves to the answer, or null if the interpreter has stopped. */
  async runProgram(code, more) {
    current = this;
    this.output.clear();
    this.editor?.mark(null);
    this.state.textContent = "running";
    this.runButton.disabled = true;
    this.stopButton.disabled = false;
    const start = performance.now();
    try {
      const answer = await runner.run(code, this.name, more);
      if (answer.error) this.output.error(answer.error);
      if (answer.error) this.editor?.mark(answer.error.line);
      const seconds = (performance.now() - start) / 1000;
      this.state.textContent = answer.error ? "" : `done in ${seconds.toFixed(seconds < 10 ? 2 : 0)} s`;
      return answer;
    } catch (error) {
      for (const cell of cells) cell.done = false; // the names are lost with the interpreter
      this.output.note(error.message);
      this.state.textContent = "";
      return null;
    } finally {
      current = null;
      this.runButton.disabled = false;
      this.stopButton.disabled = true;
    }
  }

  async runSelf() {
    const answer = await this.runProgram(this.text);
    this.done = answer !== null && !answer.error;
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
