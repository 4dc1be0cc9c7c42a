"""Questions from the grammar of the shipped corpus, and how many of them the vectors answer correctly.

The pairs of a relation come from the tables of the lexicon and from the rules of the morphology: cat and cats, stanco
and stanca, il and la. Any two pairs form a question: cat is to cats as dog is to what? All questions count, regardless
of the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..english_italian.lexicon import ADJECTIVES, NOUNS, VERBS, Noun, Verb
from ..english_italian.morphology import contract, indefinite
from ..english_italian.phrases import POSSESSIVES
from .text import Language
from .vectors import Vectors

ACROSS = "with the other gender"
COUNT = 5  # answers considered


class Pair(NamedTuple):
    """Two forms of a word. ``kinds`` are the categories by which the grammar selects it, such as food. Words that share
    a kind are used in the same way."""

    one: str
    other: str
    kinds: frozenset[str] = frozenset()
    gender: str = ""


@dataclass(frozen=True, eq=False)
class Relation:
    """Pairs that differ in the same way. ``forms`` maps all second forms to their kinds, even where both forms are
    equal. With ``across``, only pairs of different gender form questions."""

    name: str
    pairs: tuple[Pair, ...]
    forms: dict[str, frozenset[str]]
    across: bool = False


class Score(NamedTuple):
    """The share of questions that were answered correctly, by several criteria."""

    pairs: int  # pairs whose words all have vectors
    questions: int  # formed from the pairs
    exact: float  # share with the word itself as first answer
    kind: float  # or the same form of a word that shares a kind, such as conigli for gatti
    form: float  # or the same form of any word: a plural, say
    among: float  # share with the word among the first five answers
    mean: float  # exact, using the mean difference of all other pairs


def relations(language: Language) -> tuple[Relation, ...]:
    """All relations of a language."""
    table = _english() if language == "english" else _italian()
    return tuple(_relation(name, tuple(pairs), ACROSS in name) for name, pairs in table)


def _relation(name: str, pairs: tuple[Pair, ...], across: bool) -> Relation:
    forms: dict[str, frozenset[str]] = {}
    for pair in pairs:
        forms[pair.other] = forms.get(pair.other, frozenset()) | pair.kinds
    return Relation(name, tuple(dict.fromkeys(_whole(pairs))), forms, across)


def _whole(pairs: Iterable[Pair]) -> Iterator[Pair]:
    """The pairs of two different single words."""
    for pair in pairs:
        if pair.one and pair.other and pair.one != pair.other and not {" "} & {*pair.one, *pair.other}:
            yield pair


def _english() -> list[tuple[str, Iterable[Pair]]]:
    verbs = VERBS.values()
    people = (("boy", "girl"), ("man", "woman"), ("father", "mother"), ("brother", "sister"), ("uncle", "aunt"))
    return [
        ("number of nouns: cat, cats", _nouns(lambda noun: (noun.english, noun.english_plural))),
        ("person of verbs: eat, eats", (Pair(verb.base, verb.third, _use(verb)) for verb in verbs)),
        ("tense of verbs: eat, ate", (Pair(verb.base, verb.past, _use(verb)) for verb in verbs)),
        ("gender: boy, girl", (Pair(*two) for two in (*people, ("he", "she"), ("him", "her")))),
    ]


def _italian() -> list[tuple[str, Iterable[Pair]]]:
    verbs = VERBS.values()
    nouns = tuple(_nouns(lambda noun: (noun.italian, noun.italian_plural)))
    people = (("ragazzo", "ragazza"), ("uomo", "donna"), ("padre", "madre"), ("fratello", "sorella"), ("zio", "zia"))
    return [
        ("number of nouns: gatto, gatti", (pair for pair in nouns if pair.gender == "mm")),
        ("number of nouns: mela, mele", (pair for pair in nouns if pair.gender == "ff")),
        (f"number of nouns: {ACROSS}", nouns),
        ("number of adjectives: nero, neri", _adjectives(("m", False), ("m", True))),
        ("number of adjectives: nera, nere", _adjectives(("f", False), ("f", True))),
        ("gender of adjectives: nero, nera", _adjectives(("m", False), ("f", False))),
        ("gender of adjectives: neri, nere", _adjectives(("m", True), ("f", True))),
        ("number of articles: il, i", _determiners("il", "i")),
        ("number of articles: la, le", _determiners("la", "le")),
        ("gender of articles: il, la", _determiners("il", "la")),
        ("gender of articles: i, le", _determiners("i", "le")),
        ("number of verbs: mangia, mangiano", (Pair(verb.present[2], verb.present[4], _use(verb)) for verb in verbs)),
        ("tense of verbs: mangia, mangerà", (Pair(verb.present[2], verb.future[2], _use(verb)) for verb in verbs)),
        ("gender of people: ragazzo, ragazza", (Pair(*two) for two in people)),
    ]


def _nouns(forms: Callable[[Noun], tuple[str, str]]) -> Iterator[Pair]:
    return (Pair(*forms(noun), noun.kinds, noun.gender + noun.plural_gender) for noun in NOUNS.values())


def _adjectives(*which: tuple[str, bool]) -> Iterator[Pair]:
    one, other = which
    return (Pair(a.italian[one], a.italian[other], a.kinds) for a in ADJECTIVES.values())  # type: ignore[index]


def _use(verb: Verb) -> frozenset[str]:
    return verb.objects or frozenset([f"without object, {verb.auxiliary}"])


def _determiners(one: str, other: str) -> Iterator[Pair]:
    """Two articles, their contractions with prepositions and quello (del, della), and the agreeing possessives."""
    yield Pair(one, other, frozenset(["article"]))
    for word in ("a", "di", "da", "in", "quello"):
        yield Pair(contract(word, one), contract(word, other), frozenset([word]))
    form = {"il": ("m", False), "la": ("f", False), "i": ("m", True), "le": ("f", True)}
    if {one, other} == {"il", "la"}:
        yield Pair(indefinite("m", "cane"), indefinite("f", "casa"), frozenset(["article"]))
    for forms in POSSESSIVES.values():
        yield Pair(forms[form[one]], forms[form[other]], frozenset(["possessive"]))  # type: ignore[index]


def score(vectors: Vectors, relation: Relation) -> Score | None:
    """Answer all questions in a relation by 3CosAdd; None if fewer than two pairs have vectors."""
    pairs = [pair for pair in relation.pairs if pair.one in vectors.numbers and pair.other in vectors.numbers]
    places = np.array([[vectors.numbers[pair.one], vectors.numbers[pair.other]] for pair in pairs]).reshape(-1, 2)
    questions = [(i, j) for i in range(len(pairs)) for j in range(len(pairs)) if _asks(relation, pairs[i], pairs[j])]
    if not questions:
        return None
    first, second = np.array(questions).T
    answers = vectors.answers(np.stack([places[first, 0], places[first, 1], places[second, 0]], 1), COUNT)
    right = answers == places[second, 1][:, None]  # (Q, COUNT)
    answered_kinds = [relation.forms.get(vectors.words[i]) for i in answers[:, 0].tolist()]
    of_kind = [
        kinds is not None and bool(kinds & pairs[j].kinds) for j, kinds in zip(second, answered_kinds, strict=True)
    ]
    return Score(
        len(pairs),
        len(questions),
        float(right[:, 0].mean()),
        float((right[:, 0] | np.array(of_kind)).mean()),
        float(np.mean([kinds is not None for kinds in answered_kinds])),
        float(right.any(1).mean()),
        _by_mean(vectors, places),
    )


def _asks(relation: Relation, example: Pair, question: Pair) -> bool:
    """Whether two pairs form a question: the answer is not one of its words, and words do not occur twice."""
    if relation.across and example.gender == question.gender:
        return False
    return len({example.one, example.other, question.one}) == 3 and question.other not in (example.one, example.other)


def _by_mean(vectors: Vectors, places: np.ndarray) -> float:
    """The share of pairs whose second word is nearest to the first plus the mean difference of all others (3CosAvg:
    Drozd et al. 2016, "Word embeddings, analogies, and machine learning: beyond king - man + woman = queen")."""
    one, other = vectors.units[places[:, 0]], vectors.units[places[:, 1]]
    apart = other - one
    cosines = (one + (apart.sum(0) - apart) / (len(places) - 1)) @ vectors.units.T
    np.put_along_axis(cosines, places[:, :1], -np.inf, 1)
    return float((cosines.argmax(1) == places[:, 1]).mean())
