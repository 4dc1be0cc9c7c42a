"""Phrases: a noun with its determiner and adjective, a pronoun, or a name, in both languages in parallel.

Nothing here is random: `speaker` chooses the topics, and this module phrases them correctly.

Conventions where English leaves open what Italian requires:
- "you" is tu;
- I, we, you and they are masculine ("I am tired": Sono stanco), and so are friend, student, teacher, child, doctor,
  waiter and psychologist;
- a group is feminine only if all its members are (Maria and Anna: stanche).
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from . import lexicon
from .lexicon import ADJECTIVES, CLITICS, NOUNS, NUMBERS, WOMEN, Adjective, Noun, Verb, gender
from .morphology import Gender, a_or_an, contract, definite, indefinite, inflect, join, with_preposition
from .pieces import Link, Piece


class Phrase(NamedTuple):
    """A noun phrase. `article` is separate from `rest` so that a preposition can absorb it."""

    english: str
    article: str
    rest: str
    person: int
    gender: Gender
    plural: bool
    pronoun: str
    head: str = ""
    links: tuple[Link, ...] = ()

    @property
    def italian(self) -> str:
        """The phrase as subject or object; "" for a subject pronoun, which Italian omits."""
        return join(self.article, self.rest) if self.rest else ""

    @property
    def piece(self) -> Piece:
        """The phrase as a sentence piece."""
        return Piece(self.english, self.italian, self.links)

    def after(self, preposition: str) -> str:
        """The Italian phrase after `preposition`, contracted: al cane, della mia amica."""
        return with_preposition(preposition, self.article, self.rest)

    def behind(self, english: str, italian: str) -> Piece:
        """The phrase after a preposition in both languages."""
        return Piece(f"{english} {self.english}", self.after(italian), self.links)

    def of(self, verb: Verb) -> Piece:
        """The phrase as the object of `verb`."""
        return self.piece.link((verb.base, self.head))

    def again(self, english: str | None = None) -> Phrase:
        """A later mention of the phrase: in English a pronoun (or `english`), omitted in Italian."""
        return self._replace(english=self.pronoun if english is None else english, article="", rest="", links=())


class Clitic(NamedTuple):
    """An object pronoun. `agrees` says whether a participle after it takes its gender (le ho viste)."""

    english: str
    italian: str
    gender: Gender
    plural: bool
    agrees: bool


POSSESSIVES = {
    "my": inflect("mio", "miei"),
    "your": inflect("tuo", "tuoi"),
    "his": inflect("suo", "suoi"),
    "her": inflect("suo", "suoi"),
    "our": inflect("nostro"),
    "their": dict.fromkeys(inflect("loro"), "loro"),
}
_THIS = inflect("questo")
_MANY = inflect("molto")
_BELLO = ADJECTIVES["beautiful"]

PRONOUNS = {
    who: Phrase(who, "", "", int(person), gender(letter), number == "plural", who)
    for who, person, letter, number in lexicon.PRONOUNS
}
OBJECT_PRONOUNS = {
    me: Clitic(me, direct, gender(letter), number == "plural", agrees == "yes")
    for me, direct, _, letter, number, agrees in CLITICS
}
DATIVES = {me: OBJECT_PRONOUNS[me]._replace(italian=indirect, agrees=False) for me, _, indirect, *_ in CLITICS}


def back_reference(phrase: Phrase) -> Clitic:
    """The clitic that refers back to `phrase`: "Compro le mele e le mangio"."""
    italian = {"m": ("lo", "li"), "f": ("la", "le")}[phrase.gender][phrase.plural]
    english = {"he": "him", "she": "her", "it": "it", "they": "them"}[phrase.pronoun]
    return Clitic(english, italian, phrase.gender, phrase.plural, True)


@cache
def name(who: str) -> Phrase:
    """A person's name, which is the same in both languages."""
    woman = who in WOMEN
    return Phrase(who, "", who, 2, "f" if woman else "m", False, "she" if woman else "he", who)


@cache
def two_names(one: str, other: str) -> Phrase:
    """Two people as one plural subject, masculine unless both are women."""
    gender: Gender = "f" if one in WOMEN and other in WOMEN else "m"
    return Phrase(f"{one} and {other}", "", f"{one} e {other}", 4, gender, True, "they")


@cache
def noun_phrase(determiner: str, noun: Noun, plural: bool = False, adjective: Adjective | None = None) -> Phrase:
    """A noun phrase from its parts. The determiner is the, a, this, that (in the plural these, those), some, many, a
    possessive (my), a number (two), a genitive ("Maria's"), or "" for a generic noun: "cats" is i gatti, "bread" il
    pane."""
    gender = noun.plural_gender if plural else noun.gender
    english, italian = _core(noun, plural, gender, adjective)
    the = definite(gender, plural, italian)
    article = ""
    if determiner == "the":
        article, english = the, f"the {english}"
    elif determiner == "":
        article = the
    elif determiner == "a":
        article, english = indefinite(gender, italian), f"{a_or_an(english)} {english}"
    elif determiner == "some":
        italian, english = join(contract("di", the), italian), f"some {english}"
    elif determiner == "this":
        italian = f"{_THIS[gender, plural]} {italian}"
        english = f"{'these' if plural else 'this'} {english}"
    elif determiner == "that":
        italian = join(contract("quello", the), italian)
        english = f"{'those' if plural else 'that'} {english}"
    elif determiner in POSSESSIVES:
        form = POSSESSIVES[determiner][gender, plural]
        # mia sorella, but le mie sorelle and la loro sorella
        bare = "kin" in noun.kinds and not plural and form != "loro"
        article = "" if bare else definite(gender, plural, form)
        italian, english = f"{form} {italian}", f"{determiner} {english}"
    elif determiner.endswith("'s"):
        owner = determiner.removesuffix("'s")
        article, italian, english = the, f"{italian} di {owner}", f"{determiner} {english}"
    else:
        count = _MANY[gender, plural] if determiner == "many" else NUMBERS[determiner]
        italian, english = f"{count} {italian}", f"{determiner} {english}"
    if noun.kinds.isdisjoint(("person", "kin")):
        pronoun = "it"
    else:
        pronoun = "she" if gender == "f" else "he"
    links = ((noun.name, adjective.english),) if adjective else ()
    person, pronoun = (4, "they") if plural else (2, pronoun)
    return Phrase(english, article, italian, person, gender, plural, pronoun, noun.name, links)


def _core(noun: Noun, plural: bool, gender: Gender, adjective: Adjective | None) -> tuple[str, str]:
    """The noun and adjective without a determiner. Only bello precedes its noun (un bel gatto)."""
    english = noun.english_plural if plural else noun.english
    italian = noun.italian_plural if plural else noun.italian
    if adjective is None:
        return english, italian
    english = f"{adjective.english} {english}"
    if adjective is _BELLO:
        form = contract("bello", definite(gender, plural, italian))
        return english, join(form, italian)
    return english, f"{italian} {adjective.italian[gender, plural]}"


@cache
def measured(vessel: str, plural: bool, drink: str) -> Phrase:
    """A glass of water: un bicchiere d'acqua. The plural means two: "two cups of tea", due tazze di tè."""
    outer = noun_phrase("two" if plural else "a", NOUNS[vessel], plural)
    content = NOUNS[drink].italian
    of = "d'" if content[0] == "a" else "di"
    rest = f"{outer.rest} {join(of, content)}"
    return outer._replace(english=f"{outer.english} of {drink}", rest=rest, links=((vessel, drink),), head=drink)
