"""The questions of the grammar: which there are, how answers are counted, and what a training answers."""

from __future__ import annotations

import numpy as np
import pytest

from examples.embeddings.analogies import Pair, Relation, relations, score
from examples.embeddings.text import Language, shipped
from examples.embeddings.training import Settings, train
from examples.embeddings.vectors import Vectors


def pairs_of(language: Language, name: str) -> set[tuple[str, str]]:
    (relation,) = [relation for relation in relations(language) if relation.name.startswith(name)]
    return {(pair.one, pair.other) for pair in relation.pairs}


def test_the_pairs_are_the_grammars() -> None:
    nouns = pairs_of("english", "number of nouns")
    assert {("cat", "cats"), ("child", "children")} <= nouns and len(nouns) == 85
    assert ("eat", "ate") in pairs_of("english", "tense") and ("read", "read") not in pairs_of("english", "tense")
    assert ("nero", "nera") in pairs_of("italian", "gender of adjectives: nero")
    articles = pairs_of("italian", "gender of articles: il")
    assert {("il", "la"), ("del", "della"), ("quel", "quella"), ("mio", "mia"), ("un", "una")} <= articles
    assert {("la", "le"), ("nella", "nelle"), ("mia", "mie")} <= pairs_of("italian", "number of articles: la")
    assert ("città", "città") not in pairs_of("italian", "number of nouns: mela")
    assert ("uovo", "uova") in pairs_of("italian", "number of nouns: with") - pairs_of("italian", "number of nouns: g")


@pytest.mark.nightly
@pytest.mark.parametrize("language", ["english", "italian"])
def test_all_words_are_in_the_corpus(language: Language) -> None:
    """But for a few forms that the grammar never needs, such as the future of must."""
    words = set(shipped(language).words)
    for relation in relations(language):
        missing = [pair for pair in relation.pairs if not {pair.one, pair.other} <= words]
        assert len(missing) <= len(relation.pairs) / 3, (relation.name, missing)


def kin(*pairs: tuple[str, str, str]) -> Relation:
    forms = tuple(Pair(one, other, frozenset([kind])) for one, other, kind in pairs)
    return Relation("", forms, {pair.other: pair.kinds for pair in forms})


def test_how_answers_are_counted() -> None:
    """Vectors (word, plural): a, b, c, each word of its own direction, and c's plural is where nobody expects it."""
    words = ("a", "as", "b", "bs", "c", "cs", "x")
    array = np.array(
        [[9, 0, 0, 0], [9, 0, 0, 9], [0, 9, 0, 0], [0, 9, 0, 9], [0, 1, 9, 0], [0, 0, -9, 0], [-1, -1, 0, -9]]
    )
    vectors = Vectors(words, array.astype(np.float32))
    counted = score(vectors, kin(("a", "as", "p"), ("b", "bs", "p"), ("c", "cs", "q")))
    assert counted is not None and counted.pairs == 3 and counted.questions == 6
    # Right: as from b, bs from a. Asked for cs with a, the answer is bs or as: a plural of another kind.
    answered = {(a, c): vectors.analogy(a, f"{a}s", c)[0][0] for a in "abc" for c in "abc" if a != c}
    exact = sum(answer == f"{c}s" for (_, c), answer in answered.items())
    kind = sum(answer in {"a": ("as", "bs"), "b": ("as", "bs"), "c": ("cs",)}[c] for (_, c), answer in answered.items())
    form = sum(answer.endswith("s") for answer in answered.values())
    np.testing.assert_allclose(counted[2:5], [exact / 6, kind / 6, form / 6])
    assert exact < form and counted.among >= counted.exact
    few = Vectors(("a", "as", "b"), np.eye(3, dtype=np.float32))
    assert score(few, kin(("a", "as", "p"), ("b", "bs", "p"))) is None


LEAST = {  # of the right answers, by the beginning of a relation's name
    "english": {"number of nouns": 0.45, "person of verbs": 0.75, "tense of verbs": 0.7},
    "italian": {
        "number of nouns: gatto": 0.3,
        "number of nouns: mela": 0.45,
        "number of adjectives": 0.22,
        "gender of adjectives": 0.25,
        "number of verbs": 0.6,
        "tense of verbs": 0.7,
    },
}


@pytest.mark.nightly
@pytest.mark.parametrize("language", ["english", "italian"])
def test_number_and_gender_come_out(language: Language) -> None:
    """Of all questions that the grammar asks, by the example's own settings; in Italian within a gender."""
    vectors = train(shipped(language), Settings(), progress=False).vectors
    counted = {relation: score(vectors, relation) for relation in relations(language)}
    asked = [
        (s, least) for r, s in counted.items() for name, least in LEAST[language].items() if r.name.startswith(name)
    ]
    assert len(asked) >= len(LEAST[language])
    for one, least in asked:
        assert one is not None and one.exact >= least and one.form >= 0.6 and one.among > one.exact, one
    across = [one.exact for relation, one in counted.items() if relation.across and one]
    assert max(across, default=0) < 0.1
    number = {"english": ("cat", "cats", "dog", "dogs"), "italian": ("gatto", "gatti", "cane", "cani")}[language]
    assert vectors.analogy(*number[:3])[0][0] == number[3]
