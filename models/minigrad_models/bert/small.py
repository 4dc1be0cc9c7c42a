"""Small data sets for sst2, mrpc and conll that need no download, from the English sentences of the bundled corpus.
The sentences, people and towns in the evaluation split do not occur in the training split."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

from ..translation import english_italian
from ..translation.english_italian import detokenize, tokenize
from .bert_data import Labelled, Tagged
from .questions import HELD_OUT, WORDS, Split

MOST = {"train": 2000, "dev": 300}  # examples
GOOD = "beautiful comfortable delicious famous fresh good happy intelligent interesting kind nice strong tasty useful"
BAD = "afraid boring broken cold dirty expensive heavy hungry sad sick thirsty tired"
NAME = "Anna|Antonio|Giulia|Laura|Luca|Marco|Maria|Paolo"
PLACE = "airport|cinema|garden|hospital|hotel|kitchen|library|market|museum|office|park|restaurant|stadium|station|zoo"
TOWNS = ("Fort", "Mount", "Port", "Saint")  # prefixes of town names
WORD = re.compile(rf"\b(?P<PER>{NAME})\b|(?<= in | at | to )(?P<LOC>school|the (?:{PLACE}))\b|'s\b|\w+|[^\w\s]")
TIME = re.compile(r"(.+) (today|tomorrow|on \w+day|in the (?:morning|evening)|(?:last|next) week|every day)\.")


def load(task: str, split: Split) -> list[Any]:
    """The examples of a task for training or evaluation, which are the same in every run."""
    parts = ("train",) if split == "train" else ("validation", "test")
    texts = (pair.source for part in parts for pair in english_italian.load(part))
    make = {"sst2": _moods, "mrpc": _paraphrases, "conll": _entities}[task]
    return list(islice(make(texts, split, np.random.default_rng([2018, len(split)])), MOST[split]))


def _moods(texts: Iterator[str], split: Split, random: np.random.Generator) -> Iterator[Labelled]:
    """Sentences with a positive or a negative adjective; "not" reverses the label."""
    for text in texts:
        words = set(tokenize(text))
        good, bad = (not words.isdisjoint(adjectives.split()) for adjectives in (GOOD, BAD))
        if good != bad:
            yield Labelled((text,), "positive" if good != ("not" in words) else "negative")


def _paraphrases(texts: Iterator[str], split: Split, random: np.random.Generator) -> Iterator[Labelled]:
    """A sentence, and the same sentence with its time moved to the front. Other pairs differ in a "not" or a place."""
    places = PLACE.split("|")
    for match in filter(None, map(TIME.fullmatch, texts)):
        words, label = tokenize(match[1]), "equivalent"
        pivots = {"not"} if "not" in words else {"will", *places}
        if (there := [i for i, word in enumerate(words) if word in pivots]) and random.random() < 0.5:
            i, label = int(random.choice(there)), "different"
            place = str(random.choice([place for place in places if place != words[i]]))
            words[i : i + 1] = {"not": [], "will": ["will", "not"]}.get(words[i], [place])
        if there:
            yield Labelled((match[0], detokenize([*tokenize(match[2]), ",", *words, "."])), label)


def _entities(texts: Iterator[str], split: Split, random: np.random.Generator) -> Iterator[Tagged]:
    """Sentences whose names and places are replaced with other people ("Ada Berg" or "Ada") and towns ("Port Berg")."""
    full = {}
    for name, firsts in (("PER", WORDS["first"]), ("LOC", TOWNS)):
        names = [(a, b) for a in enumerate(firsts) for b in enumerate(WORDS["last"])]
        full[name] = [[a, b] for (i, a), (j, b) in names if ((i + j) % HELD_OUT == 0) == (split == "dev")]
    for text in texts:
        words, tags = list[str](), list[str]()
        for match in WORD.finditer(text):
            new = [match[0]]
            if kind := match.lastgroup:
                new = full[kind][random.integers(len(full[kind]))][: random.integers(1, 3) if kind == "PER" else 2]
            words += new
            tags += [f"B-{kind}", f"I-{kind}"][: len(new)] if kind else ["O"]
        if set(tags) != {"O"}:
            yield Tagged(tuple(words), tuple(tags))
