// A sentence, its translation, and the attention between them: as shaded text, and as a table.

import { byWord, choose, percent } from "./text.js";

const MIN_NUMBER = 0.05; // smaller weights are only shaded in the table
const LEAST = 0.005; // smaller weights round to 0 per cent: no number in the text

/** The placeholder of an empty text. */
export const NOTHING = "(nothing)";

/** Create an element with a class and plain text. */
export function element(name, className = "", text = "") {
  const node = document.createElement(name);
  if (className) node.className = className;
  node.textContent = text;
  return node;
}

function shade(node, weight) {
  node.style.setProperty("--weight", weight.toFixed(4));
}

/**
 * Renders into {source, target, map, status}. A target word is active while it or its row is hovered. Focus, a click
 * or a tap selects it, until Escape or a second click.
 */
export class AttentionView {
  constructor(parts) {
    this.parts = parts;
    this.selected = this.hovered = null;
    this.layer = this.head = null;
    this.pieces = false;
    parts.target.addEventListener("keydown", (event) => this.#key(event));
    for (const box of [parts.target, parts.map]) {
      box.addEventListener("pointerover", (event) => {
        if (event.pointerType === "mouse") this.#hover(wordOf(event.target));
      });
      box.addEventListener("pointerleave", () => this.#hover(null));
      box.addEventListener("pointerdown", (event) => { this.before = [this.selected, wordOf(event.target)]; });
      box.addEventListener("click", (event) => {
        const word = wordOf(event.target);
        if (word !== null) this.select(this.before?.[0] === word ? null : word);
      });
    }
    parts.target.addEventListener("focusin", (event) => this.select(wordOf(event.target)));
  }

  /** Show only the texts, until their attention is known. */
  showText(source, target) {
    this.data = null;
    this.selected = this.hovered = null;
    this.parts.source.textContent = source;
    this.parts.target.textContent = target;
    this.parts.map.replaceChildren();
    this.parts.status.textContent = "";
  }

  /** Show both texts and their attention, the response of /attention. */
  show(data) {
    this.data = data;
    this.selected = this.hovered = null;
    this.draw();
  }

  /** Redraw with the current layer, head (null: the mean) and kind of unit. */
  draw() {
    if (!this.data) return;
    const { source, target, weights } = this.data;
    const kind = this.pieces ? "tokens" : "words";
    for (const name of ["selected", "hovered"]) this[name] = this.#place(this[name], target[kind]);
    this.words = { source: source[kind], target: target[kind] };
    this.matrix = byWord(choose(weights, this.layer, this.head), target[kind], source[kind]);
    this.#lines();
    this.#table();
    this.#mark();
  }

  /** The index of the unit (word or token) in which the active word begins, or null. */
  #place(word, units) {
    if (word === null) return null;
    const [first] = this.words.target[word].tokens;
    return units.findIndex((unit) => unit.tokens.includes(first));
  }

  /** Select a target word by its number, or none (null). */
  select(word) {
    this.selected = word;
    this.#mark();
  }

  #hover(word) {
    if (word === this.hovered) return;
    this.hovered = word;
    this.#mark();
  }

  #key(event) {
    const words = [...this.parts.target.querySelectorAll("[data-word]")];
    const at = words.indexOf(document.activeElement);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: words.length - 1 }[event.key];
    const own = wordOf(event.target);
    if (event.key === "Escape") this.select(null);
    else if (event.key === "Enter" || event.key === " ") this.select(own === this.selected ? null : own);
    else if (words[to]) words[to].focus();
    else if (to === undefined) return;
    event.preventDefault();
  }

  #lines() {
    const { source, target } = this.parts;
    const focused = target.contains(document.activeElement);
    target.replaceChildren(...line(this.words.target, (text, word) => {
      const node = element("span", "word", text);
      node.dataset.word = word;
      node.tabIndex = -1;
      node.setAttribute("role", "button");
      return node;
    }));
    source.replaceChildren(...line(this.words.source, (text, word) => {
      const node = element("span", "word");
      node.dataset.word = word;
      node.append(element("span", "spelling", text), element("span", "number"));
      return node;
    }));
    if (focused) target.querySelector(`[data-word="${this.selected ?? 0}"]`)?.focus();
  }

  #table() {
    const head = element("tr");
    head.append(element("td"));
    for (const word of this.words.source) {
      const cell = element("th");
      cell.scope = "col";
      cell.append(element("span", "", word.text));
      head.append(cell);
    }
    head.lastChild.classList.add("end");
    const rows = this.matrix.map((weights, t) => {
      const row = element("tr");
      row.dataset.word = t;
      const name = element("th", "", this.words.target[t].text);
      name.scope = "row";
      row.append(name);
      for (const weight of weights) {
        const cell = element("td", "weight", weight >= MIN_NUMBER ? percent(weight) : "");
        shade(cell, weight);
        row.append(cell);
      }
      return row;
    });
    rows.at(-1).firstChild.classList.add("end");
    const [top, body] = [element("thead"), element("tbody")];
    top.append(head);
    body.append(...rows);
    this.parts.map.replaceChildren(top, body);
  }

  /** Shade the source by the attention of the active word. */
  #mark() {
    if (!this.data) return;
    const word = this.hovered ?? this.selected;
    const weights = word === null ? null : this.matrix[word];
    const { source, target, map, status } = this.parts;
    for (const node of source.querySelectorAll("[data-word]")) {
      const weight = weights ? weights[node.dataset.word] : 0;
      shade(node.firstChild, weight);
      node.lastChild.textContent = weights && weight >= LEAST ? percent(weight) : "";
    }
    for (const box of [target, map]) {
      for (const node of box.querySelectorAll("[data-word]")) {
        node.classList.toggle("active", Number(node.dataset.word) === word);
      }
    }
    for (const node of target.querySelectorAll("[data-word]")) {
      const own = Number(node.dataset.word);
      node.tabIndex = own === (this.selected ?? 0) ? 0 : -1;
      node.setAttribute("aria-pressed", String(own === this.selected));
    }
    status.textContent = weights ? this.#sentence(word, weights)
      : "Point at a word of the translation, or tap it, or walk through them with the arrow keys.";
  }

  #sentence(word, weights) {
    const most = [...weights.entries()].sort((a, b) => b[1] - a[1]).slice(0, 3);
    const list = most.filter(([, weight]) => weight >= MIN_NUMBER)
      .map(([s, weight]) => `“${this.words.source[s].text}” ${percent(weight)} %`);
    return `For “${this.words.target[word].text}” the model looked at ${list.join(", ") || "all words alike"}.`;
  }
}

/** The words and the text between them; the last word marks the end of the sentence. */
function line(words, make) {
  const nodes = words.flatMap((word, i) => [document.createTextNode(word.before), make(word.text, i)]);
  nodes.at(-1).classList.add("end");
  return words.length > 1 ? nodes : [document.createTextNode(NOTHING), ...nodes];
}

function wordOf(node) {
  const target = node.closest("[data-word]");
  return target ? Number(target.dataset.word) : null;
}
