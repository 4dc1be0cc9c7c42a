"""Text to words and back, for both languages, and a normal form for what users type.

normalize  "i don't like cats"          "I do not like cats."
tokenize   "Maria likes the cat."       Maria likes the cat .
           "A Maria piace l'orso."      a Maria piace l' orso .
detokenize puts a sentence's tokens together again
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from .lexicon import DAYS, MEN, NOUNS, WOMEN

_PROPER = {word.lower(): word for word in (*MEN, *WOMEN, *DAYS)}
_AFTER_I = {noun.italian_plural for noun in NOUNS.values() if noun.italian_plural} | {
    *("miei", "tuoi", "suoi", "nostri", "loro", "bei", "begli")
}
"""Words that follow the Italian article i; before any other word "i" is the English I."""

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
    r"(what|who|where|when|why|how|do|does|did|is|are|am|was|were|can|must|will|would)\b"
    r"(?! not\b)",
    re.IGNORECASE,
)
_NO_SPACE_BEFORE = frozenset([".", ",", "?", "!", ";", ":", "'s"])
_SENTENCE_END = frozenset(".?!")


def _clean(text: str) -> str:
    """`text` composed (NFC), with straight apostrophes and English contractions written out."""
    if not text.isascii() or "`" in text:
        text = unicodedata.normalize("NFC", text).translate(_APOSTROPHES)
    if "'" in text:
        for pattern, expanded in _CONTRACTIONS:
            text = pattern.sub(expanded, text)
    return text


def normalize(text: str) -> str:
    """English as a user types it, written as the corpus writes it.

    Spaces and apostrophes are made regular, contractions written out, names, days, "I" and the
    first letter get their capitals, and a missing full stop is added, or a question mark if the
    sentence begins as a question. Text without a letter or digit comes back only stripped.
    A sentence of the corpus comes back as it is.
    """
    text = _CAN_NOT.sub("cannot", " ".join(_clean(text).split()))
    if not any(character.isalnum() for character in text):
        return text
    body = text.rstrip(".?!,;:… ")
    end = "?" if "?" in text[len(body) :] or _QUESTION.match(body) else "."
    return detokenize([*tokenize(body), end])


def tokenize(text: str) -> list[str]:
    """Cut English or Italian into words, with punctuation, l' and 's as tokens of their own.

    The first word of a sentence is lower-cased, except names, days and "I", which have their
    capital wherever they stand. Any text is accepted; the empty one has no tokens.
    """
    words: list[str] = _TOKEN.findall(_clean(text))
    tokens: list[str] = []
    begins = True
    for position, word in enumerate(words):
        if word in ("i", "I"):
            following = words[position + 1].lower() if position + 1 < len(words) else ""
            word = "i" if following in _AFTER_I else "I"
        else:
            word = _written(word, begins)
        tokens.append(word)
        begins = word in _SENTENCE_END
    return tokens


@lru_cache(1 << 14)
def _written(word: str, begins: bool) -> str:
    """A word as a token; ``begins``: it is the first of a sentence."""
    lower = word.lower()
    if lower in _PROPER:
        return _PROPER[lower]
    return lower if begins or (len(word) > 1 and word.isupper()) else word


def detokenize(tokens: list[str]) -> str:
    """The text of `tokens`: spaces where they belong, capitals at the start of sentences."""
    text = ""
    start = True
    for token in tokens:
        if start and token:
            token = token[0].upper() + token[1:]
        if text and token not in _NO_SPACE_BEFORE and not text.endswith("'"):
            text += " "
        text += token
        start = token in _SENTENCE_END
    return text
