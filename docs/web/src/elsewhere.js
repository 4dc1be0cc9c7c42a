// Blocks that need what a browser has not. They stand without buttons, and say why.

const BLOCKS = [
  // [page, numbers of blocks from 1 on (null: all), why]
  ["docs/huggingface.html", null, "the package transformers"],
  ["docs/viz.html", [3, 4, 5, 8], "Graphviz"],
  ["docs/viz.html", [17], "the package vl-convert-python"],
  ["docs/your_pairs.html", [2], "the package tokenizers"],
  ["examples/notebooks/3_gpt_from_an_empty_file.html", null, "the package tqdm"],
  ["examples/notebooks/4_translation.html", [4, 5, 6, 7, 8, 9], "the package sacrebleu"],
  ["examples/notebooks/6_moving_a_pytorch_program.html", null, "processes"],
];

/** What a block of this page needs, or null. */
export function needed(number) {
  const found = BLOCKS.find(([page, numbers]) => location.pathname.endsWith(page) && (!numbers || numbers.includes(number)));
  return found ? found[2] : null;
}
