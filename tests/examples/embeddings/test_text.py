"""Texts in numbers: what is a word, where texts end, what is left out, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from examples.embeddings import text
from examples.embeddings.text import BREAK, Corpus, from_file, shipped


def texts_of(corpus: Corpus) -> list[list[str]]:
    """The words of each text, as training sees them."""
    ids = corpus.ids.tolist()
    ends = [i for i, number in enumerate(ids) if number == BREAK]
    return [[corpus.words[i] for i in ids[a + 1 : b]] for a, b in zip([-1, *ends], ends, strict=False)]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "text.txt"


def test_words_and_paragraphs(file: Path) -> None:
    file.write_bytes("\ufeffThe dog’s bed, l'orso_x;\r\nÈ 42 dog\r\n \r\n\r\nThe the.\n".encode())
    corpus = from_file(file, least=1)
    assert texts_of(corpus) == [["the", "dog’s", "bed", "l'orso", "x", "è", "42", "dog"], ["the", "the"]]
    assert corpus.words[0] == "the" and corpus.counts[0] == 3 and corpus.size == 10


def test_rare_words_are_left_out_and_their_neighbours_meet(file: Path) -> None:
    file.write_text("a x b a y b c c z", encoding="utf-8")
    corpus = from_file(file, least=2)
    assert texts_of(corpus) == [["a", "b", "a", "b", "c", "c"]] and corpus.counts.tolist() == [2, 2, 2]
    assert from_file(file, least=1, vocabulary=2).words == ("a", "b")
    file.write_text("a b\nc d\n", encoding="utf-8")
    assert texts_of(from_file(file, 1, every_line=True)) == [["a", "b"], ["c", "d"]]
    assert texts_of(from_file(file, 1)) == [["a", "b", "c", "d"]]


def test_blocks_join_without_a_seam(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = [[f"wörd{i * j % 17}" for j in range(1, i % 23 + 2)] for i in range(60)]
    file.write_text("\n\n".join(map(" ".join, written)), encoding="utf-8")
    for size in (64, 65, 66, 997):
        monkeypatch.setattr(text, "BLOCK", size)
        words = [word for one in texts_of(from_file(file, 1)) for word in one]
        assert words == [word for one in written for word in one]
    assert texts_of(from_file(file, 1)) == written  # where no text is longer than a block


def test_many_different_words_forget_the_rarest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "MOST", 10)
    counts = text._counted([["a", "b"] * 5, [f"rare{i}" for i in range(30)], ["a", "b"]])
    assert counts["a"] == counts["b"] == 6 and len(counts) <= 10


def test_what_is_refused(file: Path) -> None:
    for content, message in (
        (b"", "has no different words"),
        (b"one one one", "has 1 different words that occur 1 times or more"),
        (b"one\n\ntwo\n\none", "no two words beside each other"),
        (b"caf\xe9 au lait", "not text in UTF-8 .byte 0xe9.*iconv"),
        (b"\x7fELF\0\0\0 a b c", "is a binary file"),
        (b"a b\xc3", "not text in UTF-8"),
    ):
        file.write_bytes(content)
        with pytest.raises(ValueError, match=message):
            from_file(file, least=1)


def test_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FileNotFoundError, match="there is no file"):
        from_file(tmp_path / "missing.txt")
    with pytest.raises(ValueError, match="is a folder"):
        from_file(tmp_path)
    monkeypatch.setattr(text, "BLOCK", 100)
    (tmp_path / "long.txt").write_text("x" * 1000, encoding="utf-8")
    with pytest.raises(ValueError, match="a word of more than 100 letters"):
        from_file(tmp_path / "long.txt")


def test_the_shipped_corpus() -> None:
    corpus = shipped("italian", 500)
    assert {"gatto", "l'", "è"} <= set(corpus.words) and not {".", "?", ","} & set(corpus.words)
    assert len(texts_of(corpus)) == 500 and corpus.size == len(corpus.ids) - 500
    assert np.array_equal(np.bincount(corpus.ids[corpus.ids >= 0]), corpus.counts)
    assert corpus.digest == shipped("italian", 500).digest != shipped("italian", 501).digest
