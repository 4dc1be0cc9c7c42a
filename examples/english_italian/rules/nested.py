"""Nested sentences with "that" and "who"."""

from __future__ import annotations

from ..clauses import Mood, clause, copula, quality
from ..lexicon import VERBS, adjectives
from ..phrases import PRONOUNS, noun_phrase
from ..pieces import NOTHING, Piece
from ..speaker import OBJECTS, Speaker
from .being import degree_of, is_quality
from .common import ACTIONS, DESCRIBABLE, INTRANSITIVE, OF_PEOPLE, PEOPLE, TENSES, mood_of, verbs_named
from .places import intransitive


def says(s: Speaker) -> Piece:
    """Maria says that the soup is cold."""
    who = s.someone()
    inner = is_quality(s) if s.chance(0.6) else intransitive(s)
    while inner.question:
        inner = is_quality(s)
    x = s.random()
    return clause(who, VERBS["say"], s.pick(_REPORTED), question=x > 0.85) + Piece("that", "che") + inner


_REPORTED: tuple[Mood, ...] = ("present", "present", "past")


def man_who(s: Speaker) -> Piece:
    """The woman who works at the zoo is kind. I know a boy who likes horses."""
    plural = s.chance(0.3)
    noun = s.pick(PEOPLE)
    determiner = "the" if s.chance(0.7) else "that"
    who = noun_phrase(determiner, noun, plural)
    if s.chance(0.5):
        verb = s.pick(INTRANSITIVE)
        tail = s.habit(verb)
    else:
        verb = s.pick(ACTIONS)
        tail = s.object_of(verb).of(verb)
    mood = mood_of(s, verb, False, False)
    inner = clause(who.again("who"), verb, mood if mood in TENSES else "present", tail)
    full = who._replace(
        english=f"{who.english} {inner.english}", rest=f"{who.rest} che {inner.italian}", links=inner.links
    )
    x = s.random()
    if x < 0.5:
        return copula(full, quality(full, s.pick(OF_PEOPLE)))
    subject, know = PRONOUNS[s.pick(("I", "you", "we", "they"))], VERBS["know"]
    return clause(subject, know, "present", full.of(know), negative=x < 0.6, question=x > 0.8)


def thing_that(s: Speaker) -> Piece:
    """The cake that Maria bought was delicious."""
    verb = s.pick(verbs_named("buy buy find eat see want lose"))
    noun = s.pick([n for n in OBJECTS[verb] if n in DESCRIBABLE])
    thing = s.thing((noun,), ("the", "the", "this", "that"), 0)
    mood: Mood = "present" if verb.base == "want" else "past"
    maker = clause(s.someone(), verb, mood, NOTHING.link((verb.base, noun.name)))
    adjective = s.pick(adjectives(noun))
    predicate = quality(thing, adjective, degree_of(s, adjective)).link(*maker.links)
    full = thing._replace(english=f"{thing.english} that {maker.english}", rest=f"{thing.rest} che {maker.italian}")
    tense = "past" if mood == "past" and s.chance(0.4) else "present"
    return copula(full, predicate, tense)
