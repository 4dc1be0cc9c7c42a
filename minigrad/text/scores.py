"""How near translations are to references: BLEU and chrF as sacrebleu measures them, and Multi30k's BLEU.

A score without the way it was measured says little: the same translations differ by several BLEU between
tokenizers (Post 2018, arXiv 1804.08771). So each score carries its signature.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import Any


@dataclass(frozen=True)
class Score:
    """One measure of a whole text.

    Attributes:
        value: from 0 to 100, higher is better.
        text: as sacrebleu writes it, for BLEU with the precisions of 1 to 4 words and the lengths.
        signature: how it was measured, to be quoted with it.
        interval: half the width of the 95% confidence interval, by bootstrap; None where not asked
            for, and for chrF.
        brevity_penalty, length_ratio: BLEU's factor for too short a text, and the text's tokens over the
            reference's; None for chrF.
    """

    value: float
    text: str
    signature: str
    interval: float | None = None
    brevity_penalty: float | None = None
    length_ratio: float | None = None

    def __str__(self) -> str:
        return f"{self.text}\n{self.signature}"


def bleu(
    found: Sequence[str], references: Sequence[str], tokenize: str = "13a", lowercase: bool = False, bootstrap: int = 0
) -> Score:
    """BLEU (Papineni et al. 2002) of a text, one reference a sentence, by sacrebleu (Post 2018).

    Args:
        found: the translations, with spaces and capitals as a reader wants them.
        references: as many.
        tokenize: how words are split: "13a", "intl", "char", "zh"; "none" for text that is tokenised already.
        lowercase: make both sides lower-case.
        bootstrap: samples for the confidence interval (Koehn 2004); 1,000 are usual. Memory: about 40 bytes a
            sample and sentence.

    Raises:
        ValueError: no sentences, sides of different length, or an unknown tokenizer.
        ImportError: sacrebleu is missing.
    """
    metrics = _library("sacrebleu.metrics", "sacrebleu")
    if tokenize not in metrics.BLEU.TOKENIZERS:
        known = ", ".join(sorted(metrics.BLEU.TOKENIZERS))
        raise ValueError(f"sacrebleu has no tokenizer {tokenize!r}; it has {known}")
    # force: no warning that the text is tokenised, where the caller has said so
    metric = metrics.BLEU(tokenize=tokenize, lowercase=lowercase, force=tokenize == "none")
    return _score(metric, found, references, bootstrap)


def chrf(found: Sequence[str], references: Sequence[str], word_order: int = 0, lowercase: bool = False) -> Score:
    """chrF (Popović 2015): the F-score of groups of 1 to 6 characters, by sacrebleu; no tokenizer is needed.

    Args:
        found, references, lowercase: as in ``bleu``.
        word_order: 2 is chrF++ (Popović 2017), which counts words and pairs of words as well.

    Raises:
        As ``bleu``.
    """
    metric = _library("sacrebleu.metrics", "sacrebleu").CHRF(word_order=word_order, lowercase=lowercase)
    return _score(metric, found, references)


def sentence_chrf(found: Sequence[str], references: Sequence[str]) -> list[float]:
    """chrF of each sentence alone, from 0 to 100: to find those that went wrong.

    Raises:
        As ``bleu``.
    """
    metric = _library("sacrebleu.metrics", "sacrebleu").CHRF()
    pairs = zip(*_checked(found, references), strict=True)
    return [float(metric.sentence_score(a, [b]).score) for a, b in pairs]


def moses_bleu(found: Sequence[str], references: Sequence[str], language: str, bootstrap: int = 0) -> Score:
    """BLEU as papers on Multi30k report it: both sides lower-cased and in Moses' tokens.

    That is the measure of Wu et al. 2021 (arXiv 2105.14462), for translations in plain text: ``moses_tokens``
    of the raw references are the tokenised references that they compare with. As case does not count, it is
    milder than ``bleu``.

    Args:
        found, references, bootstrap: as in ``bleu``.
        language: of both sides: "de", "fr", ...

    Raises:
        As ``bleu``, also where sacremoses is missing.
    """
    found, references = _checked(found, references)
    # lower-cased already; so does the signature say it
    score = bleu(moses_tokens(found, language), moses_tokens(references, language), "none", True, bootstrap)
    before = f"norm-lc-moses.{language}|sacremoses:{version('sacremoses')}"
    return dataclasses.replace(score, signature=f"{score.signature}|before:{before}")


def moses_tokens(sentences: Iterable[str], language: str) -> list[str]:
    """Punctuation normalised, lower-cased, and cut by Moses' tokenizer, tokens separated by spaces.

    Of Multi30k's raw files (train, val and test_2016_flickr; English, German and French) it makes the data
    set's own ``lc.norm.tok`` files: all of their 93,042 sentences are equal, to the character.

    Raises:
        ValueError: not a language's code. ImportError: sacremoses is missing.
    """
    normalizer, tokenizer = _moses(language)
    found = []
    for sentence in sentences:
        # Moses' program reads lines with their ends, and one of its rules (a quotation mark after the last
        # full stop moves before it) needs that end.
        plain = normalizer.normalize(sentence + "\n").lower()
        found.append(str(tokenizer.tokenize(plain, return_str=True, escape=True)))
    return found


@cache
def _moses(language: str) -> tuple[Any, Any]:
    """Moses' normaliser and tokenizer of a language."""
    if not (language.isalpha() and language.isascii() and language.islower()):
        raise ValueError(f"a language is given by its code ('de', 'fr'), not by {language!r}")
    library = _library("sacremoses")
    return library.MosesPunctNormalizer(language, perl_parity=True), library.MosesTokenizer(language)


def _score(metric: Any, found: Sequence[str], references: Sequence[str], bootstrap: int = 0) -> Score:
    left, right = _checked(found, references)
    score = metric.corpus_score(left, [right], n_bootstrap=max(1, bootstrap))
    signature = str(metric.get_signature())
    as_dict = json.loads(score.format(width=6, signature=signature, is_json=True))
    is_bleu = score.name == "BLEU"
    return Score(
        value=float(score.score),
        text=str(score),
        signature=signature,
        interval=float(as_dict.get("confidence_var", 0.0)) if bootstrap > 1 else None,
        brevity_penalty=float(score.bp) if is_bleu else None,
        length_ratio=float(score.ratio) if is_bleu else None,
    )


def _checked(found: Sequence[str], references: Sequence[str]) -> tuple[list[str], list[str]]:
    """Both sides as lists of equal length, of at least one sentence."""
    if isinstance(found, str) or isinstance(references, str):
        raise TypeError("translations and references are sequences of sentences, not one string")
    left, right = list(found), list(references)
    if len(left) != len(right):
        raise ValueError(f"there are {len(left):,} translations and {len(right):,} references")
    if not left:
        raise ValueError("there are no translations to score")
    return left, right


def _library(name: str, package: str = "") -> Any:
    package = package or name
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"this score needs {package}: pip install 'minigrad[translate]', or {package} alone"
        ) from error
