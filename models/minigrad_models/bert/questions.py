"""A small data set in SQuAD's format that needs no download: short texts about people who do not exist.

A text tells several facts about each of its people, in one of several wordings, in random order. A question asks for
one of them, and its answer is a piece of the text: the value ("Where does Ada Berg live?"), or the person ("Who lives
in Turin?"). Others of the text have facts of the same kind, so that it takes both the person and the kind to find the
answer. Every tenth text is of so many people that a model has to read it in windows. No person of the texts for
measuring is in those for training.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from minigrad.serialization.source import replaced

from .bert_data import Question

Split = Literal["train", "dev"]
TEXTS = {"train": 600, "dev": 100}
ASKED = 4  # questions about a text
FIRST = (
    "Ada Boris Clara Dario Elena Felix Greta Hugo Irene Jonas Karin Leon Marta Nils Olga Pablo Rosa Simon Tessa Viktor"
)
LAST = (
    "Abel Berg Conti Duval Ekman Fuchs Grimaldi Holm Ivanov Jansen Kovac Lindt Moreau Novak Olsen Petrov Quist Ricci "
    "Santos Tanaka Urban Vidal Weber Zeller"
)
HELD_OUT = 5  # of this many pairs of first and last names one is for measuring


class Kind(NamedTuple):
    """A kind of fact: sentences with {who} and {what}, questions for what and for who, and what there is, with commas
    between."""

    wordings: tuple[str, ...]
    asked: tuple[str, ...]
    who: tuple[str, ...]
    values: str


KINDS = (
    Kind(
        ("{who} lives in {what}.", "The home of {who} is in {what}.", "{who} has a small house in {what}."),
        ("Where does {who} live?", "In which city is the home of {who}?"),
        ("Who lives in {what}?", "Whose home is in {what}?"),
        "Turin, Lisbon, Oslo, Vienna, Kyoto, Quito, Dublin, Cairo, Seville, Bergen, Havana, Lyon",
    ),
    Kind(
        ("{who} was born in {what}.", "In {what}, {who} was born.", "The year {what} is when {who} was born."),
        ("When was {who} born?", "In which year was {who} born?"),
        ("Who was born in {what}?",),
        ", ".join(str(year) for year in range(1931, 2005, 3)),
    ),
    Kind(
        ("{who} works as {what}.", "By profession, {who} is {what}.", "For many years {who} has been {what}."),
        ("What is the profession of {who}?", "What does {who} work as?"),
        ("Who works as {what}?",),
        "a baker, a ship's carpenter, a judge, a teacher of music, a nurse, an engine driver, a gardener, "
        "an astronomer, a printer of maps, a bridge engineer, a translator, a beekeeper",
    ),
    Kind(
        ("{who} plays {what}.", "On most evenings {who} practises {what}.", "At the age of nine {who} learned {what}."),
        ("Which instrument does {who} play?", "What does {who} practise?"),
        ("Who plays {what}?",),
        "the violin, the bass clarinet, the harp, the accordion, the cello, the trumpet, the church organ",
    ),
    Kind(
        ("{who} paid {what} for a boat.", "The boat of {who} cost {what}.", "For {what}, {who} bought an old boat."),
        ("How much did {who} pay for a boat?", "What did the boat of {who} cost?"),
        ("Who paid {what} for a boat?",),
        ", ".join(f"{euros} euros" for euros in range(450, 9000, 350)),
    ),
    Kind(
        ("{who} is afraid of {what}.", "Nothing frightens {who} more than {what}.", "{who} dreams badly of {what}."),
        ("What is {who} afraid of?", "What frightens {who}?"),
        ("Who is afraid of {what}?",),
        "spiders, deep water, thunder, large dogs, the dark, high ladders, the neighbour's geese",
    ),
)


def load(split: Split) -> list[Question]:
    """The questions of one part; the same in every run."""
    random = np.random.default_rng([2016, list(TEXTS).index(split)])
    return [question for number in range(TEXTS[split]) for question in _text(split, number, random)]


def save(folder: Path) -> list[Path]:
    """Write both parts as train.json and dev.json, in SQuAD's format. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for split in TEXTS:
        paths.append(folder / f"{split}.json")
        with replaced(paths[-1]) as temporary:
            content = as_squad(load(split))  # type: ignore[arg-type]  # a key of TEXTS
            Path(temporary).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return paths


def as_squad(questions: list[Question]) -> dict[str, Any]:
    """Questions in SQuAD's format; those in a row about one text are of one paragraph."""
    paragraphs: list[dict[str, Any]] = []
    for q in questions:
        if not paragraphs or paragraphs[-1]["context"] != q.context:
            paragraphs.append({"context": q.context, "qas": []})
        answers = [{"text": text, "answer_start": start} for text, start in q.answers]
        paragraphs[-1]["qas"].append({"id": q.number, "question": q.question, "answers": answers})
    return {"version": "1.1", "data": [{"title": "People who do not exist", "paragraphs": paragraphs}]}


def _text(split: Split, number: int, random: np.random.Generator) -> list[Question]:
    """A text, and questions about it."""
    count = int(random.integers(8, 12)) if number % 10 == 9 else int(random.integers(2, 5))
    names = [(a, b) for a in enumerate(FIRST.split()) for b in enumerate(LAST.split())]
    there = [f"{first} {last}" for (i, first), (j, last) in names if ((i + j) % HELD_OUT == 0) == (split == "dev")]
    people = random.permutation(there)[:count].tolist()
    pool = []
    for i in sorted(random.permutation(len(KINDS))[: random.integers(3, 6)]):
        values = random.permutation(KINDS[i].values.split(", "))[:count].tolist()  # fewer, if there are so few
        pool += [(KINDS[i], who, what) for who, what in zip(people, values, strict=False)]
    facts, context = [], ""  # the kind of each, and where the text has who and what
    for i in random.permutation(len(pool)).tolist():
        kind, who, what = pool[i]
        sentence = kind.wordings[random.integers(len(kind.wordings))].format(who=who, what=what)
        facts.append((kind, *((part, len(context) + sentence.index(part)) for part in (who, what))))
        context += f"{sentence} "
    questions = []
    for i in random.permutation(len(facts))[:ASKED].tolist():
        kind, who, what = facts[i]
        for_what = random.random() < 0.75
        forms = kind.asked if for_what else kind.who
        text = forms[random.integers(len(forms))].format(who=who[0], what=what[0])
        answer = what if for_what else who
        questions.append(Question(text, context.rstrip(), (answer,), f"{split}-{number}-{i}"))
    return questions
