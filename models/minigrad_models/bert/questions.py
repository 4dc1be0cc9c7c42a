"""A small data set in SQuAD's format that needs no download: short texts about people who do not exist.

Each text states several facts about each of its people, in random order and in one of several wordings. A question asks
for one of the facts, and its answer is part of the text: the value ("Where does Ada Berg live?") or the person ("Who
lives in Turin?"). Other people in the text have facts of the same kind. Every tenth text has so many people that a
model must read it in windows. No person appears in both training and evaluation texts.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Literal

import numpy as np

from .bert_data import Question

Split = Literal["train", "dev"]
TEXTS = {"train": 600, "dev": 100}
ASKED = 4  # questions about a text
HELD_OUT = 5  # one in this many name pairs (first and last) is for evaluation


with Path(__file__).with_suffix(".toml").open("rb") as _file:
    WORDS = tomllib.load(_file)  # names, and kinds of facts
KINDS = WORDS["kinds"]


def load(split: Split) -> list[Question]:
    """The questions in a split, which are the same in every run."""
    random = np.random.default_rng([2016, list(TEXTS).index(split)])
    return [question for number in range(TEXTS[split]) for question in _text(split, number, random)]


def _text(split: Split, number: int, random: np.random.Generator) -> list[Question]:
    count = int(random.integers(8, 12)) if number % 10 == 9 else int(random.integers(2, 5))
    names = [(a, b) for a in enumerate(WORDS["first"]) for b in enumerate(WORDS["last"])]
    there = [f"{first} {last}" for (i, first), (j, last) in names if ((i + j) % HELD_OUT == 0) == (split == "dev")]
    people = random.permutation(there)[:count].tolist()
    pool = []
    for i in sorted(random.permutation(len(KINDS))[: random.integers(3, 6)]):
        values = random.permutation(KINDS[i]["values"])[:count].tolist()  # or fewer, if the kind has fewer values
        pool += [(KINDS[i], who, what) for who, what in zip(people, values, strict=False)]
    facts, context = [], ""  # each fact: its kind, and the positions of the person and the value in the text
    for i in random.permutation(len(pool)).tolist():
        kind, who, what = pool[i]
        sentence = kind["wordings"][random.integers(len(kind["wordings"]))].format(who=who, what=what)
        facts.append((kind, *((part, len(context) + sentence.index(part)) for part in (who, what))))
        context += f"{sentence} "
    questions = []
    for i in random.permutation(len(facts))[:ASKED].tolist():
        kind, who, what = facts[i]
        for_what = random.random() < 0.75
        forms = kind["asked"] if for_what else kind["who"]
        text = forms[random.integers(len(forms))].format(who=who[0], what=what[0])
        answer = what if for_what else who
        questions.append(Question(text, context.rstrip(), (answer,), f"{split}-{number}-{i}"))
    return questions
