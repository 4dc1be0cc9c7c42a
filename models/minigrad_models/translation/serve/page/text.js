// Pure functions of weights, words and numbers.

/** The mean of weights [layers][heads][T][S] over the selected layers and heads (null: all): [T][S]. */
export function choose(weights, layer, head) {
  const matrices = weights
    .filter((_, i) => layer === null || i === layer)
    .flatMap((heads) => heads.filter((_, i) => head === null || i === head));
  return matrices[0].map((row, t) =>
    row.map((_, s) => matrices.reduce((sum, matrix) => sum + matrix[t][s], 0) / matrices.length));
}

/** From tokens to words, [words][words]: the sum over a source word's tokens, the mean over a target word's. */
export function byWord(matrix, target, source) {
  return target.map((word) => source.map((other) => {
    let sum = 0;
    for (const t of word.tokens) for (const s of other.tokens) sum += matrix[t][s];
    return sum / word.tokens.length;
  }));
}

/** The words of `other`, and whether `best` lacks each in its place: [{text, changed}]. */
export function changes(best, other) {
  const a = best.split(/\s+/), b = other.split(/\s+/);
  // common[i][j]: how many words a[i:] and b[j:] have in common, in order
  const common = Array.from({ length: a.length + 1 }, () => new Array(b.length + 1).fill(0));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      common[i][j] = a[i] === b[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
    }
  }
  const words = [];
  for (let i = 0, j = 0; j < b.length;) {
    if (i < a.length && a[i] === b[j]) { words.push({ text: b[j++], changed: false }); i++; }
    else if (i < a.length && common[i + 1][j] >= common[i][j + 1]) i++;
    else words.push({ text: b[j++], changed: true });
  }
  return words;
}

/** A weight in per cent, without the sign. */
export function percent(weight) {
  return String(Math.round(100 * weight));
}

/** A language's English name, or the code itself if it has none. */
export function language(code) {
  try {
    return new Intl.DisplayNames(["en"], { type: "language" }).of(code) ?? code;
  } catch {
    return code; // not a language code
  }
}

/** 2612000 -> "2.6 million" */
export function count(number) {
  return number < 1e6 ? number.toLocaleString("en") : `${(number / 1e6).toPrecision(2)} million`;
}
