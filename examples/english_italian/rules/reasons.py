"""Sentences with "because" and "when", whose second half refers to something in the first half and agrees with it."""

from __future__ import annotations

from ..clauses import Mood, clause, copula, piacere, quality
from ..lexicon import ADJECTIVES, NOUNS, VERBS, Adjective, Noun, Verb, adjectives, nouns
from ..phrases import PRONOUNS, Phrase
from ..pieces import BECAUSE, NOTHING, WHEN, Piece
from ..speaker import OBJECTS, Speaker
from .being import STATES, degree_of, having
from .common import DRINKS, FOOD, LIKED, READING, VERY


def because_of_thing(s: Speaker) -> Piece:
    """My friends like tomatoes because they are tasty: the adjective agrees with tomatoes."""
    verb, negative, valence = s.pick(_JUDGED)
    past = s.chance(0.25) and verb.base != "read"
    liking = verb.base == "like"
    options = _PRAISED[verb, valence, past]
    noun = s.pick(options)
    adjective = s.pick(_reasons(verb, noun, valence))
    degree = degree_of(s, adjective) if verb.base != "see" else s.pick((NOTHING, VERY))
    if (liking and not past and s.chance(0.6)) or (verb.base in ("eat", "drink") and s.chance(0.4)):
        thing = s.thing((noun,), ("",), 0)
    elif verb.base == "buy" and not negative and s.chance(0.5):
        thing = s.thing((noun,), ("a", "some"), 0)
    else:
        thing = s.thing((noun,), ("the", "the", "this", "that") if verb.base == "buy" else _SPECIFIC, 0)
    tense: Mood = "past" if past else "present"
    subject = s.someone()
    if liking:
        main = piacere(subject, thing, tense, negative=negative)
    else:
        main = clause(subject, verb, tense, thing.of(verb), negative=negative)
    return because(main, thing, adjective, degree, tense)


_SPECIFIC = ("the", "the", "the", "this", "that", "own", "genitive")
_JUDGED = tuple(
    (VERBS[verb], valence == "bad", valence)
    for verb in ("like", "like", "like", "like", "eat", "drink", "buy", "read", "see")
    for valence in ("good", "good", "bad")
)


def _reasons(verb: Verb, noun: Noun, valence: str) -> tuple[Adjective, ...]:
    """The adjectives used to explain why people do (or, if bad, do not do) `verb` to `noun`."""
    if verb.base == "see":
        size = ADJECTIVES["big" if valence == "good" else "small"]
        return (size,) if size in adjectives(noun) else ()
    return adjectives(noun, valence)


def _praised(verb: Verb, valence: str, past: bool) -> tuple[Noun, ...]:
    if verb.base == "like":
        kinds = (*FOOD, *DRINKS, *READING, *nouns("town", "sight"))
        options = kinds if past else (*LIKED, *kinds)
    else:
        options = OBJECTS[verb]
    return tuple(noun for noun in options if _reasons(verb, noun, valence))


_PRAISED = {
    (verb, valence, past): _praised(verb, valence, past) for verb, _, valence in _JUDGED for past in (False, True)
}


def because(
    main: Piece, thing: Phrase, adjective: Adjective, degree: Piece, tense: str, conjunction: Piece = BECAUSE
) -> Piece:
    """`main` and the reason: the quality of `thing`, which is a pronoun in English and omitted in Italian."""
    again = thing.again()
    return main + conjunction + copula(again, quality(again, adjective, degree), tense)


def because_of_person(s: Speaker) -> Piece:
    """I love my sister because she is kind. We help the boy because he is sad."""
    subject = s.someone()
    verb, qualities = s.pick(_FOND)
    other = s.known()
    while verb.base == "know" and "kin" in NOUNS[other.head].kinds:
        other = s.known()
    if subject.person == other.person:
        subject = PRONOUNS[s.pick(("I", "you", "we"))]
    main = clause(subject, verb, "present", other.of(verb))
    return because(main, other, ADJECTIVES[s.pick(qualities)], s.pick((NOTHING, VERY)), "present")


_FOND = (
    (VERBS["love"], ("kind", "nice", "intelligent")),
    (VERBS["help"], ("tired", "sad", "sick")),
    (VERBS["know"], ("famous",)),
)


def because_of_self(s: Speaker) -> Piece:
    """The girl sleeps because she is tired. I dance when I am happy."""
    verb, negative, states = s.pick(_MOTIVES)
    subject = particular(s)
    tense: Mood = "past" if s.chance(0.3) else "present"
    main = clause(subject, VERBS[verb], tense, negative=negative)
    conjunction = WHEN if not negative and tense == "present" and s.chance(0.4) else BECAUSE
    return because(main, subject, ADJECTIVES[s.pick(states)], NOTHING, tense, conjunction)


def particular(s: Speaker) -> Phrase:
    """Any human subject except "a man"."""
    while True:
        subject = s.someone()
        if not subject.english.startswith(("a ", "an ")):
            return subject


_MOTIVES = (
    ("sleep", False, ("tired", "sick", "sad")),
    ("dance", False, ("happy",)),
    ("work", True, ("tired", "sick")),
    ("study", True, ("tired", "sick", "sad")),
    ("swim", True, ("tired", "sick", "sad")),
)


def because_of_hunger(s: Speaker) -> Piece:
    """I eat the bread because I am hungry."""
    verb, state = s.pick(((VERBS["eat"], STATES[0]), (VERBS["drink"], STATES[1])))
    subject = particular(s)
    main = clause(subject, verb, "present", s.object_of(verb).of(verb))
    reason = having(subject.again(), state)
    return main + (WHEN if s.chance(0.3) else BECAUSE) + reason
