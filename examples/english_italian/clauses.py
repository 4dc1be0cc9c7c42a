"""Clauses (subject, verb and the rest) in both languages in parallel.

A mood is a tense or a modal verb:

    present  eats           mangia
    past     ate            ha mangiato, è andata (passato prossimo)
    future   will eat       mangerà
    can      can eat        può mangiare
    must     must eat       deve mangiare
    want     wants to eat   vuole mangiare
    wish     would like to eat   vorrebbe mangiare
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from .lexicon import CONDITIONAL_OF_VOLERE, IMPERFECT_OF_ESSERE, VERBS, Adjective, Verb
from .morphology import join
from .phrases import Clitic, Phrase
from .pieces import NOTHING, Link, Piece, phrase_join

Mood = Literal["present", "past", "future", "can", "must", "want", "wish"]

AVERE, ESSERE = VERBS["have"], VERBS["be"]
_ENGLISH_MODALS = {"future": "will", "can": "can", "must": "must", "wish": "would"}
_ITALIAN_MODALS = {mood: VERBS[mood].present for mood in ("can", "must", "want")} | {"wish": CONDITIONAL_OF_VOLERE}
_BE = {"present": ("am", "are", "is", "are", "are"), "past": ("was", "were", "was", "were", "were")}
_DATIVE = ("mi", "ti", "", "ci", "")
_ENDINGS = {("m", False): "o", ("f", False): "a", ("m", True): "i", ("f", True): "e"}


class Adverb(NamedTuple):
    """An adverb of frequency: before the verb in English, after the inflected verb in Italian."""

    english: str
    italian: str
    negative: bool = False


ALWAYS = Adverb("always", "sempre")
OFTEN = Adverb("often", "spesso")
NEVER = Adverb("never", "mai", negative=True)


def agree(participle: str, gender: str, plural: bool) -> str:
    """The participle with the ending for a gender and number: "andato" -> "andate"."""
    return participle[:-1] + _ENDINGS["f" if gender == "f" else "m", plural]


def english_verb(subject: Phrase, verb: Verb, mood: Mood, negative: bool, question: bool, adverb: str = "") -> str:
    """Subject and verb: "he eats", "does he eat", "he will not eat", "he never eats"."""
    if mood == "want":
        tail = f" to {verb.base}"
        base, third, past = f"want{tail}", f"wants{tail}", ""
    else:
        base, third, past = verb.base, verb.third, verb.past
    if mood == "wish":
        base = f"like to {base}"
    auxiliary = _ENGLISH_MODALS.get(mood, "")
    if not auxiliary and (negative or question):
        auxiliary = "did" if mood == "past" else "does" if subject.person == 2 else "do"
    if auxiliary:
        main = base
    elif mood == "past":
        main = past
    else:
        main = third if subject.person == 2 else base
    if question:
        return phrase_join(auxiliary, subject.english, "not" if negative else "", adverb, main)
    if negative:
        auxiliary = "cannot" if auxiliary == "can" else f"{auxiliary} not"
    return phrase_join(subject.english, auxiliary, adverb, main)


def italian_verb(
    subject: Phrase, verb: Verb, mood: Mood, negative: bool, clitic: Clitic | None = None, adverb: str = ""
) -> str:
    """The verb with non and clitic: "non lo mangia", "le ha mangiate", "è andata"."""
    person = subject.person
    pronoun = clitic.italian if clitic else ""
    if mood == "present":
        finite, rest = verb.present[person], ""
    elif mood == "future":
        finite, rest = verb.future[person], ""
    elif mood != "past":
        finite, rest = _ITALIAN_MODALS[mood][person], verb.infinitive
    elif verb.auxiliary == "essere":
        finite = ESSERE.present[person]
        rest = agree(verb.participle, subject.gender, subject.plural)
    else:
        finite, rest = AVERE.present[person], verb.participle
        if clitic and clitic.agrees:
            rest = agree(rest, clitic.gender, clitic.plural)
            if not clitic.plural:
                finite, pronoun = f"l'{finite}", ""
    return phrase_join("non" if negative else "", pronoun, finite, adverb, rest)


def clause(
    subject: Phrase,
    verb: Verb,
    mood: Mood = "present",
    tail: Piece = NOTHING,
    *,
    negative: bool = False,
    question: bool = False,
    clitic: Clitic | None = None,
    adverb: Adverb | None = None,
) -> Piece:
    """Subject, verb and `tail` (objects, places and times). In Italian, a yes/no question has the word order of a
    statement. The clause links subject and verb."""
    before, after = (adverb.english, adverb.italian) if adverb else ("", "")
    non = negative or (adverb is not None and adverb.negative)
    english = english_verb(subject, verb, mood, negative, question, before)
    italian = italian_verb(subject, verb, mood, non, clitic, after)
    return Piece(
        phrase_join(english, clitic.english if clitic else "", tail.english),
        phrase_join(subject.italian, italian, tail.italian),
        subject_links(subject, verb) + tail.links,
        question,
    )


def asked(word: Piece, subject: Phrase, verb: Verb, mood: Mood, tail: Piece = NOTHING) -> Piece:
    """A question that starts with `word`. The Italian subject comes last ("dov'è andata Anna?")."""
    italian = italian_verb(subject, verb, mood, False)
    first = "dov'" if word.italian == "dove" and italian.startswith("è") else word.italian
    return Piece(
        phrase_join(word.english, english_verb(subject, verb, mood, False, True), tail.english),
        phrase_join(join(first, italian), tail.italian, subject.italian),
        subject_links(subject, verb) + word.links + tail.links,
        True,
    )


def subject_links(subject: Phrase, verb: Verb) -> tuple[Link, ...]:
    """The word pairs that a subject and its verb form (they may be held out of training)."""
    return (*subject.links, (subject.head, verb.base)) if subject.head else subject.links


def be(tense: str, subject: Phrase) -> tuple[str, str]:
    """The verb "to be" in the present, past (Italian imperfect) or future."""
    if tense == "future":
        return "will be", ESSERE.future[subject.person]
    italian = ESSERE.present if tense == "present" else IMPERFECT_OF_ESSERE
    return _BE[tense][subject.person], italian[subject.person]


def copula(
    subject: Phrase, predicate: Piece, tense: str = "present", *, negative: bool = False, question: bool = False
) -> Piece:
    """Subject, "to be" and `predicate`: "is the bag big?", "la borsa è grande?"."""
    is_, essere = be(tense, subject)
    first, _, rest = is_.partition(" ")
    if question:
        english = phrase_join(first, subject.english, rest, predicate.english)
    else:
        english = phrase_join(subject.english, first, "not" if negative else "", rest, predicate.english)
    non = "non" if negative else ""
    italian = phrase_join(subject.italian, non, essere, predicate.italian)
    return Piece(english, italian, subject.links + predicate.links, question)


def quality(subject: Phrase, adjective: Adjective, degree: Piece = NOTHING) -> Piece:
    """A predicate adjective that agrees with `subject`, and the link between the two."""
    links = ((subject.head, adjective.english),) if subject.head else ()
    return degree + Piece(adjective.english, adjective.italian[subject.gender, subject.plural], links)


def piacere(
    who: Phrase,
    liked: Phrase,
    mood: Mood = "present",
    *,
    negative: bool = False,
    question: bool = False,
    much: bool = False,
) -> Piece:
    """To like something. In Italian, the thing pleases the person ("Ai gatti piace il latte"), and the verb and its
    participle agree with the thing ("Mi è piaciuta la torta")."""
    like = VERBS["like"]
    english = english_verb(who, like, mood, negative, question)
    english = phrase_join(english, liked.english, "very much" if much else "")
    if mood == "past":
        form = "sono" if liked.plural else "è"
        form = f"{form} {agree('piaciuto', liked.gender, liked.plural)}"
    else:
        form = "piacciono" if liked.plural else "piace"
    italian = phrase_join(experiencer(who, negative), form, "molto" if much else "", liked.italian)
    return Piece(english, italian, (*subject_links(who, like), *liked.of(like).links), question)


def experiencer(who: Phrase, negative: bool) -> str:
    """The person who likes something, with the negation: "non mi", "a Maria non"."""
    non = "non" if negative else ""
    if who.rest:
        return phrase_join(who.after("a"), non)
    if who.person == 4:
        return phrase_join("a loro", non)
    return phrase_join(non, _DATIVE[who.person] or ("le" if who.gender == "f" else "gli"))
