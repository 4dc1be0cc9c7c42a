"""Code shared by the rules: moods, habits, and lists of words."""

from __future__ import annotations

from collections.abc import Callable

from ..clauses import ALWAYS, NEVER, OFTEN, Mood
from ..lexicon import ADJECTIVES, NOUNS, PLACES, VERBS, Adjective, Verb, adjectives, nouns
from ..pieces import Piece
from ..speaker import ANIMALS, Speaker

Rule = Callable[[Speaker], Piece]


def verbs_named(names: str) -> tuple[Verb, ...]:
    """The verbs with these names. An underscore represents a space."""
    return tuple(VERBS[name.replace("_", " ")] for name in names.split())


def adjectives_named(names: str) -> tuple[Adjective, ...]:
    """The adjectives with these names."""
    return tuple(ADJECTIVES[name] for name in names.split())


ACTIONS = verbs_named(
    "eat drink buy see read write open close wash cook find lose look_for wait_for help"
    " write write open close wash cook lose read"  # verbs that few other rules use
)
STATIVES = verbs_named("know love prefer have want")
MOODS: tuple[Mood, ...] = (
    *("present",) * 7,
    *("past",) * 3,
    *("future",) * 7,
    *("can", "can", "must", "must", "want", "wish"),
)
PAST_MOODS: tuple[Mood, ...] = (*MOODS, *("past",) * 6)  # for verbs whose participles have several forms
TENSES: tuple[Mood, ...] = ("present", "past", "future")
ADVERBS = (ALWAYS, OFTEN, NEVER)
VERY, TOO = Piece("very", "molto"), Piece("too", "troppo")

INTRANSITIVE = verbs_named("sleep work study dance swim")
MOTION = verbs_named("go arrive return")
DESTINATIONS = tuple(PLACES)
STOPS = tuple(n for n, p in PLACES.items() if p.inside.english.startswith("at "))

TRANSPORT = nouns("transport")
FOOD = nouns("food")
DRINKS = nouns("drink")
READING = nouns("reading")
LIKED = (*FOOD, *DRINKS, *ANIMALS, *nouns("flower"))
THINGS = nouns("thing", "vehicle", "container", "openable", "reading", "building", "dish")
INANIMATE = tuple(n for n in NOUNS.values() if n.kinds.isdisjoint(("person", "kin")))
PEOPLE = nouns("person")
SORTS = frozenset(("food", "drink", "animal"))  # people prefer food to food and drink to drink

DIETS = {
    animal: tuple(food for food in (*FOOD, *DRINKS) if food.kinds & animal.kinds or food.name == "water")
    for animal in ANIMALS
    if animal.name != "spider"
}
"""The food and drink of each animal."""
OF_PEOPLE = adjectives(NOUNS["man"])
DESCRIBABLE = tuple(n for n in INANIMATE if adjectives(n))


def mood_of(s: Speaker, verb: Verb, negative: bool, question: bool) -> Mood:
    """A mood for `verb` that is not ambiguous in English ("I read": past or present)."""
    mood = s.pick(TENSES if verb.base == "lose" else MOODS)
    if mood == "past" and verb.past == verb.base and not (negative or question):
        return "future"
    return mood
