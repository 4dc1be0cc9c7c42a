"""What a trained model shows of itself before anybody types: sentences to translate, and words that it knows.

They are written into the model's file, so that this alone is enough.
"""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TypedDict

from ..text import Pairs
from .overview import words_of

SENTENCES, LONGEST = 6, 80  # characters
WORDS, LONGEST_WORD = 1000, 40
READ = 20_000  # sentences of the training that words are taken from


class Examples(TypedDict):
    """Sentences of the source that the model has not learned from (if some are held out), the first to be shown; and
    the words of its training, the commonest first."""

    sentences: list[str]
    words: list[str]


def examples_of(pairs: dict[str, Pairs]) -> Examples:
    """Examples of the pairs by split; the same pairs give the same."""
    held_out = pairs.get("validation", pairs["train"]).source
    counts = Counter(word for text in islice(pairs["train"].source, READ) for word in words_of(text))
    words = sorted(counts, key=lambda word: (-counts[word], word))
    return limited({"sentences": list(islice(held_out, READ)), "words": words})


def limited(examples: Examples) -> Examples:
    """Some of the examples: short ones, each once, the longest of them first, which show most."""
    short = list(dict.fromkeys(text for text in examples["sentences"] if 0 < len(text) <= LONGEST))
    chosen = sorted(short[:SENTENCES], key=len, reverse=True)
    words = [word for word in examples["words"] if len(word) <= LONGEST_WORD]
    return {"sentences": chosen, "words": words[:WORDS]}
