// What to try: sentences that the model has not learned from, and words that it has.

import { element } from "./attention.js";

const SHOWN = 12; // words at a time
const TELLING = 4; // letters
const WORD = /[\p{L}\p{M}\p{N}]+(?:[-'’.,][\p{L}\p{M}\p{N}]+)*$/u;

/** Offers into {box: samples, words}; what is chosen goes into the field, and a sentence is translated at once. */
export class Known {
  constructor(box, samples, words, field, translate) {
    Object.assign(this, { box, samples, words, field, translate });
    this.known = [];
    for (const event of ["input", "click", "keyup"]) field.addEventListener(event, () => this.#words());
  }

  /** The sentences and words that /about told; the commonest first. */
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

  /** Words that begin as the one at the cursor; at no word, the commonest. */
  #words() {
    const begun = this.#begun();
    const fitting = this.known.filter((word) => word.toLowerCase().startsWith(begun.toLowerCase()));
    const telling = fitting.filter((word) => word.length >= TELLING); // "the" and "of" say little of a model
    const found = (begun || telling.length < SHOWN ? fitting : telling).slice(0, SHOWN);
    const heading = begun && found.length ? `Words it knows with “${begun}”` : "Words it knows";
    const none = begun && !found.length ? [element("span", "quiet", `None begins with “${begun}”.`)] : [];
    if (this.shown === `${begun}/${found}`) return;
    this.shown = `${begun}/${found}`;
    const made = chips(heading, found, (word) => this.#insert(word));
    this.words.replaceChildren(...(made.length || !none.length ? made : [label("Words it knows"), ...none]));
  }

  /** The word that ends at the cursor, or nothing. */
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
