"""The words in the corpus that ``examples.english_italian`` writes, or in a file, as ids."""

from __future__ import annotations

import re
import sys
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from minigrad.utils.bar import watched
from minigrad_models.translation import english_italian

from ..english_italian.corpus import draw

Array = np.ndarray[Any, np.dtype[Any]]
Language = Literal["english", "italian"]

BREAK = -1  # marks the end of a text among the ids
WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
PARAGRAPH = re.compile(r"\n\s*\n")


@dataclass(frozen=True)
class Corpus:
    """A text as word ids."""

    name: str
    words: tuple[str, ...]  # the vocabulary, most frequent word first
    counts: Array  # (V,) int64, how often each word occurs
    ids: Array  # int32, one per word, BREAK after each text; words outside the vocabulary are dropped

    @property
    def size(self) -> int:
        """The number of words that remain."""
        return int(self.counts.sum())

    @cached_property
    def digest(self) -> str:
        """A checksum of the words and the text."""
        words = "\n".join(self.words).encode("utf-8", "surrogatepass")
        return f"{zlib.crc32(self.ids.tobytes(), zlib.crc32(words)):08x}"


def shipped(language: Language, size: int = 100_000) -> Corpus:
    """One side of the English-Italian corpus without punctuation: ``size`` sentences, by default more than minigrad
    ships."""
    print("generating the corpus from the grammar takes a few seconds", file=sys.stderr)
    pairs = draw("train", size)
    side = "source" if language == "english" else "target"
    texts = [
        [word for word in english_italian.tokenize(getattr(pair, side)) if word[0].isalnum() or word == "'s"]
        for pair in watched(pairs, "reading")
    ]
    return numbered(f"{language.capitalize()}, {len(pairs):,} sentences of the corpus", texts, 1, None)


def from_file(path: Path, least: int = 5, vocabulary: int | None = 50_000) -> Corpus:
    """Read a UTF-8 file in lower case. Texts end at empty lines. For ``least`` and ``vocabulary`` see ``numbered``.
    Raises OSError if the file cannot be read, and ValueError if it is not text or has too few words."""
    if not path.exists():
        raise FileNotFoundError(f"file not found: {path}")
    try:
        text = path.read_text(encoding="utf-8-sig").lower()
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} is not UTF-8 text (byte {error.object[error.start]:#04x} at {error.start:,}). "
            f"Convert it first, for instance: iconv -f LATIN1 -t UTF-8"
        ) from None
    texts = [words for paragraph in PARAGRAPH.split(text) if (words := WORD.findall(paragraph))]
    return numbered(path.name, texts, least, vocabulary)


def numbered(name: str, texts: list[list[str]], least: int, vocabulary: int | None) -> Corpus:
    """The texts as word ids, keeping the ``vocabulary`` (None: all) most frequent words with at least ``least``
    occurrences. Raises ValueError if fewer than two words remain, or no text contains two."""
    counted = Counter(word for words in texts for word in words)
    ranking = sorted((word for word, n in counted.items() if n >= least), key=lambda word: (-counted[word], word))
    words = tuple(ranking[:vocabulary])
    if len(words) < 2:
        rule = f" that occur {least} times or more (--min-count)" if counted else ""
        raise ValueError(f"{name} has {len(words) or 'no'} distinct words{rule}: vectors need two or more")
    ids = np.array(list(_ids(texts, {word: i for i, word in enumerate(words)})), np.int32)
    if not ((ids[:-1] != BREAK) & (ids[1:] != BREAK)).any():
        raise ValueError(f"{name} has no pairs of words: each text has only one word")
    return Corpus(name, words, np.array([counted[word] for word in words], np.int64), ids)


def _ids(texts: list[list[str]], numbers: dict[str, int]) -> Iterator[int]:
    for words in texts:
        yield from (numbers[word] for word in words if word in numbers)
        yield BREAK
