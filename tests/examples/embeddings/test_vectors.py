"""Nearest words, analogies and files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from examples.embeddings.vectors import Vectors

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
    with pytest.raises(ValueError, match="no word 'wmoan'; there is 'woman'"):
        vectors.nearest("wmoan")


def test_files_give_the_same_numbers_back(vectors: Vectors, tmp_path: Path) -> None:
    for name in ("v.safetensors", "v.txt"):
        vectors.save(tmp_path / name)
        loaded = Vectors.load(tmp_path / name)
        assert loaded.words == WORDS and loaded.array.dtype == np.float32 and np.array_equal(loaded.array, ARRAY)
    lines = (tmp_path / "v.txt").read_text(encoding="utf-8").splitlines()  # as word2vec's
    assert lines[0] == "6 3" and lines[1].split() == ["king", "3.0", "1.0", "0.0"]
    (tmp_path / "marked.txt").write_text("\n".join(lines), encoding="utf-8-sig")
    np.testing.assert_array_equal(Vectors.load(tmp_path / "marked.txt").array, ARRAY)


def test_damaged_text(tmp_path: Path) -> None:
    for content, line in (
        ("", 1),
        ("two words\n", 1),
        ("-1 3\n", 1),
        ("99999999999999 9999999\na 1\n", 1),
        ("1 2\na 1\n", 2),
        ("2 1\na 1\nb x\n", 3),
        ("2 2\na 1 2\n", 3),  # where a line is missing
        ("1 1\na nan\n", 3),  # after the last, where all of them are looked at
        ("2 1\na 1\na 2\n", 4),
    ):
        (tmp_path / "v.txt").write_text(content, encoding="utf-8")
        with pytest.raises(ValueError, match=f"v.txt, line {line}: not in word2vec's text format"):
            Vectors.load(tmp_path / "v.txt")


def test_other_files(tmp_path: Path, vectors: Vectors) -> None:
    with pytest.raises(FileNotFoundError, match="there is no file"):
        Vectors.load(tmp_path / "none.safetensors")
    (tmp_path / "other.safetensors").write_bytes(b"something else")
    with pytest.raises(ValueError, match="has no vectors of this program"):
        Vectors.load(tmp_path / "other.safetensors")


def test_what_is_no_set_of_vectors() -> None:
    for words, array in ((("a",), np.zeros((2, 2))), (("a", "a"), np.zeros((2, 2))), (("a",), np.full((1, 1), np.nan))):
        with pytest.raises(ValueError):
            Vectors(words, array)
