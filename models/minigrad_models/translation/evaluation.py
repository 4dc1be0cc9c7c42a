"""The quality of translations: BLEU and chrF with their signatures, BLEU by length, and the worst sentences."""

from __future__ import annotations

import dataclasses
import json
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from minigrad.serialization.source import replaced

from ..text.scores import Score, bleu, chrf, moses_bleu, sentence_chrf, tokenizer_for

LENGTHS = (5, 10, 15, 20, 30)  # words of the source: the ends of the rows of the table
SPANS = [f"up to {LENGTHS[0]}", *(f"{a + 1} to {b}" for a, b in pairwise(LENGTHS)), f"{LENGTHS[-1] + 1} and more"]
SHOWN = 300  # characters of a sentence that are printed
MOST_RESAMPLED = 10_000  # sentences for a confidence interval, which takes 400 MB for so many


@dataclass(frozen=True)
class Sentence:
    """One translated sentence; ``chrf`` from 0 to 100."""

    source: str
    translation: str
    reference: str
    chrf: float


@dataclass(frozen=True)
class LengthRow:
    """A row of the table: sentences of similar length."""

    words: str  # of their sources
    sentences: int  # their number
    bleu: float  # of all of them
    length_ratio: float  # tokens of the translations over tokens of the references


@dataclass(frozen=True)
class Report:
    """A report on a set of translations."""

    sentences: int
    exact: int  # equal to their reference
    empty: int
    bleu: Score
    chrf: Score
    moses: Score | None  # BLEU as papers on Multi30k report it
    by_length: list[LengthRow]  # from short to long
    worst: list[Sentence]  # the lowest chrF first
    notes: list[str] = field(default_factory=list)  # on parts that are missing

    def text(self) -> str:
        """For a person."""
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
    """Three lines, or two if the translation equals the reference; long ones are cut off."""
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
    """Measure translations against references.

    Args:
        texts, references, sources: each translation, how it should be, and the sentence.
        language: the end of the target's file names: "de" adds BLEU in Moses' tokens; "lc.norm.tok.de" stands for
            tokenised text, of which BLEU takes the words as they are; "zh", "ja" and "ko" have tokenizers of their own.
        worst: the number of sentences with the lowest chrF to show.
        tokenizer: sacrebleu's, for BLEU; "auto": by the language.

    Raises ValueError: no sentences, or sides of different length; ImportError: sacrebleu, or its tokenizer's
    dictionary, is missing.
    """
    if len(sources) != len(references):
        raise ValueError(f"there are {len(sources):,} sources and {len(references):,} references")
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
    """Write a report as JSON, with all translations, in one step. Raises OSError: it cannot be written."""
    everything = {**dataclasses.asdict(results), "translations": texts}
    with replaced(path) as temporary, open(temporary, "w", encoding="utf-8") as file:
        json.dump(everything, file, ensure_ascii=False, indent=1)


def likely(exact: int, sentences: int) -> tuple[float, float]:
    """The interval, at 95 %, of the share of all sentences that are right, if ``exact`` of some drawn at random are
    (Wilson 1927)."""
    z, share = 1.96, exact / sentences
    middle = (share + z**2 / (2 * sentences)) / (1 + z**2 / sentences)
    half = z / (1 + z**2 / sentences) * math.sqrt(share * (1 - share) / sentences + (z / (2 * sentences)) ** 2)
    return max(0.0, middle - half), min(1.0, middle + half)


def by_length(sentences: Sequence[Sentence], tokenize: str = "13a") -> list[LengthRow]:
    """BLEU of short and long sentences, without empty groups."""
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
    """Random translations for a person to read, with the references from which they differ."""
    rows = random.Random(seed).sample(range(len(references)), min(count, len(references)))
    return "\n".join(" " * 7 + _compared(sources[i], translations[i], references[i]) for i in rows)
