"""Doing something to something or someone."""

from __future__ import annotations

from ..clauses import ALWAYS, NEVER, Mood, clause, english_verb, italian_verb, subject_links
from ..lexicon import CONDITIONAL_OF_VOLERE, HABITS, NOUNS, VERBS
from ..phrases import DATIVES, OBJECT_PRONOUNS, back_reference, noun_phrase
from ..pieces import AND, BUT, NOTHING, Piece, phrase_join
from ..speaker import OBJECTS, Speaker
from .common import ACTIONS, ADVERBS, MOODS, PAST_MOODS, SORTS, STATIVES, mood_of, verbs_named


def transitive(s: Speaker) -> Piece:
    """The boy washed his red shoes yesterday."""
    verb = s.pick(ACTIONS)
    kind, x = s.random(), s.random()
    negative, question = kind < 0.15, kind > 0.85
    mood = mood_of(s, verb, negative, question)
    often = 0.4 < x < 0.55 and mood == "present" and not negative
    subject, thing = s.someone(question), s.object_of(verb, negative or often)
    tail, adverb = thing.of(verb), None
    if x < 0.2 and verb.base in HABITS and not (verb.base == "see" and thing.pronoun == "it"):
        tail += s.habit(verb)
    elif x < 0.4:
        tail += s.time(mood)
    elif often:
        adverb = s.pick(ADVERBS) if not question else ALWAYS
    return clause(subject, verb, mood, tail, negative=negative, question=question, adverb=adverb)


def stative(s: Speaker) -> Piece:
    """Do you know that doctor? I prefer tea to coffee. She has two cats."""
    verb = s.pick(STATIVES)
    x = s.random()
    negative = x < 0.2 and verb.base != "prefer"
    subject, thing = s.someone(x > 0.8), s.object_of(verb, negative)
    tail = thing.of(verb)
    if verb.base == "prefer" and x < 0.8:
        options = [n for n in OBJECTS[verb] if n.kinds & NOUNS[thing.head].kinds & SORTS]
        other = s.thing(options, ("",), 0)
        if other.head != thing.head:
            tail += other.behind("to", "a").link((verb.base, other.head))
    return clause(subject, verb, "present", tail, negative=negative, question=x > 0.8)


def with_pronoun(s: Speaker) -> Piece:
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
    tail, adverb = NOTHING, None
    if verb in STATIVES:
        mood = "present"
        y = s.random()
        if y < 0.4:
            tail = Piece("very well", "molto bene") if verb.base == "know" else Piece("very much", "molto")
        elif y < 0.6 and verb.base == "love":
            adverb = s.pick((ALWAYS, NEVER)) if x > 0.15 else None
    elif s.chance(0.3):
        tail = s.time(mood)
    elif mood == "present" and s.chance(0.5) and x > 0.15:
        adverb = s.pick(ADVERBS)
    if x > 0.85 and adverb is NEVER:
        adverb = ALWAYS
    if not subject.head:  # "lo ama" means he or she: both go to the same split
        who = "he" if subject.pronoun == "she" else subject.pronoun
        tail = tail.link((f"{who} {verb.base}", me))
    clitic, negative = OBJECT_PRONOUNS[me], x < 0.15
    return clause(subject, verb, mood, tail, negative=negative, question=x > 0.85, clitic=clitic, adverb=adverb)


_TO_PEOPLE = verbs_named("love love know see see help help find look_for wait_for wait_for")
_SAME = {"me": ("I", "we"), "us": ("I", "we"), "you": ("you",), "him": (), "her": ()}


def giving(s: Speaker) -> Piece:
    """Maria gives a flower to her mother. My uncle gave me a new book."""
    verb = VERBS["give"]
    x = s.random()
    mood = s.pick(MOODS)
    subject, thing = s.someone(x > 0.88), s.object_of(verb, x < 0.1)
    tail, dative = thing.of(verb), None
    if s.chance(0.5):
        me = s.pick(tuple(DATIVES))
        dative = DATIVES["him" if subject.pronoun in _SAME[me] else me]
    else:
        other = s.named() if s.chance(0.2) else s.known()
        tail += (PLURAL_FRIENDS if other.head == subject.head else other).behind("to", "a")
    return clause(subject, verb, mood, tail, negative=x < 0.1, question=x > 0.88, clitic=dative)


PLURAL_FRIENDS = noun_phrase("my", NOUNS["friend"], True)


def resumed(s: Speaker) -> Piece:
    """I buy the apples and I eat them: the pronoun agrees in gender and number with the first half."""
    first, second, contrary = s.pick(_SEQUENCES)
    options = [noun for noun in OBJECTS[first] if noun in OBJECTS[second]]
    determiners = ("the", "own", "own", "this") if contrary else ("the", "a", "some", "number")
    thing = s.thing(options, determiners, 0.15)
    subject = s.someone()
    mood: Mood = s.pick(("present", "past", "past", "future"))
    them = back_reference(thing)
    one = clause(subject, first, mood, thing.of(first).link((second.base, thing.head)))
    again = subject.again("" if not contrary and subject.pronoun != "I" else None)
    english = english_verb(again, second, mood, contrary, False)
    if not again.english:
        english = english.removeprefix("will ")
    italian = italian_verb(again, second, mood, contrary, them)
    two = Piece(f"{english} {them.english}", italian, subject_links(again, second))
    return one + (BUT if contrary else AND) + two


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


def imperative(s: Speaker) -> Piece:
    """Open the window. Do not eat my apple."""
    verb = s.pick(_ORDERS)
    negative = s.chance(0.4)
    thing = s.object_of(verb, negative)
    if negative:
        return Piece(f"do not {verb.base}", f"non {verb.infinitive}") + thing.of(verb)
    # tu: mangia from -are, but apri, chiudi, leggi as in the indicative
    form = verb.present[2 if verb.infinitive.endswith("are") else 1]
    return Piece(verb.base, form) + thing.of(verb)


_ORDERS = verbs_named("eat drink buy read write open close wash cook look_for wait_for help")


def wish_for(s: Speaker) -> Piece:
    """I would like some bread. Would you like a cup of tea?"""
    question = s.chance(0.25)
    subject = s.someone(question)
    want = VERBS["want"]
    thing = s.drink() if s.chance(0.35) else s.thing(OBJECTS[want], ("a", "some", "number"))
    english = f"would {subject.english} like" if question else f"{subject.english} would like"
    italian = phrase_join(subject.italian, CONDITIONAL_OF_VOLERE[subject.person])
    return Piece(english, italian, subject.links, question) + thing.of(want)
