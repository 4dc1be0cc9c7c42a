// The form, the requests, and the display of the responses.

import { AttentionView, element, NOTHING } from "./attention.js";
import { Suggestions } from "./words.js";
import { changes, count, language } from "./text.js";

const $ = (id) => document.getElementById(id);
const BEAMS = [1, 3, 5, 10]; // options, in addition to the model's default
const view = new AttentionView({ source: $("source"), target: $("target"), map: $("map"), status: $("status") });
let running = null; // the AbortController of the current translation
let latest = 0; // the number of the newest request for attention: responses to older ones are dropped

/** Send a request to this page's server, or to the function that a page without a server has set. */
const ask = (path, body, signal) => (window.minigradAnswers ?? askServer)(path, body, signal);

/** POST (with a body) or GET; throws an Error with a message for the user. */
async function askServer(path, body, signal) {
  const headers = { "Content-Type": "application/json" };
  const sent = body && { method: "POST", headers, body: JSON.stringify(body) };
  let response, answer;
  try {
    response = await fetch(path, { ...sent, signal });
    answer = await response.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The translator does not answer. Is its program still running?");
  }
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

/** Enter a state of the page: "empty", "loading", "done" or "error". */
function enter(state, message = "") {
  document.body.dataset.state = state;
  $("empty").hidden = state !== "empty";
  $("error").hidden = state !== "error";
  $("error").textContent = message;
  $("result").hidden = !(state === "done" || (state === "loading" && $("list").children.length));
  $("result").inert = state === "loading";
  document.querySelector("main").setAttribute("aria-busy", String(state === "loading"));
  $("go").textContent = state === "loading" ? "Translating…" : "Translate";
}

async function translate() {
  const text = $("text").value;
  if (!text.trim()) return;
  running?.abort();
  const own = running = new AbortController();
  enter("loading");
  try {
    const beam = Number($("beam").value) || undefined; // undefined until known: the model's default
    const { sentences } = await ask("/translate", { text, beam }, own.signal);
    showSentences(sentences);
    enter("done");
  } catch (error) {
    if (own === running && error.name !== "AbortError") enter("error", error.message);
  }
}

/** Show the translated sentences, each as a button that opens its details. */
function showSentences(sentences) {
  $("whole").hidden = sentences.length === 1;
  const buttons = [];
  const lines = [];
  for (const [i, sentence] of sentences.entries()) {
    if (!i || sentence.line !== sentences[i - 1].line) lines.push(element("p"));
    const button = element("button", "sentence", sentence.text || NOTHING);
    button.type = "button";
    button.dir = "auto";
    button.addEventListener("click", () => showSentence(sentence, buttons, i));
    buttons.push(button);
    if (lines.at(-1).children.length) lines.at(-1).append(" ");
    lines.at(-1).append(button);
  }
  $("sentences").replaceChildren(...lines);
  showSentence(sentences[0], buttons, 0);
}

function showSentence(sentence, buttons, number) {
  const query = new URLSearchParams({ text: sentence.source, beam: sentence.beam.length || 1 });
  $("linked").href = `/linked?${query}`;
  $("way").hidden = !sentence.text;
  press(buttons, number);
  $("target-label").textContent = buttons.length > 1 ? `Sentence ${number + 1} of ${buttons.length}` : targetName;
  $("notes").replaceChildren(...sentence.notes.map((note) => element("li", "", capital(note))));
  showBeam(sentence);
  showHypothesis(sentence, 0);
}

/** Show the beam, best first; words of the others that differ from the best are marked. */
function showBeam(sentence) {
  const rows = sentence.beam.map((hypothesis, rank) => {
    const button = element("button", "hypothesis");
    button.type = "button";
    const text = element("span", "text");
    text.dir = "auto";
    for (const { text: word, changed } of changes(sentence.beam[0].text, hypothesis.text)) {
      text.append(element("span", changed ? "changed" : "", word), " ");
    }
    if (!hypothesis.text) text.textContent = NOTHING;
    button.append(text, element("span", "score", score(hypothesis.score)));
    button.addEventListener("click", () => showHypothesis(sentence, rank));
    const row = element("li");
    row.append(button);
    return row;
  });
  $("list").replaceChildren(...rows);
  $("hypotheses").hidden = rows.length < 2;
}

/** Show one hypothesis of the beam as the translation, with its attention. */
async function showHypothesis(sentence, rank) {
  const text = rank ? sentence.beam[rank].text : sentence.text;
  const number = ++latest;
  press([...$("list").querySelectorAll("button")], rank);
  view.showText(sentence.source, text || NOTHING);
  $("attention").hidden = true;
  try {
    const data = await ask("/attention", { source: sentence.source, target: text });
    if (number === latest) showAttention(data);
  } catch (error) {
    if (number === latest) failAttention(error.message);
  }
}

function showAttention(data) {
  offer("layer", data.weights.length);
  offer("head", data.weights[0].length);
  const whole = (side) => side.words.length === side.tokens.length;
  $("pieces-choice").hidden = whole(data.source) && whole(data.target);
  $("attention-error").hidden = true;
  $("scroll").hidden = false;
  $("attention").hidden = false;
  choose();
  view.show(data);
}

function failAttention(message) {
  for (const name of ["layer", "head", "pieces"]) $(`${name}-choice`).hidden = true;
  $("attention-error").textContent = message;
  $("attention-error").hidden = false;
  $("scroll").hidden = true;
  $("attention").hidden = false;
}

/** Fill the options for a layer or head: the mean, or one by its number. Keeps the selection. */
function offer(name, size) {
  const select = $(name);
  $(`${name}-choice`).hidden = size === 1;
  if (select.options.length === size + 1) return;
  select.replaceChildren(new Option("mean", ""));
  for (let i = 0; i < size; i++) select.append(new Option(String(i + 1), String(i)));
}

/** Fill the options for the beam, and select the model's default. */
function offerBeams(own) {
  const sizes = [...new Set([...BEAMS, own])].sort((a, b) => a - b);
  $("beam").replaceChildren(...sizes.map((size) => new Option(size, size, size === own, size === own)));
}

function choose() {
  const value = (name) => ($(name).value === "" ? null : Number($(name).value));
  view.layer = value("layer");
  view.head = value("head");
  view.pieces = $("pieces").checked && !$("pieces-choice").hidden;
}

/** Mark one of these buttons as pressed. */
function press(buttons, number) {
  buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(i === number)));
}

