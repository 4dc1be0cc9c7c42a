"""Being something: qualities, comparison, identity, hunger and age."""

from __future__ import annotations

from dataclasses import replace

from ..clauses import AVERE, copula, italian_verb, quality
from ..lexicon import NOUNS, NUMBERS, Adjective, adjectives, nouns
from ..morphology import inflect
from ..phrases import PRONOUNS, Phrase, noun_phrase
from ..pieces import NOTHING, Piece, phrase_join
from ..speaker import ANIMALS, PUBLIC, Speaker
from .common import DESCRIBABLE, OF_PEOPLE, PEOPLE, THINGS, TOO, VERY, adjectives_named


def subject_and_quality(s: Speaker, question: bool = False) -> tuple[Phrase, Adjective]:
    """A subject and an adjective that suits it."""
    if s.chance(0.4):
        who = s.women() if s.chance(0.15) else s.someone(question)
        return who, s.pick(OF_PEOPLE)
    noun = s.pick(DESCRIBABLE)
    return s.specific((noun,), 0), s.pick(adjectives(noun))


def degree_of(s: Speaker, adjective: Adjective) -> Piece:
    """Usually nothing, otherwise "very" or (except for good qualities) "too"."""
    if adjective.absolute or s.chance(0.6):
        return NOTHING
    return VERY if adjective.valence == "good" else s.pick((VERY, TOO))


_PASSING = adjectives_named("tired happy sad sick")
_TO_COME = adjectives_named("tired happy sad sick famous")


def is_quality(s: Speaker) -> Piece:
    """The bag is too small. My parents will be happy. Were the shoes expensive?"""
    x = s.random()
    negative, question = 0.3 < x < 0.45, x > 0.8
    subject, adjective = subject_and_quality(s, question)
    tense = s.pick(("present", "present", "present", "present", "past", "past"))
    time = NOTHING
    if s.chance(0.15):
        subject, adjective, tense = s.someone(question), s.pick(_TO_COME), "future"
        if adjective in _PASSING and s.chance(0.4):
            time = s.time("future")
    predicate = quality(subject, adjective, degree_of(s, adjective)) + time
    return copula(subject, predicate, tense, negative=negative, question=question)


def all_are(s: Speaker) -> Piece:
    """Dogs are intelligent. Strawberries are sweet."""
    noun = s.pick(_GENERAL)
    subject = noun_phrase("", noun, bool(noun.english_plural))
    adjective = s.pick([a for a in adjectives(noun) if a in _ESSENTIAL])
    return copula(subject, quality(subject, adjective, degree_of(s, adjective)), negative=s.chance(0.15))


_ESSENTIAL = adjectives_named(
    "beautiful big small strong intelligent tasty delicious good sweet red useful"
    " heavy expensive comfortable interesting boring"
)
_GENERAL = [
    noun
    for noun in DESCRIBABLE
    if (noun.english_plural or noun.kinds & {"food", "drink"}) and not set(adjectives(noun)).isdisjoint(_ESSENTIAL)
]


def identity(s: Speaker) -> Piece:
    """This is my sister. These are Maria's shoes. He is a doctor."""
    x = s.random()
    if x < 0.3:
        who = PRONOUNS[s.pick(("I", "you", "he"))] if s.chance(0.6) else s.pick((s.named, s.known))()
        woman = who.gender == "f"
        job = s.pick([n for n in PEOPLE if "job" in n.kinds and (n.gender == "f") == woman])
        what = noun_phrase("" if who.plural else "a", job, who.plural)
        links = ((who.head, job.name),) if who.head else ()
        predicate = Piece(what.english, what.rest if who.plural else what.italian, links)
        return copula(who, predicate, question=s.chance(0.25))
    if x < 0.65:
        what = s.relative() if s.chance(0.6) else s.thing(_MINE, ("own",), 0)
    else:
        what = s.thing(_OWNED, ("own", "own", "genitive"), 0.15)
    near, forms = s.pick(_DEMONSTRATIVES)
    this = Phrase(near[what.plural], "", forms[what.gender, what.plural], what.person, "m", what.plural, "it")
    return copula(this, what.piece, question=s.chance(0.25))


_MINE = nouns("mine")
_OWNED = tuple(noun for noun in THINGS if noun not in PUBLIC)
_DEMONSTRATIVES = ((("this", "these"), inflect("questo")), (("that", "those"), inflect("quello")))


def comparison(s: Speaker) -> Piece:
    """This book is more interesting than the newspaper."""
    adjective = s.pick(_COMPARED)
    fitting = [n for n in NOUNS.values() if n.kinds & adjective.kinds - {"state"}]
    noun = s.pick(fitting)
    others = [n for n in fitting if n.kinds & noun.kinds & adjective.kinds]
    one = s.specific((noun,), 0)
    other = s.specific((s.pick(others),), 0)
    if one.head == other.head:
        other = s.thing((noun,), ("that", "genitive"), 0)
    if "person" in adjective.kinds & noun.kinds:
        one, other = s.someone(), s.known()
    if one.english == other.english or (one.head == other.head and "person" in noun.kinds):
        return is_quality(s)
    more = quality(one, adjective, Piece("more", "più")).link((other.head, adjective.english))
    return copula(one, more + other.behind("than", "di"), question=s.chance(0.15))


_COMPARED = adjectives_named("intelligent famous expensive interesting boring useful comfortable")


def having_state(s: Speaker) -> Piece:
    """I am hungry. Is your brother thirsty? Italian uses "to have" with hunger and thirst."""
    x = s.random()
    who = s.someone(x > 0.8)
    hungry = s.pick(STATES)
    degree = Piece("very", "molta") if s.chance(0.2) else NOTHING
    return having(who, degree + hungry, negative=x < 0.2, question=x > 0.8)


STATES = (Piece("hungry", "fame"), Piece("thirsty", "sete"), Piece("afraid", "paura"))


def having(who: Phrase, predicate: Piece, *, negative: bool = False, question: bool = False) -> Piece:
    """A clause with "to be" in English and avere in Italian."""
    piece = copula(who, predicate, negative=negative, question=question)
    avere = italian_verb(who, AVERE, "present", negative)
    return replace(piece, italian=phrase_join(who.italian, avere, predicate.italian))


def afraid_of(s: Speaker) -> Piece:
    """The children are afraid of the wolf."""
    x = s.random()
    who = s.someone(x > 0.85)
    animal = s.thing(ANIMALS, ("", "", "the", "this", "genitive"), 0.2)
    predicate = Piece("afraid", "paura", (("afraid", animal.head),)) + animal.behind("of", "di")
    return having(who, predicate, negative=x < 0.2, question=x > 0.85)


def age(s: Speaker) -> Piece:
    """My sister is ten years old. That dog is three years old."""
    x = s.random()
    number = s.pick(_AGES)
    if x < 0.2:
        who = PRONOUNS[s.pick(("I", "you", "he", "she"))]
    elif x < 0.4:
        who = s.named()
    else:
        noun = s.pick(_YOUNG)
        who = s.relative_of(noun) if "kin" in noun.kinds else s.specific((noun,), 0)
        if "person" in noun.kinds:
            who = s.thing((noun,), ("the", "this", "that"), 0)
    return having(who, Piece(f"{number} years old", f"{NUMBERS[number]} anni"), question=s.chance(0.2))


_YOUNG = nouns("pet", "child")
_AGES = tuple(number for number in NUMBERS if number != "two")
