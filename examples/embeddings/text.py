"""Words of the corpus that ``examples.english_italian`` writes, or of a file, as numbers.

A corpus is read twice: words are counted, then written as numbers into a temporary file, of which training reads a
piece at a time. So memory holds the vocabulary, not the text.
"""

from __future__ import annotations

import io
import os
import re
import sys
import tempfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from minigrad.utils.bar import bar, watched
from minigrad_models.translation import english_italian

from ..english_italian.corpus import draw

Array = np.ndarray[Any, np.dtype[Any]]
Texts = Iterable[list[str]]  # the words of one text after the other
Language = Literal["english", "italian"]

BREAK = -1  # among the numbers: the end of a text
BLOCK = 1 << 20  # bytes to read at once
MOST = 5_000_000  # different words to count: from then on the rarest are forgotten
WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
PARAGRAPH, LINE = re.compile(r"\n[^\S\n]*\n"), re.compile(r"\n")


@dataclass(frozen=True)
class Corpus:
    """A text in numbers.

    Attributes:
        name: of the text. words: the vocabulary, the most frequent word first.
        counts: (V,) int64, how often each occurs.
        ids: int32, the number of word after word, and BREAK after each text; words out of the vocabulary are left out,
            so that those beside them are neighbours.
    """

    name: str
    words: tuple[str, ...]
    counts: Array
    ids: Array

    @property
    def size(self) -> int:
        """The number of words that are left."""
        return int(self.counts.sum())

    @cached_property
    def digest(self) -> str:
        """A checksum of words and text."""
        total = zlib.crc32("\n".join(self.words).encode("utf-8", "surrogatepass"))
        for start in range(0, len(self.ids), BLOCK):
            total = zlib.crc32(self.ids[start : start + BLOCK].tobytes(), total)
        return f"{total:08x}"


def shipped(language: Language, size: int = 100_000) -> Corpus:
    """One side of the English-Italian corpus, without punctuation. ``size``: of its sentences, more of the grammar's
    than minigrad ships."""
    print("the grammar writes the corpus: that takes some seconds", file=sys.stderr)
    pairs = draw("train", size)
    side = "source" if language == "english" else "target"

    def texts() -> Iterator[list[str]]:
        for pair in watched(pairs, "reading"):
            yield [word for word in english_italian.tokenize(getattr(pair, side)) if word[0].isalnum() or word == "'s"]

    return numbered(f"{language.capitalize()}, {len(pairs):,} sentences of the corpus", texts, 1, None)


def from_file(path: Path, least: int = 5, vocabulary: int | None = 50_000, every_line: bool = False) -> Corpus:
    """A UTF-8 file, in lower case, whatever its size.

    Args:
        least, vocabulary: as for ``numbered``.
        every_line: whether a line is a text of its own; else texts end at empty lines.

    Raises:
        OSError: there is no such file, or it cannot be read. ValueError: it is not text, or there are too few words.
    """
    return numbered(path.name, lambda: _texts(path, every_line), least, vocabulary)


def numbered(name: str, texts: Callable[[], Texts], least: int, vocabulary: int | None) -> Corpus:
    """Count words, then write them as numbers.

    Args:
        texts: begins to read, each time it is called.
        least: words that occur less often are left out. vocabulary: so many of the most frequent are kept; None: all.

    Raises:
        ValueError: fewer than two words are left, or no two stand in the same text.
    """
    counted = _counted(texts())
    kept = sorted((word for word, n in counted.items() if n >= least), key=lambda word: (-counted[word], word))
    words = tuple(kept[:vocabulary])
    if len(words) < 2:
        rule = f" that occur {least} times or more (--min-count)" if counted else ""
        raise ValueError(f"{name} has {len(words) or 'no'} different words{rule}: vectors need two or more")
    ids = _written(texts(), {word: i for i, word in enumerate(words)})
    if not ((ids[:-1] != BREAK) & (ids[1:] != BREAK)).any():
        raise ValueError(f"{name} has no two words beside each other: each text has one word only")
    return Corpus(name, words, np.array([counted[word] for word in words], np.int64), ids)


def _counted(texts: Texts) -> Counter[str]:
    """How often each word occurs; of more than MOST words the rarest are dropped now and then, as in the paper's
    program."""
    counts: Counter[str] = Counter()
    floor = 1
    for words in texts:
        counts.update(words)
        while len(counts) > MOST:
            counts = Counter({word: n for word, n in counts.items() if n > floor})
            floor += 1
    return counts


def _written(texts: Texts, numbers: dict[str, int]) -> Array:
    """The numbers of all words, mapped from a temporary file, which goes with the array."""
    with tempfile.TemporaryFile() as file:
        for words in texts:
            known = [numbers[word] for word in words if word in numbers]
            file.write(np.array([*known, BREAK], np.int32).tobytes())
        file.flush()
        return np.memmap(file, np.int32, "r")


def _texts(path: Path, every_line: bool) -> Iterator[list[str]]:
    """The words of each text of a file; texts longer than a block are cut at spaces."""
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")
    if not path.is_file():
        raise ValueError(f"{path} is a folder, a device or a pipe, not a file, which can be read twice")
    ends = LINE if every_line else PARAGRAPH
    rest = ""
    for block in _blocks(path):
        *texts, rest = ends.split(rest + block)
        if len(rest) > BLOCK:
            cut = max(map(rest.rfind, " \n\t\r")) + 1
            if not cut:
                raise ValueError(f"{path} has a word of more than {BLOCK:,} letters: words must stand between spaces")
            texts, rest = [*texts, rest[:cut]], rest[cut:]
        yield from filter(None, map(_words, texts))
    if words := _words(rest):
        yield words


def _words(text: str) -> list[str]:
    return WORD.findall(text.lower())


def _blocks(path: Path) -> Iterator[str]:
    """The text of a file, piece by piece. Raises ValueError: it is not UTF-8, or not text."""
    with path.open("rb") as raw, bar(os.path.getsize(path), "reading", "B") as shown:
        file = io.TextIOWrapper(raw, "utf-8-sig", newline="")
        while True:
            done = raw.tell()
            try:
                text = file.read(BLOCK)
            except UnicodeDecodeError as error:
                raise ValueError(
                    f"{path} is not text in UTF-8 (byte {error.object[error.start]:#04x} within the megabyte from byte "
                    f"{done:,} on). Convert it first, for instance: iconv -f LATIN1 -t UTF-8"
                ) from None
            if "\0" in text:
                raise ValueError(f"{path} is a binary file: it has zero bytes")
            if not text:
                return
            yield text
            shown.update(raw.tell() - done)
