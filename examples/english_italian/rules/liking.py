"""Liking: in Italian the thing pleases the person (piacere)."""

from __future__ import annotations

from ..clauses import english_verb, experiencer, piacere, subject_links
from ..lexicon import NOUNS, VERBS, nouns
from ..phrases import noun_phrase
from ..pieces import Piece
from ..speaker import ANIMALS, OBJECTS, Speaker
from .common import DIETS, DRINKS, FOOD, INTRANSITIVE, LIKED, READING, SORTS, THINGS, verbs_named


def like(s: Speaker) -> Piece:
    """I like cats. My sister does not like this soup. Do you like my shoes?"""
    x = s.random()
    if s.chance(0.75):
        thing = s.thing(LIKED, ("",), 0.12)
        much = 0.15 < x < 0.3
        who = s.someone(x > 0.82)
        return piacere(who, thing, negative=x < 0.15, question=x > 0.82, much=much)
    thing = s.specific((*FOOD, *THINGS, *ANIMALS))
    return piacere(s.someone(x > 0.75), thing, negative=x < 0.2, question=x > 0.75)


def liked(s: Speaker) -> Piece:
    """Did you like the cake? Marco liked these books."""
    x = s.random()
    thing = s.specific((*FOOD, *DRINKS, *READING, *nouns("town", "sight")), 0.1)
    who = s.someone(x > 0.75)
    return piacere(who, thing, "past", negative=x < 0.2, question=x > 0.75)


def creatures_like(s: Speaker) -> Piece:
    """Cats like milk. Children do not like onions."""
    negative = s.chance(0.25)
    if s.chance(0.6):
        noun = s.pick(tuple(DIETS))
        foods = FOOD if negative else DIETS[noun]
        thing = s.thing([food for food in foods if food not in DIETS[noun] or not negative], ("",), 0)
    else:
        noun = s.pick(_CROWDS)
        thing = s.thing(LIKED, ("",), 0.1)
    return piacere(noun_phrase("", noun, True), thing, negative=negative)


_CROWDS = tuple(NOUNS[n] for n in ("child", "student", "teacher", "doctor", "woman", "man"))


def like_but_not(s: Speaker) -> Piece:
    """I like cats but not dogs."""
    one = s.thing(LIKED, ("",), 0)
    sorts = NOUNS[one.head].kinds & SORTS or {"animal"}
    other = s.thing(nouns(*sorts), ("",), 0)
    if other.head == one.head:
        return like(s)
    return piacere(s.someone(), one) + Piece("but not", "ma non") + other.of(VERBS["like"])


def like_doing(s: Speaker) -> Piece:
    """My brother likes to swim in the lake. I like to drink coffee in the morning."""
    doing, like = activity(s), VERBS["like"]
    x = s.random()
    who = s.someone(x > 0.8)
    negative, question = x < 0.2, x > 0.8
    english = english_verb(who, like, "present", negative, question)
    italian = experiencer(who, negative)
    return Piece(f"{english} to", f"{italian} piace", subject_links(who, like), question) + doing


def activity(s: Speaker) -> Piece:
    """Something to do, as an infinitive: "swim in the lake", "eat apples"."""
    if s.chance(0.35):
        verb = s.pick(verbs_named("eat drink cook"))
        return Piece(verb.base, verb.infinitive) + s.thing(OBJECTS[verb], ("",), 0.1).of(verb)
    verb = s.pick(INTRANSITIVE)
    doing = Piece(verb.base, verb.infinitive)
    return doing if s.chance(0.2) else doing + s.habit(verb)
