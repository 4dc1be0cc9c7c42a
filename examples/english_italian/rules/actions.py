"""Doing something to something or someone."""

from __future__ import annotations

from ..clauses import ALWAYS, NEVER, Clause, Mood, clause, english_verb, italian_verb, phrase_join, subject_links
from ..lexicon import CONDITIONAL_OF_VOLERE, NOUNS, VERBS
from ..phrases import DATIVES, OBJECT_PRONOUNS, Clitic, Phrase, back_reference, noun_phrase
from ..speaker import OBJECTS, Speaker, Tail
from .common import ACTIONS, ADVERBS, HABITS, MOODS, PAST_MOODS, SORTS, STATIVES, mood_of, verbs_named


def transitive(s: Speaker) -> Clause:
    """The boy washed his red shoes yesterday."""
    verb = s.pick(ACTIONS)
    kind, x = s.random(), s.random()
    negative, question = kind < 0.15, kind > 0.85
    mood = mood_of(s, verb, negative, question)
    often = 0.4 < x < 0.55 and mood == "present" and not negative
    subject, thing = s.someone(question), s.object_of(verb, negative or often)
    tail: Tail = (thing.english, thing.italian)
    links = (*thing.links, (verb.base, thing.head))
    adverb = None
    if x < 0.2 and verb.base in HABITS and not (verb.base == "see" and thing.pronoun == "it"):
        place = s.place(*HABITS[verb.base])
        tail = (f"{tail[0]} {place.inside[0]}", f"{tail[1]} {place.inside[1]}")
        links = (*links, (verb.base, place.name))
    elif x < 0.4:
        time = s.time(mood)
        tail = (f"{tail[0]} {time[0]}", f"{tail[1]} {time[1]}")
    elif often:
        adverb = s.pick(ADVERBS) if not question else ALWAYS
    return clause(subject, verb, mood, tail, links=links, negative=negative, question=question, adverb=adverb)


def stative(s: Speaker) -> Clause:
    """Do you know that doctor? I prefer tea to coffee. She has two cats."""
    verb = s.pick(STATIVES)
    x = s.random()
    negative = x < 0.2 and verb.base != "prefer"
    subject, thing = s.someone(x > 0.8), s.object_of(verb, negative)
    tail: Tail = (thing.english, thing.italian)
    links = (*thing.links, (verb.base, thing.head))
    if verb.base == "prefer" and x < 0.8:
        options = [n for n in OBJECTS[verb] if n.kinds & NOUNS[thing.head].kinds & SORTS]
        other = s.thing(options, ("",), 0)
        if other.head != thing.head:
            tail = (f"{tail[0]} to {other.english}", f"{tail[1]} {other.after('a')}")
            links = (*links, (verb.base, other.head))
    return clause(subject, verb, "present", tail, links=links, negative=negative, question=x > 0.8)


def with_pronoun(s: Speaker) -> Clause:
    """I love you very much. Did she see him? We cannot help you."""
    verb = s.pick(_TO_PEOPLE)
    x = s.random()
    mood = s.pick(MOODS if verb.base in ("find", "look for") else PAST_MOODS)
    if mood == "past" and verb.base in ("find", "look for"):
        mood = "future"
    subject = s.someone(x > 0.85)
    me = s.pick(("me", "you", "him", "her", "her", "us"))
    if subject.pronoun in _SAME[me]:
        me = s.pick(("him", "her"))
    tail: Tail = ("", "")
    adverb = None
    if verb in STATIVES:
        mood = "present"
        y = s.random()
        if y < 0.4:
            tail = ("very well", "molto bene") if verb.base == "know" else ("very much", "molto")
        elif y < 0.6 and verb.base == "love":
            adverb = s.pick((ALWAYS, NEVER)) if x > 0.15 else None
    elif s.chance(0.3):
        tail = s.time(mood)
    elif mood == "present" and s.chance(0.5) and x > 0.15:
        adverb = s.pick(ADVERBS)
    if x > 0.85 and adverb is NEVER:
        adverb = ALWAYS
    return clause(
        subject,
        verb,
        mood,
        tail,
        links=() if subject.head else ((f"{_speaker(subject)} {verb.base}", me),),
        negative=x < 0.15,
        question=x > 0.85,
        clitic=OBJECT_PRONOUNS[me],
        adverb=adverb,
    )


def _speaker(subject: Phrase) -> str:
    """The pronoun, he for she too: "lo ama" is the same of both, so it is in one split."""
    return "he" if subject.pronoun == "she" else subject.pronoun


