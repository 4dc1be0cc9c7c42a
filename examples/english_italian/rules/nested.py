"""Sentences in sentences: that, who."""

from __future__ import annotations

from ..clauses import Clause, Mood, clause, copula, quality
from ..lexicon import VERBS, adjectives
from ..phrases import PRONOUNS, Link, Phrase, noun_phrase
from ..speaker import OBJECTS, Speaker
from .being import degree_of, is_quality
from .common import ACTIONS, DESCRIBABLE, HABITS, INTRANSITIVE, OF_PEOPLE, PEOPLE, TENSES, mood_of, verbs_named
from .places import intransitive


def says(s: Speaker) -> Clause:
    """Maria says that the soup is cold."""
    who = s.someone()
    inner = is_quality(s) if s.chance(0.6) else intransitive(s)
    while inner.end == "?":
        inner = is_quality(s)
    x = s.random()
    outer = clause(who, VERBS["say"], s.pick(_REPORTED), question=x > 0.85)
    return Clause(
        f"{outer.english} that {inner.english}",
        f"{outer.italian} che {inner.italian}",
        (*outer.links, *inner.links),
        outer.end,
    )


_REPORTED: tuple[Mood, ...] = ("present", "present", "past")


def man_who(s: Speaker) -> Clause:
    """The woman who works at the zoo is kind. I know a boy who likes horses."""
    plural = s.chance(0.3)
    noun = s.pick(PEOPLE)
    determiner = "the" if s.chance(0.7) else "that"
    who = noun_phrase(determiner, noun, plural)
    relative = who._replace(english="who", article="", rest="", links=())
    if s.chance(0.5):
        verb = s.pick(INTRANSITIVE)
        place = s.place(*HABITS[verb.base])
        tail = place.inside
        links: tuple[Link, ...] = ((verb.base, place.name),)
    else:
        verb = s.pick(ACTIONS)
        thing = s.object_of(verb)
        tail = (thing.english, thing.italian)
        links = (*thing.links, (verb.base, thing.head))
    mood = mood_of(s, verb, False, False)
    if mood not in TENSES:
        mood = "present"
    inner = clause(relative, verb, mood, tail, links=links)
    full = Phrase(
        f"{who.english} {inner.english}", who.article, f"{who.rest} che {inner.italian}", *who[3:8], links=inner.links
    )
    x = s.random()
    if x < 0.5:
        adjective = s.pick(OF_PEOPLE)
        predicate, said = quality(full, adjective)
        return copula(full, predicate, links=said)
    subject = PRONOUNS[s.pick(("I", "you", "we", "they"))]
    links = (("know", full.head), *full.links)
    return clause(
        subject, VERBS["know"], "present", (full.english, full.italian), links=links, negative=x < 0.6, question=x > 0.8
    )


def thing_that(s: Speaker) -> Clause:
    """The cake that Maria bought was delicious."""
    verb = s.pick(verbs_named("buy buy find eat see want lose"))
    noun = s.pick([n for n in OBJECTS[verb] if n in DESCRIBABLE])
    thing = s.thing((noun,), ("the", "the", "this", "that"), 0)
    mood: Mood = "present" if verb.base == "want" else "past"
    subject = s.someone()
    maker = clause(subject, verb, mood, links=((verb.base, noun.name),))
    adjective = s.pick(adjectives(noun))
    predicate, links = quality(thing, adjective, degree_of(s, adjective))
    full = thing._replace(english=f"{thing.english} that {maker.english}", rest=f"{thing.rest} che {maker.italian}")
    tense = "past" if mood == "past" and s.chance(0.4) else "present"
    return copula(full, predicate, tense, links=(*maker.links, *links))