const score = (value) => (value === null ? "" : value.toFixed(2).replace("-", "−"));
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
let targetName = "Translation";

async function introduce() {
  const about = await ask("/about");
  const [from, to] = [language(about.source), language(about.target)];
  if (from && to) document.title = $("title").textContent = `${from} to ${to}`;
  if (from) $("text-label").textContent = from;
  if (to) targetName = $("target-label").textContent = $("whole-label").textContent = to;
  for (const id of ["text", "source"]) $(id).lang = about.source;
  for (const id of ["target", "sentences", "list"]) $(id).lang = about.target;
  $("about").textContent = `a transformer of ${count(about.parameters)} parameters`;
  offerBeams(about.beam);
  suggestions.offer(about);
  if (about.sentences.length && !$("text").value) start(about.sentences[0]);
  if (about.mbr) $("hypotheses-label").textContent = "Beam, most similar to the others first; each with its score";
}

/** Start with a sentence, selected so that typing replaces it. */
function start(sentence) {
  $("text").value = sentence;
  $("text").select();
  $("go").disabled = false;
  translate();
}

const suggestions = new Suggestions($("try"), $("samples"), $("words"), $("text"), translate);

$("form").addEventListener("submit", (event) => { event.preventDefault(); translate(); });
$("text").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  translate();
});
$("text").addEventListener("input", () => { $("go").disabled = !$("text").value.trim(); });
$("beam").addEventListener("change", () => { if (document.body.dataset.state !== "empty") translate(); });
for (const name of ["layer", "head", "pieces"]) {
  $(name).addEventListener("change", () => { choose(); view.draw(); });
}
enter("empty");
$("go").disabled = !$("text").value.trim(); // after a reload the browser may restore the text
introduce().catch((error) => enter("error", error.message));
