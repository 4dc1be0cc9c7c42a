"""Being something: qualities, comparison, identity, hunger, age."""

from __future__ import annotations

from ..clauses import Clause, copula, italian_verb, phrase_join, quality
from ..lexicon import NOUNS, NUMBERS, VERBS, Adjective, adjectives, nouns
from ..morphology import inflect
from ..phrases import PRONOUNS, Link, Phrase, noun_phrase
from ..speaker import ANIMALS, PUBLIC, Speaker, Tail
from .common import DEGREES, DESCRIBABLE, OF_PEOPLE, PEOPLE, THINGS, adjectives_named


def subject_and_quality(s: Speaker, question: bool = False) -> tuple[Phrase, Adjective]:
    """A subject and an adjective that can be said of it."""
    if s.chance(0.4):
        who = s.women() if s.chance(0.15) else s.someone(question)
        return who, s.pick(OF_PEOPLE)
    noun = s.pick(DESCRIBABLE)
    return s.specific((noun,), 0), s.pick(adjectives(noun))


def degree_of(s: Speaker, adjective: Adjective) -> Tail:
    """very, too (never of what is good), or mostly nothing."""
    if adjective.absolute or s.chance(0.6):
        return ("", "")
    return DEGREES[0] if adjective.valence == "good" else s.pick(DEGREES)


_PASSING = adjectives_named("tired happy sad sick")
_TO_COME = adjectives_named("tired happy sad sick famous")


def is_quality(s: Speaker) -> Clause:
    """The house is too small. My parents will be happy. Were the shoes expensive?"""
    x = s.random()
    negative, question = 0.3 < x < 0.45, x > 0.8
    subject, adjective = subject_and_quality(s, question)
    tense = s.pick(("present", "present", "present", "present", "past", "past"))
    time = ("", "")
    if s.chance(0.15):
        subject, adjective, tense = s.someone(question), s.pick(_TO_COME), "future"
        if adjective in _PASSING and s.chance(0.4):
            time = s.time("future")
    predicate, links = quality(subject, adjective, degree_of(s, adjective))
    predicate = (phrase_join(predicate[0], time[0]), phrase_join(predicate[1], time[1]))
    return copula(subject, predicate, tense, links=links, negative=negative, question=question)


def all_are(s: Speaker) -> Clause:
    """Dogs are intelligent. Strawberries are sweet."""
    noun = s.pick(_GENERAL)
    subject = noun_phrase("", noun, bool(noun.english_plural))
    adjective = s.pick([a for a in adjectives(noun) if a in _ESSENTIAL])
    predicate, links = quality(subject, adjective, degree_of(s, adjective))
    return copula(subject, predicate, links=links, negative=s.chance(0.15))


_ESSENTIAL = adjectives_named(
    "beautiful big small strong intelligent tasty delicious good sweet red useful"
    " heavy expensive comfortable interesting boring"
)
_GENERAL = [
    noun
    for noun in DESCRIBABLE
    if (noun.english_plural or noun.kinds & {"food", "drink"}) and not set(adjectives(noun)).isdisjoint(_ESSENTIAL)
]


def identity(s: Speaker) -> Clause:
    """This is my sister. Those are Maria's shoes. He is a doctor."""
    x = s.random()
    if x < 0.3:
        who = PRONOUNS[s.pick(("I", "you", "he"))] if s.chance(0.6) else s.pick((s.named, s.known))()
        woman = who.gender == "f"
        job = s.pick([n for n in PEOPLE if "job" in n.kinds and (n.gender == "f") == woman])
        what = noun_phrase("" if who.plural else "a", job, who.plural)
        links = ((who.head, job.name),) if who.head else ()
        italian = what.rest if who.plural else what.italian
        return copula(who, (what.english, italian), links=links, question=s.chance(0.25))
    if x < 0.65:
        what = s.relative() if s.chance(0.6) else s.thing(_MINE, ("own",), 0)
    else:
        what = s.thing(_OWNED, ("own", "own", "genitive"), 0.15)
    near, forms = s.pick(_DEMONSTRATIVES)
    english = near[what.plural]
    this = Phrase(english, "", forms[what.gender, what.plural], what.person, "m", what.plural, "it")
    return copula(this, (what.english, what.italian), links=what.links, question=s.chance(0.25))


_MINE = nouns("mine")
_OWNED = tuple(noun for noun in THINGS if noun not in PUBLIC)
_DEMONSTRATIVES = ((("this", "these"), inflect("questo")), (("that", "those"), inflect("quello")))


def comparison(s: Speaker) -> Clause:
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
    more = quality(one, adjective, ("more", "più"))
    predicate = (f"{more[0][0]} than {other.english}", f"{more[0][1]} {other.after('di')}")
    links = (*more[1], *other.links, (other.head, adjective.english))
    return copula(one, predicate, links=links, question=s.chance(0.15))


_COMPARED = adjectives_named("intelligent famous expensive interesting boring useful comfortable")


def having_state(s: Speaker) -> Clause:
    """I am hungry. Is your brother thirsty?: in Italian one has hunger and thirst."""
    x = s.random()
    who = s.someone(x > 0.8)
    hungry = s.pick(STATES)
    degree = s.chance(0.2)
    english = f"very {hungry[0]}" if degree else hungry[0]
    italian = phrase_join("molta" if degree else "", hungry[1])
    return having(who, (english, italian), negative=x < 0.2, question=x > 0.8)


STATES = (("hungry", "fame"), ("thirsty", "sete"), ("afraid", "paura"))


def having(
    who: Phrase, predicate: Tail, links: tuple[Link, ...] = (), *, negative: bool = False, question: bool = False
) -> Clause:
    """A clause with to be in English and avere in Italian."""
    english = copula(who, predicate, negative=negative, question=question).english
    italian = italian_verb(who, VERBS["have"], "present", negative)
    return Clause(
        english, phrase_join(who.italian, italian, predicate[1]), (*who.links, *links), "?" if question else "."
    )


def afraid_of(s: Speaker) -> Clause:
    """The children are afraid of the wolf."""
    x = s.random()
    who = s.someone(x > 0.85)
    animal = s.thing(ANIMALS, ("", "", "the", "this", "genitive"), 0.2)
    predicate = (f"afraid of {animal.english}", f"paura {animal.after('di')}")
    links = (*animal.links, ("afraid", animal.head))
    return having(who, predicate, links, negative=x < 0.2, question=x > 0.85)


def age(s: Speaker) -> Clause:
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
    predicate = (f"{number} years old", f"{NUMBERS[number]} anni")
    return having(who, predicate, question=s.chance(0.2))


_YOUNG = nouns("pet", "child")
_AGES = tuple(number for number in NUMBERS if number != "two")