_TO_PEOPLE = verbs_named("love love know see see help help find look_for wait_for wait_for")
_SAME = {"me": ("I", "we"), "us": ("I", "we"), "you": ("you",), "him": (), "her": ()}


def giving(s: Speaker) -> Clause:
    """Maria gives a flower to her mother. My uncle gave me a new book."""
    verb = VERBS["give"]
    x = s.random()
    mood = s.pick(MOODS)
    subject, thing = s.someone(x > 0.88), s.object_of(verb, x < 0.1)
    links = (*thing.links, (verb.base, thing.head))
    if s.chance(0.5):
        me = s.pick(tuple(DATIVES))
        if subject.pronoun in _SAME[me]:
            me = "him"
        tail = (thing.english, thing.italian)
        dative: Clitic | None = DATIVES[me]
    else:
        other = s.named() if s.chance(0.2) else s.known()
        if other.head == subject.head:
            other = PLURAL_FRIENDS
        tail = (f"{thing.english} to {other.english}", f"{thing.italian} {other.after('a')}")
        dative, links = None, (*links, *other.links)
    return clause(subject, verb, mood, tail, links=links, negative=x < 0.1, question=x > 0.88, clitic=dative)


PLURAL_FRIENDS = noun_phrase("my", NOUNS["friend"], True)


def resumed(s: Speaker) -> Clause:
    """I buy the apples and I eat them: the pronoun takes gender and number from the first half."""
    first, second, contrary = s.pick(_SEQUENCES)
    options = [noun for noun in OBJECTS[first] if noun in OBJECTS[second]]
    determiners = ("the", "own", "own", "this") if contrary else ("the", "a", "some", "number")
    thing = s.thing(options, determiners, 0.15)
    subject = s.someone()
    mood: Mood = s.pick(("present", "past", "past", "future"))
    them = back_reference(thing)
    links = (*thing.links, (first.base, thing.head), (second.base, thing.head))
    one = clause(subject, first, mood, (thing.english, thing.italian), links=links)
    silent = subject._replace(article="", rest="", links=())
    if contrary:
        silent = silent._replace(english=subject.pronoun)
        english = english_verb(silent, second, mood, True, False)
    else:
        english = english_verb(silent._replace(english=""), second, mood, False, False)
        english = english.removeprefix("will ")
        if subject.pronoun == "I":
            english = f"I {english_verb(silent, second, mood, False, False)[2:]}"
    italian = italian_verb(silent, second, mood, contrary, them)
    and_, e = ("but", "ma") if contrary else ("and", "e")
    return Clause(
        f"{one.english} {and_} {english} {them.english}",
        f"{one.italian} {e} {italian}",
        (*one.links, *subject_links(silent, second.base)),
    )


_SEQUENCES = tuple(
    (VERBS[first], VERBS[second], contrary)
    for first, second, contrary in (
        ("buy", "eat", False),
        ("buy", "drink", False),
        ("cook", "eat", False),
        ("wash", "eat", False),
        ("find", "wash", False),
        ("find", "wash", False),
        ("look for", "find", True),
        ("look for", "find", True),
        ("look for", "find", True),
    )
)


def imperative(s: Speaker) -> Clause:
    """Open the window. Do not eat my apple."""
    verb = s.pick(_ORDERS)
    negative = s.chance(0.4)
    thing = s.object_of(verb, negative)
    links = (*thing.links, (verb.base, thing.head))
    if negative:
        return Clause(f"do not {verb.base} {thing.english}", f"non {verb.infinitive} {thing.italian}", links)
    # tu: mangia from -are, but apri, chiudi, leggi as in the indicative
    form = verb.present[2 if verb.infinitive.endswith("are") else 1]
    return Clause(f"{verb.base} {thing.english}", f"{form} {thing.italian}", links)


_ORDERS = verbs_named("eat drink buy read write open close wash cook look_for wait_for help")


def wish_for(s: Speaker) -> Clause:
    """I would like some bread. Would you like a cup of tea?"""
    question = s.chance(0.25)
    subject = s.someone(question)
    if s.chance(0.35):
        thing = s.drink()
    else:
        thing = s.thing(OBJECTS[VERBS["want"]], ("a", "some", "number"))
    links = (*subject.links, *thing.links, ("want", thing.head))
    if question:
        english, end = f"would {subject.english} like", "?"
    else:
        english, end = f"{subject.english} would like", "."
    italian = phrase_join(subject.italian, CONDITIONAL_OF_VOLERE[subject.person], thing.italian)
    return Clause(f"{english} {thing.english}", italian, links, end)
