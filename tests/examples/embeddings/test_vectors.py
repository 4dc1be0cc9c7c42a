"""Nearest words, analogies and files; the grammar's questions, and the scores of answers."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest

from examples.embeddings.analogies import Pair, Relation, relations, score
from examples.embeddings.text import Language
from examples.embeddings.vectors import Vectors
from tests.support.cases import raises

WORDS = ("king", "queen", "man", "woman", "none", "l'uomo")
ARRAY = np.array([[3, 1, 0], [3, -1, 0], [1, 2, 1], [1, 0, 1], [0, 0, 0], [0.1, 1e-30, -7]], np.float32)


@pytest.fixture
def vectors() -> Vectors:
    return Vectors(WORDS, ARRAY)


def test_nearest_by_cosine(vectors: Vectors) -> None:
    near = vectors.nearest("king", 2)
    assert [word for word, _ in near] == ["queen", "woman"]
    np.testing.assert_allclose([cosine for _, cosine in near], [8 / 10, 3 / np.sqrt(20)], rtol=1e-6)
    assert len(vectors.nearest("king", 99)) == 5 and vectors.nearest("king", 0) == []
    assert dict(vectors.nearest("none"))["king"] == 0


def test_analogy_is_3cosadd(vectors: Vectors) -> None:
    units = ARRAY / np.maximum(np.linalg.norm(ARRAY, axis=1, keepdims=True), 1e-30)
    cosines = units @ (units[1] - units[0] + units[2])
    expected = max({3, 4, 5}, key=lambda i: cosines[i])
    assert vectors.analogy("king", "queen", "man")[0][0] == WORDS[expected] == "woman"
    assert not {"king", "queen", "man"} & {word for word, _ in vectors.analogy("king", "queen", "man", 9)}
    answers = vectors.answers(np.array([[0, 1, 2], [1, 0, 3]]), 2)
    assert WORDS[answers[0, 0]] == "woman" and WORDS[answers[1, 0]] == "man"
    assert vectors.answers(np.zeros((0, 3), int)).shape == (0, 5)


def test_a_missing_word_names_similar_ones(vectors: Vectors) -> None:
    raises(ValueError, "unknown word 'wmoan'; there is 'woman'", lambda: vectors.nearest("wmoan"))


def test_a_file_round_trip_keeps_the_numbers(vectors: Vectors, tmp_path: Path) -> None:
    vectors.save(tmp_path / "v.safetensors")
    loaded = Vectors.load(tmp_path / "v.safetensors")
    assert loaded.words == WORDS and loaded.array.dtype == np.float32 and np.array_equal(loaded.array, ARRAY)


def test_other_files(tmp_path: Path, vectors: Vectors) -> None:
    raises(FileNotFoundError, "file not found", lambda: Vectors.load(tmp_path / "none.safetensors"))
    (tmp_path / "other.safetensors").write_bytes(b"something else")
    raises(ValueError, "does not contain word vectors", lambda: Vectors.load(tmp_path / "other.safetensors"))


def test_invalid_vectors() -> None:
    for words, array in ((("a",), np.zeros((2, 2))), (("a", "a"), np.zeros((2, 2))), (("a",), np.full((1, 1), np.nan))):
        raises(ValueError, None, partial(Vectors, words, array))


def pairs_of(language: Language, name: str) -> set[tuple[str, str]]:
    (relation,) = [relation for relation in relations(language) if relation.name.startswith(name)]
    return {(pair.one, pair.other) for pair in relation.pairs}


def test_the_pairs_match_the_grammar() -> None:
    nouns = pairs_of("english", "number of nouns")
    assert {("cat", "cats"), ("child", "children")} <= nouns and len(nouns) == 85
    assert ("eat", "ate") in pairs_of("english", "tense") and ("read", "read") not in pairs_of("english", "tense")
    assert ("nero", "nera") in pairs_of("italian", "gender of adjectives: nero")
    articles = pairs_of("italian", "gender of articles: il")
    assert {("il", "la"), ("del", "della"), ("quel", "quella"), ("mio", "mia"), ("un", "una")} <= articles
    assert {("la", "le"), ("nella", "nelle"), ("mia", "mie")} <= pairs_of("italian", "number of articles: la")
    assert ("città", "città") not in pairs_of("italian", "number of nouns: mela")
    assert ("uovo", "uova") in pairs_of("italian", "number of nouns: with") - pairs_of("italian", "number of nouns: g")


def kin(*pairs: tuple[str, str, str]) -> Relation:
    forms = tuple(Pair(one, other, frozenset([kind])) for one, other, kind in pairs)
    return Relation("", forms, {pair.other: pair.kinds for pair in forms})


def test_how_answers_are_counted() -> None:
    """Vectors of words a, b, c and their plurals: each word has its own direction, and c's plural is an outlier."""
    words = ("a", "as", "b", "bs", "c", "cs", "x")
    rows = "9 0 0 0, 9 0 0 9, 0 9 0 0, 0 9 0 9, 0 1 9 0, 0 0 -9 0, -1 -1 0 -9"
    vectors = Vectors(words, np.array([row.split() for row in rows.split(",")], np.float32))
    counted = score(vectors, kin(("a", "as", "p"), ("b", "bs", "p"), ("c", "cs", "q")))
    assert counted is not None and counted.pairs == 3 and counted.questions == 6
    # Correct: as from b, bs from a. For cs from a, the answer is bs or as, a plural of a different kind.
    answered = {(a, c): vectors.analogy(a, f"{a}s", c)[0][0] for a in "abc" for c in "abc" if a != c}
    exact = sum(answer == f"{c}s" for (_, c), answer in answered.items())
    kinds = {"a": ("as", "bs"), "b": ("as", "bs"), "c": ("cs",)}
    kind = sum(answer in kinds[c] for (_, c), answer in answered.items())
    form = sum(answer.endswith("s") for answer in answered.values())
    np.testing.assert_allclose(counted[2:5], [exact / 6, kind / 6, form / 6])
    assert exact < form and counted.among >= counted.exact
    few = Vectors(("a", "as", "b"), np.eye(3, dtype=np.float32))
    assert score(few, kin(("a", "as", "p"), ("b", "bs", "p"))) is None
