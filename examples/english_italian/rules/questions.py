"""Questions with what, who, where, when, why and how."""

from __future__ import annotations

from ..clauses import Clause, Mood, agree, be, copula, english_verb, italian_verb, phrase_join, quality, subject_links
from ..lexicon import NOUNS, VERBS, nouns
from ..morphology import join
from ..phrases import PRONOUNS
from ..speaker import OBJECTS, Speaker, Tail
from .being import subject_and_quality
from .common import ACTIONS, FOOD, INTRANSITIVE, LIKED, OF_PEOPLE, THINGS, TRANSPORT, mood_of, verbs_named
from .places import SMALL


def what(s: Speaker) -> Clause:
    """What did Maria buy? What do you want to eat?"""
    verb = s.pick(verbs_named("eat drink buy see read write cook find look_for lose"))
    subject = s.anyone_known(True)
    mood = mood_of(s, verb, False, True)
    english = english_verb(subject, verb, mood, False, True)
    italian = italian_verb(subject, verb, mood, False)
    return Clause(
        f"what {english}", phrase_join("che cosa", italian, subject.italian), subject_links(subject, verb.base), "?"
    )


def who_does(s: Speaker) -> Clause:
    """Who ate my sandwich? Who likes cats? Who is tired?"""
    x = s.random()
    who = PRONOUNS["he"]._replace(english="who")
    if x < 0.2:
        adjective = s.pick(OF_PEOPLE)
        return Clause(f"who is {adjective.english}", f"chi è {adjective.italian['m', False]}", end="?")
    if x < 0.4:
        thing = s.thing(LIKED, ("",), 0)
        form = "piacciono" if thing.plural else "piace"
        return Clause(f"who likes {thing.english}", f"a chi {form} {thing.italian}", (("like", thing.head),), "?")
    verb = s.pick(ACTIONS)
    thing = s.object_of(verb)
    mood = mood_of(s, verb, False, False)
    if mood == "wish":
        mood = "future"
    english = english_verb(who, verb, mood, False, False)
    italian = italian_verb(who, verb, mood, False)
    links = (*thing.links, (verb.base, thing.head))
    return Clause(f"{english} {thing.english}", f"chi {italian} {thing.italian}", links, "?")


def where(s: Speaker) -> Clause:
    """Where are my keys? Where does your uncle work?"""
    x = s.random()
    if x < 0.6:
        subject = s.specific(SMALL) if x < 0.4 else s.anyone_known(True)
        is_, essere = be("present", subject)
        dove = "dov'" if essere == "è" else "dove"
        return Clause(
            f"where {is_} {subject.english}", phrase_join(join(dove, essere), subject.italian), subject.links, "?"
        )
    verb = s.pick((*INTRANSITIVE, VERBS["go"], VERBS["go"]))
    subject = s.anyone_known(True)
    mood: Mood = s.pick(("present", "present", "past", "future", "want"))
    italian = italian_verb(subject, verb, mood, False)
    return Clause(
        f"where {english_verb(subject, verb, mood, False, True)}",
        phrase_join(join("dov'" if italian[0] == "è" else "dove", italian), subject.italian),
        subject_links(subject, verb.base),
        "?",
    )


def when(s: Speaker) -> Clause:
    """When does the train arrive? When did your sister return home?"""
    verb = s.pick(verbs_named("arrive return"))
    vehicle = verb.base == "arrive" and s.chance(0.5)
    subject = s.specific(TRANSPORT, 0) if vehicle else s.anyone_known(True)
    mood: Mood = s.pick(("present", "past", "future", "future"))
    tail: Tail = ("home", "a casa") if verb.base == "return" else ("", "")
    return Clause(
        phrase_join("when", english_verb(subject, verb, mood, False, True), tail[0]),
        phrase_join("quando", italian_verb(subject, verb, mood, False), tail[1], subject.italian),
        subject_links(subject, verb.base),
        "?",
    )


def why(s: Speaker) -> Clause:
    """Why is your brother sad? Why are these shoes so expensive?"""
    subject, adjective = subject_and_quality(s, True)
    if subject.english.startswith(("a ", "an ")):
        subject = s.anyone_known(True)
        adjective = s.pick(OF_PEOPLE)
    so = ("", "") if adjective.absolute or s.chance(0.3) else ("so", "così")
    predicate, links = quality(subject, adjective, so)
    tense = s.pick(("present", "present", "past"))
    asked = copula(subject, predicate, tense, links=links, question=True)
    return Clause(f"why {asked.english}", f"perché {asked.italian}", asked.links, "?")


def how(s: Speaker) -> Clause:
    """How are your parents? How much does this car cost? What color is the door?"""
    x = s.random()
    if x < 0.35:
        who = s.known()
        italian = "stanno" if who.plural else "sta"
        english = f"how {be('present', who)[0]} {who.english}"
        return Clause(english, phrase_join("come", italian, who.italian), who.links, "?")
    if x < 0.7:
        thing = s.specific((*THINGS, *FOOD))
        english = english_verb(thing, VERBS["cost"], "present", False, True)
        costs = "costano" if thing.plural else "costa"
        links = (*thing.links, (thing.head, "cost"))
        return Clause(f"how much {english}", f"quanto {costs} {thing.italian}", links, "?")
    thing = s.specific(nouns("coloured"), 0)
    is_, essere = be("present", thing)
    return Clause(f"what color {is_} {thing.english}", f"di che colore {essere} {thing.italian}", (), "?")


def how_many(s: Speaker) -> Clause:
    """How many apples did you buy? How many brothers do you have?"""
    verb = s.pick(verbs_named("have have buy eat see read write"))
    options = [n for n in OBJECTS[verb] if n.english_plural and n.english]
    if verb.base == "have" and s.chance(0.3):
        options = [NOUNS[n] for n in ("brother", "sister", "friend", "daughter")]
    noun = s.pick(options)
    subject = s.anyone_known(True)
    mood: Mood = "present" if verb.base == "have" else s.pick(("present", "past", "future", "want"))
    number = agree("quanto", noun.plural_gender, True)
    return Clause(
        f"how many {noun.english_plural} {english_verb(subject, verb, mood, False, True)}",
        phrase_join(number, noun.italian_plural, italian_verb(subject, verb, mood, False), subject.italian),
        (*subject_links(subject, verb.base), (verb.base, noun.name)),
        "?",
    )
