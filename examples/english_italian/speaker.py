"""The topics of sentences: sensible random choices of people, things, places and times."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

from . import lexicon
from .lexicon import ADJECTIVES, NOUNS, NUMBERS, PLACES, VERBS, WOMEN, Adjective, Noun, Place, Verb, adjectives, nouns
from .phrases import POSSESSIVES, PRONOUNS, Phrase, measured, name, noun_phrase, two_names
from .pieces import Piece

T = TypeVar("T")

PEOPLE, KIN, ANIMALS = nouns("person"), nouns("kin"), nouns("animal")
NAMES = lexicon.MEN + WOMEN
PUBLIC = frozenset(
    (
        *nouns("town", "sight", "transport", "tree"),
        *(noun for noun in ANIMALS if "pet" not in noun.kinds),
        *(noun for noun in PEOPLE if "mine" not in noun.kinds),
    )
)
"""Nouns that are not owned, as "my wolf" and "Anna's city" would be odd."""

_BELLO = ADJECTIVES["beautiful"]
DESCRIBED = {
    noun: (*fitting, *(_BELLO,) * (_BELLO in fitting))  # twice, as it has more forms than any other adjective
    for noun in NOUNS.values()
    for fitting in (adjectives(noun),)
}
OBJECTS = {verb: nouns(*verb.objects) for verb in VERBS.values()}

# Typical determiners for the object of each verb: people eat some bread, but close a particular door.
_NEW = ("the", "a", "a", "this", "some", "some", "number")
_OWN = ("the", "the", "the", "this", "that", "own", "own", "genitive")
_ANY = (*_NEW, *_OWN)
_DETERMINERS = {
    **dict.fromkeys(("buy", "want"), _NEW),
    **dict.fromkeys(("eat", "drink", "cook"), (*_NEW, "own", "genitive", "", "")),
    "have": ("a", "a", "number", "many", "some"),
    "write": ("a", "the", "this", "number", "some", "many"),
    **dict.fromkeys(("read", "give", "see", "find"), _ANY),
    **dict.fromkeys(("prefer", "love"), ("",)),
    **dict.fromkeys(("wait for", "know"), ("the", "the", "a", "this", "that")),
}

_QUANTITIES = ("a", "some", "many", "number")
_POURED = nouns("glass", "cup")
PLURALS = {"a": "number"}
"""Singular determiners, and their replacements in the plural."""

_DAYS = {f"on {day}": giorno for day, giorno in lexicon.WORDS["days"].items()}


def _times(kind: str) -> tuple[Piece, ...]:
    days = _DAYS if kind in ("past", "future") else {}
    return tuple(Piece(english, italian) for english, italian in (lexicon.WORDS["times"][kind] | days).items())


TIMES = {mood: _times(mood) for mood in ("present", "past", "future")}
TIMES |= dict.fromkeys(("can", "must", "want", "wish"), _times("modal"))


class Speaker(random.Random):
    """A random generator that chooses words, without any other state."""

    def pick(self, options: Sequence[T]) -> T:
        """One of `options`, like `choice`, but faster."""
        return options[int(self.random() * len(options))]

    def chance(self, probability: float) -> bool:
        return self.random() < probability

    # People

    def pronoun(self) -> Phrase:
        return PRONOUNS[self.pick(("I", "I", "you", "you", "we", "we", "he", "she", "they"))]

    def named(self) -> Phrase:
        return name(self.pick(NAMES))

    def relative(self) -> Phrase:
        """A member of a family: my sister, Maria's uncle, our parents."""
        noun = self.pick(KIN)
        plural = not noun.english or (noun.english_plural != "" and self.chance(0.25))
        owner = f"{self.pick(NAMES)}'s" if self.chance(0.1) else self.pick(tuple(POSSESSIVES))
        return noun_phrase(owner, noun, plural)

    def person(self) -> Phrase:
        """A person without a name or a family relation: this tired man, two students."""
        noun = self.pick(PEOPLE)
        plural = self.chance(0.35)
        determiner = self.pick(("the", "the", "the", "this", "that", "a", "own", "own"))
        if determiner == "own":
            if "mine" in noun.kinds:
                return noun_phrase(self.pick(tuple(POSSESSIVES)), noun, plural)
            determiner = "the"
        if plural:
            determiner = PLURALS.get(determiner, determiner)
        return self.realise(determiner, noun, plural, self.adjective(noun, 0.25))

    def known(self) -> Phrase:
        """Someone known to both speaker and listener: not "a man"."""
        while True:
            phrase = self.relative() if self.chance(0.5) else self.person()
            if not phrase.english.startswith(("a ", "an ")):
                return phrase

    def someone(self, question: bool = False) -> Phrase:
        """Any human subject, which is rarely the speaker in a question."""
        x = self.random()
        if x < 0.63:
            who = self.pronoun()
            return PRONOUNS["you"] if question and who.person in (0, 3) and x < 0.6 else who
        if x < 0.7:
            return self.named()
        if x < 0.76:
            one, other = self.sample(NAMES, 2)
            return two_names(one, other)
        return self.relative() if x < 0.87 else self.person()

    def women(self) -> Phrase:
        """Several women, for forms that occur only in the feminine plural (andate, stanche)."""
        x = self.random()
        if x < 0.4:
            one, other = self.sample(WOMEN, 2)
            return two_names(one, other)
        if x < 0.7:
            noun = NOUNS[self.pick(("sister", "daughter", "aunt"))]
            return noun_phrase(self.pick(tuple(POSSESSIVES)), noun, True)
        noun = NOUNS[self.pick(("girl", "woman", "actress"))]
        return noun_phrase(self.pick(("the", "the", "this", "that")), noun, True)

    def anyone_known(self, question: bool = False) -> Phrase:
        """A subject known to both speaker and listener, as in "where is my brother?"."""
        x = self.random()
        return self.someone(question) if x < 0.5 else self.named() if x < 0.65 else self.known()

    # Things

    def adjective(self, noun: Noun, probability: float) -> Adjective | None:
        """An adjective for `noun`, or None. "good" is reserved for "is good"."""
        options = DESCRIBED[noun]
        if not options or not self.chance(probability):
            return None
        adjective = self.pick(options)
        return None if adjective is ADJECTIVES["good"] else adjective

    def realise(self, determiner: str, noun: Noun, plural: bool, adjective: Adjective | None) -> Phrase:
        """The noun phrase, with concrete words for "own", "genitive" and "number"."""
        if determiner == "own":
            determiner = self.pick(tuple(POSSESSIVES))
        elif determiner == "genitive":
            determiner = f"{self.pick(NAMES)}'s"
        elif determiner == "number":
            determiner = self.pick(tuple(NUMBERS))
        return noun_phrase(determiner, noun, plural, adjective)

    def thing(
        self, options: Sequence[Noun], determiners: Sequence[str], adjective: float = 0.25, plain: bool = False
    ) -> Phrase:
        """A noun phrase for one of `options`, with a determiner that fits its number. `plain` excludes some, many and
        numbers, as in English after not and never."""
        noun = self.pick(options)
        determiner = self.pick(determiners)
        mass = not noun.english_plural
        plural = not noun.english or (not mass and self.chance(0.4))
        if determiner == "" and not mass:
            plural = True  # "I eat apples", "I eat bread"
        if plural:
            determiner = PLURALS.get(determiner, determiner)
        elif determiner in _QUANTITIES:
            determiner = "some" if mass else "a"
        if plain and determiner in _QUANTITIES and (plural or mass):
            determiner = "the"
        if noun in PUBLIC and determiner in ("own", "genitive"):
            determiner = self.pick(("the", "this", "that"))
        return self.realise(determiner, noun, plural, self.adjective(noun, adjective))

    def object_of(self, verb: Verb, plain: bool = False) -> Phrase:
        """Something or someone that can be the object of `verb`. For `plain` see `thing`."""
        if verb.base == "drink" and not plain and self.chance(0.25):
            return self.drink()
        noun = self.pick(OBJECTS[verb])
        if "kin" in noun.kinds:
            return self.relative_of(noun)
        determiners = _DETERMINERS.get(verb.base, _OWN)
        if "person" in noun.kinds:
            mine = "own" if "mine" in noun.kinds else "the"
            determiners = ("the", "the", "this", "that", "a", mine)
        return self.thing((noun,), determiners, 0.2, plain)

    def relative_of(self, noun: Noun) -> Phrase:
        plural = not noun.english or (noun.english_plural != "" and self.chance(0.25))
        return noun_phrase(self.pick(tuple(POSSESSIVES)), noun, plural)

    def drink(self) -> Phrase:
        """A glass of water, two cups of tea."""
        noun = self.pick(_POURED)
        vessel = self.pick([kind for kind in ("glass", "cup", "bottle") if kind in noun.kinds])
        return measured(vessel, self.chance(0.3), noun.name)

    def specific(self, options: Sequence[Noun], adjective: float = 0.15) -> Phrase:
        """Something specific: the red car, my shoes, Luca's book."""
        return self.thing(options, _OWN, adjective)

    # Places and times

    def place(self, *names: str) -> Place:
        return PLACES[self.pick(names)]

    def habit(self, verb: Verb) -> Piece:
        """A place where people do `verb`."""
        place = self.place(*lexicon.HABITS[verb.base])
        return place.inside.link((verb.base, place.name))

    def time(self, mood: str) -> Piece:
        return self.pick(TIMES[mood])
