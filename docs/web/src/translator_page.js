// The translator's page from `serve`, with Python in the browser instead of on a server, and a training section.

import { createCurve } from "./curve.js";
import { frame } from "./output.js";
import { progressText, Runner } from "./runner.js";

const STEPS = 5;
const MODEL = "model.safetensors";

const $ = (id) => document.getElementById(id);
const status = document.createElement("p");
status.className = "quiet";
status.id = "loading";
status.setAttribute("role", "status");
$("about").after(status);

let curve = null;
const runner = new Runner((message) => {
  if (message.type === "loss") curve?.add(message.step, message.loss);
  else if (message.type !== "out") status.textContent = progressText(message);
});

let opening = null;

/** Start Python, and pass it the model's file. */
function open() {
  opening ??= (async () => {
    const [model] = await Promise.all([
      fetch(MODEL).then((response) => (response.ok ? response.arrayBuffer() : Promise.reject(new Error(`${MODEL}: ${response.status}`)))),
      runner.start(),
    ]);
    await runner.write(`/${MODEL}`, model);
    status.textContent = `The model, ${(model.byteLength / 1e6).toFixed(1)} MB of numbers in half precision, runs in this page.`;
  })();
  return opening;
}

window.minigradAnswers = async (path, body, signal) => {
  await open();
  if (signal?.aborted) throw new DOMException("superseded", "AbortError");
  const { answer, error } = await runner.ask("translator", { path, body: body ?? {} });
  if (error) throw new Error(error);
  return answer;
};

/** The link to the page with all attention and graphs opens a frame below. */
$("linked").addEventListener("click", async (event) => {
  event.preventDefault();
  const query = new URL(event.currentTarget.href).searchParams;
  const place = $("graph-place");
  place.replaceChildren("drawing …");
  try {
    const html = await window.minigradAnswers("/linked", { text: query.get("text"), beam: Number(query.get("beam")) });
    place.replaceChildren(frame(html, 900, "Attention and graph"));
    place.scrollIntoView();
  } catch (error) {
    place.textContent = error.message;
  }
});

/** A section with a button that continues the training. */
function training() {
  const section = document.createElement("section");
  const button = document.createElement("button");
  const message = document.createElement("p");
  const place = document.createElement("div");
  const graph = document.createElement("div");
  section.id = "training";
  section.setAttribute("aria-label", "Training");
  button.type = "button";
  button.textContent = `Train ${STEPS} steps more`;
  message.className = "quiet";
  message.textContent = "Each on 16 pairs of the shipped corpus.";
  message.setAttribute("role", "status");
  graph.id = "graph-place";
  section.append(button, message, place);
  document.querySelector("main").append(graph, section);
  curve = createCurve(place);
  button.addEventListener("click", async () => {
    button.disabled = true;
    message.textContent = "training …";
    const start = performance.now();
    try {
      const { losses } = await window.minigradAnswers("/train", { steps: STEPS });
      const seconds = ((performance.now() - start) / 1000).toFixed(1);
      message.textContent = `${STEPS} steps in ${seconds} s; loss ${Number(losses[0]).toFixed(3)} at the start, ${Number(losses.at(-1)).toFixed(3)} at the end`;
    } catch (error) {
      message.textContent = error.message;
    } finally {
      button.disabled = false;
    }
  });
}

training();
window.translatorPage = { runner }; // for tests and debugging
await import("../../../models/minigrad_models/translation/serve/page/page.js");
