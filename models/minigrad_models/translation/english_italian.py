"""An English-Italian corpus that needs no download: 16,500 pairs, which a grammar wrote (examples/english_italian).

from minigrad_models.translation import english_italian

pairs = english_italian.load("train")              # 14,500 pairs
english_italian.tokenize("Ti amo molto.")          # ["ti", "amo", "molto", "."]
english_italian.detokenize(["ti", "amo", "."])     # "Ti amo."
english_italian.normalize("i don't like cats")     # "I do not like cats."
"""

from __future__ import annotations

import gzip
import re
import unicodedata
import zlib
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ..text.tokenizer import SCHEMES, Scheme, several

CORPUS = Path(__file__).with_suffix(".tsv.gz")
SPLITS = ("train", "validation", "test")
_PROPER = {
    word.lower(): word
    for word in (
        *("Marco", "Luca", "Paolo", "Antonio", "Maria", "Giulia", "Laura", "Anna"),
        *("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    )
}
_AFTER_I = re.compile(  # words of the corpus that follow the Italian article i; before others "i" is the English I
    r"""bambini|begli|bei|bicchieri|biscotti|camerieri|cani|cappelli|cassetti|cavalli|conigli|fiori|fratelli|funghi|gatti|
    genitori|giocattoli|giornali|letti|libri|loro|lupi|medici|miei|musei|nostri|panini|piatti|pomodori|ragazzi|ragni|
    ristoranti|suoi|tavoli|telefoni|topi|treni|tuoi|vestiti""",
    re.VERBOSE,
)
_APOSTROPHES = str.maketrans(dict.fromkeys("’‘ʼ´`′＇", "'"))
_TOKEN = re.compile(r"\w+(?='s\b)|'s\b|\w+'(?=\w)|\w+|[^\w\s]")
_CONTRACTIONS = tuple(
    (re.compile(pattern, re.IGNORECASE), expanded)
    for pattern, expanded in (
        (r"\bcan't\b", "cannot"),
        (r"\bwon't\b", "will not"),
        (r"n't\b", " not"),
        (r"\b(i)'m\b", r"\1 am"),
        (r"\b(it|he|she|that|there|where|who|what|how|when|why)'s\b", r"\1 is"),
        (r"\b(you|we|they|who)'re\b", r"\1 are"),
        (r"\b(\w+)'ll\b", r"\1 will"),
        (r"\b(\w+)'d like\b", r"\1 would like"),
        (r"\b(i|you|we|they)'ve\b", r"\1 have"),
    )
)
_CAN_NOT = re.compile(r"\bcan not\b", re.IGNORECASE)
_QUESTION = re.compile(
    r"(what|who|where|when|why|how|do|does|did|is|are|am|was|were|can|must|will|would)\b(?! not\b)", re.IGNORECASE
)
_NO_SPACE_BEFORE = frozenset([".", ",", "?", "!", ";", ":", "'s"])
_SENTENCE_END = frozenset(".?!")


class Pair(NamedTuple):
    """An English sentence and its Italian translation, as a person writes them."""

    source: str
    target: str


def load(split: str = "train", size: int | None = None) -> list[Pair]:
    """The first ``size`` pairs of a split, or all: "train" has 14,500, "validation" and "test" 1,000 each. No two pairs
    have the same source, and some combinations of words are kept for validation and testing alone: no training sentence
    holds "I love you", though it holds its words. English "you" is tu, and first persons are masculine. Raises
    ValueError: an unknown split, or a size below 0 or above that of the split."""
    if split not in SPLITS:
        raise ValueError(f"load: no split {split!r}; there are {', '.join(SPLITS)}")
    pairs = _corpus()[split]
    if size is not None and not 0 <= size <= len(pairs):
        raise ValueError(f"load: size {size} of {split!r} is not between 0 and {len(pairs)}")
    return pairs[:size]


@cache
def _corpus() -> dict[str, list[Pair]]:
    """All pairs by split. They are sorted in the file, which makes it small, and drawn by a checksum here."""
    splits: dict[str, list[Pair]] = {split: [] for split in SPLITS}
    for line in sorted(gzip.decompress(CORPUS.read_bytes()).splitlines(), key=zlib.crc32):
        split, source, target = line.decode().split("\t")
        splits[split].append(Pair(source, target))
    return splits


def _clean(text: str) -> str:
    """`text` composed (NFC), with straight apostrophes and English contractions written out."""
    if not text.isascii() or "`" in text:
        text = unicodedata.normalize("NFC", text).translate(_APOSTROPHES)
    if "'" in text:
        for pattern, expanded in _CONTRACTIONS:
            text = pattern.sub(expanded, text)
    return text


def normalize(text: str) -> str:
    """English as a user types it, written as the corpus writes it: spaces and apostrophes are made regular,
    contractions written out, names, days, "I" and the first letter get their capitals, and a missing full stop is
    added, or a question mark if the sentence begins as a question. Text without a letter or digit comes back only
    stripped; a sentence of the corpus comes back as it is."""
    text = _CAN_NOT.sub("cannot", " ".join(_clean(text).split()))
    if not any(character.isalnum() for character in text):
        return text
    body = text.rstrip(".?!,;:… ")
    end = "?" if "?" in text[len(body) :] or _QUESTION.match(body) else "."
    return detokenize([*tokenize(body), end])


def tokenize(text: str) -> list[str]:
    """Cut English or Italian into words, with punctuation, l' and 's as tokens of their own. The first word of a
    sentence is lower-cased, except names, days and "I", which have their capital wherever they stand. Any text is
    accepted; the empty one has no tokens."""
    words: list[str] = _TOKEN.findall(_clean(text))
    tokens: list[str] = []
    begins = True
    for position, word in enumerate(words):
        if word in ("i", "I"):
            following = words[position + 1].lower() if position + 1 < len(words) else ""
            word = "i" if _AFTER_I.fullmatch(following) else "I"
        elif (lower := word.lower()) in _PROPER:
            word = _PROPER[lower]
        elif begins or (len(word) > 1 and word.isupper()):
            word = lower
        tokens.append(word)
        begins = word in _SENTENCE_END
    return tokens


def detokenize(tokens: list[str]) -> str:
    """The text of `tokens`: spaces where they belong, capitals at the start of sentences."""
    text = ""
    start = True
    for token in several(tokens):
        if start and token:
            token = token[0].upper() + token[1:]
        if text and token not in _NO_SPACE_BEFORE and not text.endswith("'"):
            text += " "
        text += token
        start = token in _SENTENCE_END
    return text


# For ``WordTokenizer``; entered among the library's schemes, so that a run's tokenizer can be saved and loaded.
SCHEME = SCHEMES["english_italian"] = Scheme(tokenize, detokenize, normalize)
