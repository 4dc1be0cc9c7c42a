// Suggestions: sentences that the model was not trained on, and words that it knows.

import { element } from "./attention.js";

const COUNT = 12; // words at a time
const LETTERS = 4; // letters
const WORD = /[\p{L}\p{M}\p{N}]+(?:[-'’.,][\p{L}\p{M}\p{N}]+)*$/u;

/** Shows suggestions in `box`. A click inserts a word into the field, or translates a sentence. */
export class Suggestions {
  constructor(box, samples, words, field, translate) {
    Object.assign(this, { box, samples, words, field, translate });
    this.vocabulary = [];
    for (const event of ["input", "click", "keyup"]) field.addEventListener(event, () => this.#words());
  }

  /** Show the sentences and words from /about, the most frequent first. */
  offer({ sentences, words }) {
    this.vocabulary = words;
    this.box.hidden = !sentences.length && !words.length;
    this.samples.replaceChildren(...chips("Try", sentences, (sentence) => {
      this.field.value = sentence;
      this.#notify();
      this.translate();
    }));
    this.#words();
  }

  /** Show words that begin like the word at the cursor, or else the most frequent ones. */
  #words() {
    const prefix = this.#prefix();
    const candidates = this.vocabulary.filter((word) => word.toLowerCase().startsWith(prefix.toLowerCase()));
    const informative = candidates.filter((word) => word.length >= LETTERS); // "the" and "of" say little
    const matches = (prefix || informative.length < COUNT ? candidates : informative).slice(0, COUNT);
    const heading = prefix && matches.length ? `Words it knows with “${prefix}”` : "Words it knows";
    const none = prefix && !matches.length ? [element("span", "quiet", `None begins with “${prefix}”.`)] : [];
    if (this.key === `${prefix}/${matches}`) return;
    this.key = `${prefix}/${matches}`;
    const nodes = chips(heading, matches, (word) => this.#insert(word));
    this.words.replaceChildren(...(nodes.length || !none.length ? nodes : [label("Words it knows"), ...none]));
  }

  /** The word that ends at the cursor, or "". */
  #prefix() {
    const { value, selectionStart, selectionEnd } = this.field;
    return selectionStart === selectionEnd ? value.slice(0, selectionStart).match(WORD)?.[0] ?? "" : "";
  }

  #insert(word) {
    const { selectionStart, selectionEnd } = this.field;
    const prefix = this.#prefix();
    const before = this.field.value[selectionStart - prefix.length - 1];
    const space = before && !/\s/.test(before) && !prefix ? " " : "";
    this.field.setRangeText(`${space}${word} `, selectionStart - prefix.length, selectionEnd, "end");
    this.field.focus();
    this.#notify();
  }

  #notify() {
    this.field.dispatchEvent(new Event("input", { bubbles: true }));
  }
}

function label(text) {
  return element("span", "label", text);
}

function chips(heading, texts, choose) {
  const buttons = texts.map((text) => {
    const button = element("button", "chip", text);
    button.type = "button";
    button.dir = "auto";
    button.addEventListener("click", () => choose(text));
    return button;
  });
  return texts.length ? [label(heading), ...buttons] : [];
}
