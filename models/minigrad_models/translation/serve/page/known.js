// Suggestions: sentences that the model was not trained on, and words that it knows.

import { element } from "./attention.js";

const SHOWN = 12; // words at a time
const TELLING = 4; // letters
const WORD = /[\p{L}\p{M}\p{N}]+(?:[-'’.,][\p{L}\p{M}\p{N}]+)*$/u;

/** Shows suggestions in {box: samples, words}; a click puts one into the field, and translates a sentence at once. */
export class Known {
  constructor(box, samples, words, field, translate) {
    Object.assign(this, { box, samples, words, field, translate });
    this.known = [];
    for (const event of ["input", "click", "keyup"]) field.addEventListener(event, () => this.#words());
  }

  /** Show the sentences and words from /about, the most frequent first. */
  offer({ sentences, words }) {
    this.known = words;
    this.box.hidden = !sentences.length && !words.length;
    this.samples.replaceChildren(...chips("Try", sentences, (sentence) => {
      this.field.value = sentence;
      this.#changed();
      this.translate();
    }));
    this.#words();
  }

  /** Show words that begin like the word at the cursor, or else the most frequent ones. */
  #words() {
    const begun = this.#begun();
    const fitting = this.known.filter((word) => word.toLowerCase().startsWith(begun.toLowerCase()));
    const telling = fitting.filter((word) => word.length >= TELLING); // "the" and "of" say little about a model
    const found = (begun || telling.length < SHOWN ? fitting : telling).slice(0, SHOWN);
    const heading = begun && found.length ? `Words it knows with “${begun}”` : "Words it knows";
    const none = begun && !found.length ? [element("span", "quiet", `None begins with “${begun}”.`)] : [];
    if (this.shown === `${begun}/${found}`) return;
    this.shown = `${begun}/${found}`;
    const made = chips(heading, found, (word) => this.#insert(word));
    this.words.replaceChildren(...(made.length || !none.length ? made : [label("Words it knows"), ...none]));
  }

  /** The word that ends at the cursor, or "". */
  #begun() {
    const { value, selectionStart, selectionEnd } = this.field;
    return selectionStart === selectionEnd ? value.slice(0, selectionStart).match(WORD)?.[0] ?? "" : "";
  }

  #insert(word) {
    const { selectionStart, selectionEnd } = this.field;
    const begun = this.#begun();
    const before = this.field.value[selectionStart - begun.length - 1];
    const space = before && !/\s/.test(before) && !begun ? " " : "";
    this.field.setRangeText(`${space}${word} `, selectionStart - begun.length, selectionEnd, "end");
    this.field.focus();
    this.#changed();
  }

  #changed() {
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
