// Makes the Python blocks of a document runnable, and its exercises checkable.

import { Cell, cells, runner } from "./cell.js";
import { requirement } from "./elsewhere.js";
import { Exercise, showProgress } from "./exercise.js";

window.minigradCells = { cells, runner }; // for tests and debugging

let number = 0;
for (const code of document.querySelectorAll(".md-content .language-python code, .md-content code.language-python")) {
  const block = code.closest(".highlight") ?? code.closest("pre");
  if (block.dataset.block) continue;
  block.dataset.block = ++number;
  const missing = requirement(code.textContent);
  if (!missing) {
    const exercise = block.closest(".exercise");
    cells.push(exercise ? new Exercise(block, code, number, exercise.dataset.name) : new Cell(block, code, number));
    continue;
  }
  const why = document.createElement("p");
  why.className = "run-state";
  why.textContent = `Not in a browser: this needs ${missing}.`;
  block.after(why);
}

// A chapter of the course is there to be run, so its interpreter starts at once; errors are reported by the first run.
if (document.getElementById("course-exercises")) runner.start().catch(() => {});

const progress = document.getElementById("course-progress");
if (progress) showProgress(progress);

/** Make wide tables scrollable by keyboard, also in browsers that do not focus them. */
const observer = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
    else target.removeAttribute("tabindex");
  }
});
// The theme wraps tables after the document has loaded, so later than this script.
addEventListener("load", () => document.querySelectorAll(".md-typeset__scrollwrap").forEach((box) => observer.observe(box)));
