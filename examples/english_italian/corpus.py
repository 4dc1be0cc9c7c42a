"""The corpus: sentence pairs drawn from the grammar, in three splits that share no combination.

A sentence puts words together: an adjective with a noun, a verb with its object, a subject with
its verb. A few of these pairs, chosen once and for all by a checksum, are kept for the test split
and a few for validation: no training sentence holds them, though it holds their words. So the
test asks whether a model has learned the grammar, not whether it remembers phrases.
"""

from __future__ import annotations

import zlib
from functools import cache

from minigrad_models.translation.english_italian import Pair

from .clauses import Clause
from .phrases import Link
from .rules import sentence
from .speaker import Speaker

SIZES = {"train": 14_000, "validation": 1_000, "test": 1_000}  # of the corpus that minigrad ships
LARGEST = {"train": 400_000, "validation": 20_000, "test": 20_000}
LONGEST = 14
"""Words of the longest English sentence."""

HELD_OUT: frozenset[Link] = frozenset({("tomato", "tasty"), ("like", "cat"), ("I love", "you")})
"""Pairs kept for the test split by name, so that the sentences we show are new to the model."""

_TEST_PER_MILLE, _VALIDATION_PER_MILLE = 40, 25
_SALT = "l"
"""Chosen among a dozen so that no one pair fills the test split: the commonest has some 6 % of it.
Without salt "write a book" had 25 %."""


@cache
def split_of_link(one: str, other: str) -> str:
    """The split that a pair of words is kept for; "train" if it is kept for none."""
    if (one, other) in HELD_OUT:
        return "test"
    share = zlib.crc32(f"{_SALT}{one}+{other}".encode()) % 1000
    if share < _TEST_PER_MILLE:
        return "test"
    return "validation" if share < _TEST_PER_MILLE + _VALIDATION_PER_MILLE else "train"


def split_of(clause: Clause) -> str:
    """The split of a sentence: test before validation before train."""
    splits = {split_of_link(one, other) for one, other in clause.links}
    return next((split for split in ("test", "validation") if split in splits), "train")


def draw(split: str, size: int, seed: int = 0) -> list[Pair]:
    """Draw ``size`` distinct pairs of a split; the same arguments give the same pairs anywhere.

    Splits are disjoint whatever the seeds.

    Raises:
        ValueError: for an unknown split, or more pairs than the grammar has.
    """
    if split not in LARGEST:
        raise ValueError(f"draw: no split {split!r}; there are {', '.join(LARGEST)}")
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


def _written(text: str, end: str) -> str:
    return f"{text[0].upper()}{text[1:]}{end}"
