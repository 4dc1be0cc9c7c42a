"""The corpus: sentence pairs drawn from the grammar, in three splits that share no reserved combination.

A sentence combines words: an adjective with a noun, a verb with its object, a subject with its verb. A few of these
pairs, chosen by a checksum, are reserved for the test split and a few for validation. Training sentences never contain
these pairs, although they contain the individual words. The test therefore shows whether a model has learned the
grammar, not whether it remembers phrases.
"""

from __future__ import annotations

import zlib
from collections import Counter
from functools import cache

from minigrad_models.translation.english_italian import Pair, tokenize

from .pieces import Link, Piece
from .rules import sentence
from .speaker import Speaker

SIZES = {"train": 14_500, "validation": 1_000, "test": 1_000}  # in the corpus that minigrad ships
DRAWN, WITH_RARE_WORDS = 60_000, 4_500  # its training pairs are selected from these
LARGEST = {"train": 400_000, "validation": 20_000, "test": 20_000}
LONGEST = 14  # words in the longest English sentence

HELD_OUT: frozenset[Link] = frozenset({("tomato", "tasty"), ("like", "cat"), ("I love", "you")})
"""Pairs reserved by name for the test split, so that the sentences we show are new to the model."""

_TEST_PER_MILLE, _VALIDATION_PER_MILLE = 40, 25
# Chosen from a dozen salts so that no single pair dominates the test split: the most common pair makes up about 6 % of
# it. Without a salt, "write a book" made up 25 %.
_SALT = "l"


@cache
def split_of_link(one: str, other: str) -> str:
    """The split for which a pair of words is reserved; "train" if it is not reserved."""
    if (one, other) in HELD_OUT:
        return "test"
    share = zlib.crc32(f"{_SALT}{one}+{other}".encode()) % 1000
    if share < _TEST_PER_MILLE:
        return "test"
    return "validation" if share < _TEST_PER_MILLE + _VALIDATION_PER_MILLE else "train"


def split_of(sentence: Piece) -> str:
    """The split of a sentence: test takes precedence over validation, and validation over train."""
    splits = {split_of_link(one, other) for one, other in sentence.links}
    return next((split for split in ("test", "validation") if split in splits), "train")


def draw(split: str, size: int, seed: int = 0) -> list[Pair]:
    """Draw ``size`` distinct pairs for a split. Equal arguments yield equal pairs on any machine. Splits are disjoint
    for all seeds. Raises ValueError for an unknown split, or if the grammar has fewer pairs."""
    if split not in LARGEST:
        raise ValueError(f"draw: unknown split {split!r}; choose from {', '.join(LARGEST)}")
    if not 0 <= size <= LARGEST[split]:
        raise ValueError(f"draw: size {size} of {split!r} is not between 0 and {LARGEST[split]}")
    speaker = Speaker(f"{split} {seed}")
    pairs: dict[str, Pair] = {}
    while len(pairs) < size:
        clause = sentence(speaker)
        if split_of(clause) == split and clause.english.count(" ") < LONGEST:
            source = _written(clause.english, clause.end)
            if source not in pairs:
                pairs[source] = Pair(source, _written(clause.italian, clause.end))
    return list(pairs.values())


def shipped() -> dict[str, list[Pair]]:
    """The pairs that minigrad ships, by split. A third of the training pairs contain the rarest words, so that a model
    sees each word several times."""
    splits = {split: draw(split, DRAWN if split == "train" else size) for split, size in SIZES.items()}
    words = [{*tokenize(pair.source), *(f"it {word}" for word in tokenize(pair.target))} for pair in splits["train"]]
    counts = Counter(word for pair in words for word in pair)
    rarest = [min(counts[word] for word in pair) for pair in words]
    first = SIZES["train"] - WITH_RARE_WORDS
    others = sorted(range(first, DRAWN), key=rarest.__getitem__)[:WITH_RARE_WORDS]
    splits["train"] = [splits["train"][i] for i in (*range(first), *others)]
    return splits


def _written(text: str, end: str) -> str:
    return f"{text[0].upper()}{text[1:]}{end}"
