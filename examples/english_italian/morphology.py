"""Spelling and inflection: how a word changes with gender, number, person and the adjacent word.

Everything here is a rule of English or Italian; the words, including irregular words, are in `lexicon`. Italian persons
are numbered 0 io, 1 tu, 2 lui/lei, 3 noi, 4 loro. The corpus does not use voi, because English "you" is always
translated as tu.
"""

from __future__ import annotations

from typing import Literal

Gender = Literal["m", "f"]
Forms = tuple[str, str, str, str, str]  # of a verb for io, tu, lui/lei, noi, loro

VOWELS = "aeiouàèéìòù"
ARTICLES = {"il": "l", "lo": "llo", "l'": "ll'", "la": "lla", "i": "i", "gli": "gli", "le": "lle"}
"""Each definite article, and the ending that it adds to a word that absorbs it (de+ll'acqua)."""

_STEMS = {"a": "a", "di": "de", "da": "da", "in": "ne", "su": "su", "quello": "que", "bello": "be"}
_PRESENT = {
    "are": ("o", "i", "a", "iamo", "ano"),
    "ere": ("o", "i", "e", "iamo", "ono"),
    "ire": ("o", "i", "e", "iamo", "ono"),
    "isc": ("isco", "isci", "isce", "iamo", "iscono"),
}
_FUTURE = ("ò", "ai", "à", "emo", "anno")


def five(text: str) -> Forms:
    """The forms of a verb from a line of text."""
    one, two, three, four, last = text.split()
    return one, two, three, four, last


def join(left: str, right: str) -> str:
    """Join two pieces of Italian: without a space after an apostrophe or an empty piece."""
    return left + right if not left or left.endswith("'") else f"{left} {right}"


def starts_with_vowel(word: str) -> bool:
    """Whether a word starts with a vowel, so that the word before it is elided."""
    return word[0].lower() in VOWELS


def takes_lo(word: str) -> bool:
    """Whether a masculine `word` takes lo/uno/gli: s + consonant, z, x, y, gn, ps, pn."""
    if word[0] == "s":
        return word[1] not in VOWELS
    return word[0] in "zxy" or word[:2] in ("gn", "ps", "pn")


def definite(gender: Gender, plural: bool, following: str) -> str:
    """The definite article before the word `following`: il, lo, l', la, i, gli, le."""
    if gender == "f":
        return "le" if plural else "l'" if starts_with_vowel(following) else "la"
    if starts_with_vowel(following):
        return "gli" if plural else "l'"
    if takes_lo(following):
        return "gli" if plural else "lo"
    return "i" if plural else "il"


def indefinite(gender: Gender, following: str) -> str:
    """The indefinite article before the word `following`: un, uno, una, un'."""
    if gender == "f":
        return "un'" if starts_with_vowel(following) else "una"
    return "uno" if takes_lo(following) else "un"


def contract(word: str, article: str) -> str:
    """Merge a definite article into `word`, one of a, di, da, in, su, quello, bello: di + gli = degli (bei, quegli)."""
    return _STEMS[word] + ARTICLES[article]


def with_preposition(preposition: str, article: str, rest: str) -> str:
    """`preposition` before the noun phrase `article` + `rest`, contracted as in Italian: `con`, `sotto` and the like
    never contract; `a` becomes `ad` before another a."""
    if article in ARTICLES and preposition in _STEMS:
        return join(contract(preposition, article), rest)
    phrase = join(article, rest)
    if preposition == "a" and phrase[0] in "aA":
        preposition = "ad"
    return f"{preposition} {phrase}"


def inflect(adjective: str, plural_stem: str = "") -> dict[tuple[Gender, bool], str]:
    """The forms of an adjective by (gender, plural), from its masculine singular. Adjectives in -e have two forms,
    adjectives in -o have four, and -co and -go keep their hard sound (stanco, stanchi). `plural_stem` is an irregular
    masculine plural (simpatici)."""
    stem, ending = adjective[:-1], adjective[-1]
    if ending == "e":
        forms = (adjective, stem + "i", adjective, stem + "i")
    else:
        hard = stem + "h" if stem[-1] in "cg" else stem
        masculine = stem if stem[-1] == "i" else hard + "i"
        forms = (adjective, plural_stem or masculine, stem + "a", hard + "e")
    return dict(zip((("m", False), ("m", True), ("f", False), ("f", True)), forms, strict=True))


def present(infinitive: str, isc: bool = False) -> Forms:
    """The present indicative of a regular verb; `isc` marks verbs like preferire, preferisco."""
    stem, ending = infinitive[:-3], infinitive[-3:]
    soft = stem
    if ending == "are" and stem[-1] in "cg":
        soft = stem + "h"  # cerchi, cerchiamo: the h keeps the sound hard before i
    elif ending == "are" and stem[-1] == "i":
        soft = stem[:-1]  # mangi, mangiamo: one i is enough
    one, two, three, four, last = _PRESENT["isc" if isc else ending]
    return stem + one, soft + two, stem + three, soft + four, stem + last


def future(infinitive: str, stem: str = "") -> Forms:
    """The future indicative. `stem` is an irregular stem (andr- for andare)."""
    if not stem and infinitive.endswith("are"):
        root = infinitive[:-3]
        if root[-1] in "cg":
            root += "h"
        elif root.endswith(("ci", "gi")):
            root = root[:-1]  # mangerò: the i only marked the soft sound
        stem = root + "er"
    stem = stem or infinitive[:-1]
    return five(" ".join(stem + ending for ending in _FUTURE))


def participle(infinitive: str) -> str:
    """The past participle of a regular verb, masculine singular."""
    return infinitive[:-3] + {"are": "ato", "ere": "uto", "ire": "ito"}[infinitive[-3:]]


def a_or_an(following: str) -> str:
    """The English indefinite article before `following`, by sound: an apple, a university."""
    if following.startswith(("uni", "use")):
        return "a"
    return "an" if following[0] in "aeiou" else "a"
