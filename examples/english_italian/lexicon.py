"""The words in the corpus, from words.toml: nouns, adjectives, verbs, places and names in both languages.

Each English word has one Italian word and vice versa, so translations are unambiguous. Kinds (person, food, vehicle,
...) keep sentences sensible: a verb lists the kinds of its objects, and an adjective the kinds of nouns that it
describes.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .morphology import Forms, Gender, definite, five, future, inflect, participle, present, with_preposition
from .pieces import Piece

# Each word exists once, so dataclasses with eq=False, which hash by identity, make caches keyed by words fast.


@dataclass(frozen=True, eq=False)
class Noun:
    """A noun. The singular or the plural is "" if the corpus does not use it."""

    english: str
    english_plural: str
    italian: str
    italian_plural: str
    gender: Gender
    plural_gender: Gender
    kinds: frozenset[str]

    @property
    def name(self) -> str:
        """The noun's name in tables and in held-out pairs."""
        return self.english or self.english_plural


@dataclass(frozen=True, eq=False)
class Adjective:
    """An adjective. Its valence determines the reasons people give ("because it is tasty")."""

    english: str
    italian: dict[tuple[Gender, bool], str]  # its forms by (gender, plural)
    valence: str  # good, bad, plain (neither) or state (temporary, of people)
    absolute: bool  # no "very" or "too" before it
    kinds: frozenset[str]


@dataclass(frozen=True, eq=False)
class Verb:
    """A verb in both languages. The English verb may have two words (look for)."""

    base: str
    third: str
    past: str
    infinitive: str
    present: Forms
    future: Forms
    participle: str
    auxiliary: str  # avere or essere
    objects: frozenset[str]  # the kinds of its objects; empty if intransitive


@dataclass(frozen=True, eq=False)
class Place:
    """Phrases for motion to, location in and motion from a place: al parco and nel parco, but in cucina, a scuola."""

    name: str
    to: Piece
    inside: Piece
    origin: Piece


def _rows(table: str) -> Iterator[list[str]]:
    """The lines of a table, split into fields. "-" is an empty field, and "_" is a space."""
    for line in table.strip().splitlines():
        yield ["" if f == "-" else f.replace("_", " ") for f in line.split()]


def gender(letter: str) -> Gender:
    """The gender that a letter in the tables denotes."""
    return "m" if letter == "m" else "f"


def _kinds(field: str) -> frozenset[str]:
    return frozenset(field.split(",")) if field else frozenset()


def _noun(english: str, english_plural: str, italian: str, italian_plural: str, genders: str, kinds: str) -> Noun:
    singular, plural = gender(genders[0]), gender(genders[-1])
    return Noun(english, english_plural, italian, italian_plural, singular, plural, _kinds(kinds))


def _adjective(english: str, italian: str, valence: str, kinds: str) -> Adjective:
    singular, _, plural = italian.partition("/")
    absolute = valence.endswith("!")
    return Adjective(english, inflect(singular, plural), valence.rstrip("!"), absolute, _kinds(kinds))


def _verb(base: str, third: str, past: str, italian: str, irregular: str, objects: str) -> Verb:
    forms = WORDS["present"].get(italian)
    return Verb(
        base=base,
        third=third,
        past=past,
        infinitive=italian,
        present=five(forms) if forms else present(italian, isc=italian in WORDS["with_isc"].split()),
        future=future(italian, WORDS["future"].get(italian, "")),
        participle=irregular or participle(italian),
        auxiliary="essere" if italian in WORDS["with_essere"].split() else "avere",
        objects=_kinds(objects),
    )


def _place(name: str, italian: str, letter: str, style: str) -> Place:
    article = definite(gender(letter), False, italian)
    to, at, inside, origin = (with_preposition(preposition, article, italian) for preposition in ("a", "a", "in", "da"))
    the = f"the {name}"
    if style in ("school", "home"):
        to, english_to = f"a {italian}", "home" if style == "home" else f"to {name}"
        return Place(name, Piece(english_to, to), Piece(f"at {name}", to), Piece(f"from {name}", f"da {italian}"))
    if style == "bare":
        to = inside = f"in {italian}"
    there = Piece(f"at {the}", at) if style == "at" else Piece(f"in {the}", inside)
    return Place(name, Piece(f"to {the}", to), there, Piece(f"from {the}", origin))


WORDS = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
NOUNS = {noun.name: noun for noun in (_noun(*row) for row in _rows(WORDS["nouns"]))}
ADJECTIVES = {adjective.english: adjective for adjective in (_adjective(*row) for row in _rows(WORDS["adjectives"]))}
VERBS = {verb.base: verb for verb in (_verb(*row) for row in _rows(WORDS["verbs"]))}
PLACES = {place.name: place for place in (_place(*row) for row in _rows(WORDS["places"]))}
PRONOUNS, CLITICS = (tuple(_rows(WORDS[table])) for table in ("pronouns", "clitics"))
HABITS: dict[str, tuple[str, ...]] = {
    verb.replace("_", " "): tuple(places.split()) for verb, places in WORDS["habits"].items()
}
"""Places for each activity."""
IMPERFECT_OF_ESSERE, CONDITIONAL_OF_VOLERE = map(five, WORDS["tenses"].values())
MEN, WOMEN = tuple(WORDS["men"].split()), tuple(WORDS["women"].split())
NUMBERS: dict[str, str] = WORDS["numbers"]


def nouns(*kinds: str) -> tuple[Noun, ...]:
    """All nouns of these kinds, in table order."""
    return tuple(noun for noun in NOUNS.values() if not noun.kinds.isdisjoint(kinds))


def adjectives(noun: Noun, valence: str = "") -> tuple[Adjective, ...]:
    """All adjectives that can describe `noun`, with `valence` if given."""
    return tuple(
        adjective
        for adjective in ADJECTIVES.values()
        if not adjective.kinds.isdisjoint(noun.kinds) and valence in ("", adjective.valence)
    )
