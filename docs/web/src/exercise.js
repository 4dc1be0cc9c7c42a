// The course's exercises: a cell with a gap, whose answer is checked when it runs, with hints and a solution. The answers
// and the progress stay in this browser.

import { button, Cell, element } from "./cell.js";

const STORE = "minigrad-course";
const file = document.getElementById("course-exercises"); // written by course.py
const exercises = file ? JSON.parse(file.textContent) : {};

/** The stored progress: {answers: {name: code}, right: {name: true}}. */
function progress() {
  try {
    const { answers = {}, right = {} } = JSON.parse(localStorage.getItem(STORE)) ?? {};
    return { answers, right };
  } catch {
    return { answers: {}, right: {} }; // damaged, or storage is not allowed
  }
}

function store(value) {
  try {
    localStorage.setItem(STORE, JSON.stringify(value));
  } catch {} // a full disk, or storage is not allowed: the progress is not kept
}

export class Exercise extends Cell {
  constructor(block, code, number, exercise) {
    super(block, code, number);
    Object.assign(this, exercises[exercise], { exercise, name: `exercise ${exercise}`, hinted: 0 });
    this.verdict = element("div", { className: "verdict" });
    this.verdict.setAttribute("role", "status");
    this.bar.after(this.verdict);
    this.help = element("div", { className: "exercise-help" });
    this.verdict.after(this.help);
    this.answer = progress().answers[exercise] ?? this.original;
    new IntersectionObserver((entries, observer) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      observer.disconnect();
      this.edit();
    }).observe(block);
    this.mark();
  }

  buttons() {
    this.runButton.textContent = "Check";
    this.runButton.title = "Run and check the answer (Shift-Enter in the editor)";
    this.hintButton = button("Hint", "Show the next hint", () => this.hint());
    this.solveButton = button("Solution", "Show the solution", () => this.solve());
    return [this.runButton, this.stopButton, this.hintButton, this.solveButton, this.resetButton];
  }

  get text() {
    return this.editor ? this.editor.text : this.answer;
  }

  onEdit(program) {
    const { answers, right } = progress();
    if (program !== this.original || this.exercise in answers) store({ answers: { ...answers, [this.exercise]: program }, right });
  }

  /** Run the answer, and check it. */
  async runSelf() {
    this.verdict.textContent = "";
    const answer = await this.runProgram(this.text, { check: this.check });
    this.done = answer?.wrong === "";
    if (answer?.error?.text.includes("ellipsis")) this.output.note("A gap, “...”, is still there.");
    if (answer && !answer.error) {
      this.verdict.className = `verdict ${this.done ? "right" : "not-yet"}`;
      this.verdict.textContent = this.done ? "Right." : `Not yet: ${answer.wrong}${answer.wrong.endsWith("?") ? "" : "."}`;
    }
    if (this.done) {
      const { answers, right } = progress();
      store({ answers: { ...answers, [this.exercise]: this.text }, right: { ...right, [this.exercise]: true } });
      this.mark();
    }
    return this.done;
  }

  /** For later cells, run the answer if it is right, and otherwise the solution. */
  async provide() {
    if (progress().right[this.exercise] && (await this.runSelf())) return true;
    const answer = await this.runProgram(this.solution);
    this.output.note("The cells below run with the solution of this exercise until your answer is right.");
    return answer !== null && !answer.error;
  }

  /** Show that the exercise is solved. */
  mark() {
    this.block.closest(".exercise").classList.toggle("solved", Boolean(progress().right[this.exercise]));
  }

  hint() {
    if (this.hinted < this.hints.length) {
      const parts = this.hints[this.hinted].split("`").map((part, i) => (i % 2 ? element("code", {}, part) : part));
      this.help.append(element("p", {}, `Hint ${this.hinted + 1} of ${this.hints.length}: `, ...parts));
      this.hinted += 1;
    }
    this.hintButton.disabled = this.hinted === this.hints.length;
  }

  solve() {
    const code = element("pre", { tabIndex: 0 }, element("code", {}, this.solution));
    this.help.append(element("p", {}, "One solution:"), code);
    this.solveButton.disabled = true;
  }

  async reset() {
    const { answers, right } = progress();
    delete answers[this.exercise];
    delete right[this.exercise];
    store({ answers, right });
    this.mark();
    this.answer = this.original;
    this.verdict.textContent = "";
    await super.reset();
  }
}

/** On the course's first page: how many exercises of each chapter are solved, and buttons to export and import. */
export function showProgress(place) {
  const chapters = JSON.parse(place.dataset.chapters); // {number of the chapter: number of exercises}
  const state = element("p", { role: "status" });
  const show = () => {
    const names = Object.keys(progress().right);
    for (const [chapter, count] of Object.entries(chapters)) {
      const solved = names.filter((name) => name.startsWith(`${chapter}.`)).length;
      const cell = document.querySelector(`[data-chapter="${chapter}"]`);
      if (cell) cell.textContent = `${solved} of ${count}`;
    }
  };
  const save = () => {
    const url = URL.createObjectURL(new Blob([JSON.stringify(progress(), null, 1)], { type: "application/json" }));
    element("a", { href: url, download: "minigrad-course.json" }).click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  };
  const picker = element("input", { type: "file", accept: "application/json", hidden: true });
  picker.addEventListener("change", async () => {
    try {
      const { answers, right } = JSON.parse(await picker.files[0].text());
      const isText = (value) => typeof value === "string";
      if (!Object.values(answers).every(isText) || typeof right !== "object") throw new Error("it has no answers");
      store({ answers: { ...progress().answers, ...answers }, right: { ...progress().right, ...right } });
      state.textContent = "The progress is imported.";
    } catch (error) {
      state.textContent = `This file cannot be imported: ${error.message}`;
    }
    picker.value = "";
    show();
  });
  place.append(button("Export progress", "Save your answers as a file", save), button("Import progress", "Read a saved file", () => picker.click()), picker, state);
  show();
}
