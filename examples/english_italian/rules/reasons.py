"""because and when: the second half speaks of something in the first, and agrees with it."""

from __future__ import annotations

from ..clauses import Clause, Mood, clause, copula, piacere, quality
from ..lexicon import ADJECTIVES, NOUNS, VERBS, Adjective, Noun, Verb, adjectives, nouns
from ..phrases import PRONOUNS, Phrase
from ..speaker import OBJECTS, Speaker, Tail
from .being import STATES, degree_of, having
from .common import DEGREES, DRINKS, FOOD, LIKED, READING


def because_of_thing(s: Speaker) -> Clause:
    """My friends like tomatoes because they are tasty: the adjective agrees with tomatoes."""
    verb, negative, valence = s.pick(_JUDGED)
    past = s.chance(0.25) and verb.base != "read"
    liking = verb.base == "like"
    options = _PRAISED[verb, valence, past]
    noun = s.pick(options)
    adjective = s.pick(_reasons(verb, noun, valence))
    degree = degree_of(s, adjective) if verb.base != "see" else s.pick((("", ""), DEGREES[0]))
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
        tail = (thing.english, thing.italian)
        links = (*thing.links, (verb.base, thing.head))
        main = clause(subject, verb, tense, tail, links=links, negative=negative)
    return because(main, thing, adjective, degree, tense)


_SPECIFIC = ("the", "the", "the", "this", "that", "own", "genitive")
_JUDGED = tuple(
    (VERBS[verb], valence == "bad", valence)
    for verb in ("like", "like", "like", "like", "eat", "drink", "buy", "read", "see")
    for valence in ("good", "good", "bad")
)


def _reasons(verb: Verb, noun: Noun, valence: str) -> tuple[Adjective, ...]:
    """What one says of `noun` to explain that one does (or, if bad, does not) do `verb` to it."""
    if verb.base == "see":
        seen = ADJECTIVES["big" if valence == "good" else "small"]
        return (seen,) if seen in adjectives(noun) else ()
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


def because(main: Clause, thing: Phrase, adjective: Adjective, degree: Tail, tense: str, why: str = "") -> Clause:
    """`main` and the reason: `thing`, as a pronoun in English and unsaid in Italian, is so."""
    again = thing._replace(english=thing.pronoun, article="", rest="", links=())
    predicate, links = quality(again, adjective, degree)
    reason = copula(again, predicate, tense)
    and_, e = ("when", "quando") if why == "when" else ("because", "perché")
    return Clause(
        f"{main.english} {and_} {reason.english}", f"{main.italian} {e} {reason.italian}", (*main.links, *links)
    )


def because_of_person(s: Speaker) -> Clause:
    """I love my sister because she is kind. We help the boy because he is sad."""
    subject = s.someone()
    verb, qualities = s.pick(_FOND)
    other = s.known()
    while verb.base == "know" and "kin" in NOUNS[other.head].kinds:
        other = s.known()
    if subject.person == other.person:
        subject = PRONOUNS[s.pick(("I", "you", "we"))]
    thing = (other.english, other.italian)
    main = clause(subject, verb, "present", thing, links=(*other.links, (verb.base, other.head)))
    return because(main, other, ADJECTIVES[s.pick(qualities)], s.pick((("", ""), DEGREES[0])), "present")


_FOND = (
    (VERBS["love"], ("kind", "nice", "intelligent")),
    (VERBS["help"], ("tired", "sad", "sick")),
    (VERBS["know"], ("famous",)),
)


def because_of_self(s: Speaker) -> Clause:
    """The girl sleeps because she is tired. I dance when I am happy."""
    verb, negative, states = s.pick(_MOTIVES)
    subject = s.someone()
    while subject.english.startswith(("a ", "an ")):
        subject = s.someone()
    tense: Mood = "past" if s.chance(0.3) else "present"
    main = clause(subject, VERBS[verb], tense, negative=negative)
    why = "when" if not negative and tense == "present" and s.chance(0.4) else ""
    return because(main, subject, ADJECTIVES[s.pick(states)], ("", ""), tense, why)


_MOTIVES = (
    ("sleep", False, ("tired", "sick", "sad")),
    ("dance", False, ("happy",)),
    ("work", True, ("tired", "sick")),
    ("study", True, ("tired", "sick", "sad")),
    ("swim", True, ("tired", "sick", "sad")),
)


def because_of_hunger(s: Speaker) -> Clause:
    """I eat the bread because I am hungry."""
    verb, state = s.pick(((VERBS["eat"], STATES[0]), (VERBS["drink"], STATES[1])))
    subject = s.someone()
    while subject.english.startswith(("a ", "an ")):
        subject = s.someone()
    thing = s.object_of(verb)
    links = (*thing.links, (verb.base, thing.head))
    main = clause(subject, verb, "present", (thing.english, thing.italian), links=links)
    again = subject._replace(english=subject.pronoun, article="", rest="", links=())
    reason = having(again, state)
    and_, e = ("when", "quando") if s.chance(0.3) else ("because", "perché")
    return Clause(f"{main.english} {and_} {reason.english}", f"{main.italian} {e} {reason.italian}", main.links)
