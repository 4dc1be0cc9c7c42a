// Blocks that cannot run in a browser: they state the missing requirement, and have no buttons.

const PAGES = [
  ["docs/huggingface.html", "the package transformers"],
];
const PROGRAMS = [
  [/graph\.(svg|pdf)"|third\.svg"|\.graphviz\(|make_dot\(|snapshots=/, "Graphviz"],
  [/\.(pdf|png)"|loss\.svg"/, "the package vl-convert-python"],
  [/course\.check/, "the files of the chapters"],
  [/import suited/, "the package tokenizers"],
  [/preset\("toy"\)|Translator\.load|\btranslator\.|minimum_bayes_risk/, "the package sacrebleu"],
];

/** The requirement of a program on this page that browsers lack, or null. */
export function requirement(program) {
  const page = PAGES.find(([page]) => location.pathname.endsWith(page));
  const part = page ?? PROGRAMS.find(([pattern]) => pattern.test(program));
  return part ? part[1] : null;
}
