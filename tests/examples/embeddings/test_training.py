"""Numbered texts, batches and training: runs resume bitwise, and the vectors show the classes of words."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from examples.embeddings.text import BREAK, Corpus, from_file, numbered, shipped
from examples.embeddings.train_embeddings import Batch, Pieces, Settings, train
from minigrad_models.training import RunFolder
from tests.support.cases import raises


def texts_of(corpus: Corpus) -> list[list[str]]:
    """The words of each text, as the training loop sees them."""
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


def test_words_around_a_dropped_rare_word_become_adjacent(file: Path) -> None:
    file.write_text("a x b a y b c c z", encoding="utf-8")
    corpus = from_file(file, least=2)
    assert texts_of(corpus) == [["a", "b", "a", "b", "c", "c"]] and corpus.counts.tolist() == [2, 2, 2]
    assert from_file(file, least=1, vocabulary=2).words == ("a", "b")
    file.write_text("a b\nc d\n", encoding="utf-8")
    assert texts_of(from_file(file, 1)) == [["a", "b", "c", "d"]]


def test_invalid_files(file: Path) -> None:
    for content, message in (
        (b"", "has no distinct words"),
        (b"one one one", "has 1 distinct words that occur 1 times or more"),
        (b"one\n\ntwo\n\none", "no pairs of words"),
        (b"caf\xe9 au lait", "not UTF-8 text .byte 0xe9.*iconv"),
        (b"a b\xc3", "not UTF-8 text"),
    ):
        file.write_bytes(content)
        raises(ValueError, message, lambda: from_file(file, least=1))


def test_no_file(tmp_path: Path) -> None:
    raises(FileNotFoundError, "file not found", lambda: from_file(tmp_path / "missing.txt"))
    raises(IsADirectoryError, None, lambda: from_file(tmp_path))


def test_the_shipped_corpus() -> None:
    corpus = shipped("italian", 500)
    assert {"gatto", "l'", "è"} <= set(corpus.words) and not {".", "?", ","} & set(corpus.words)
    assert len(texts_of(corpus)) == 500 and corpus.size == len(corpus.ids) - 500
    assert np.array_equal(np.bincount(corpus.ids[corpus.ids >= 0]), corpus.counts)
    assert corpus.digest == shipped("italian", 500).digest != shipped("italian", 501).digest


CLASSES, MEMBERS, TEXTS = 4, 5, 3000
SMALL = Settings(width=16, epochs=6, subsample=float("inf"), piece=1024)


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    """Texts such as a0 b3 c1 d2: any word of one class is followed by any word of the next."""
    members = np.random.default_rng(0).integers(0, MEMBERS, (TEXTS, CLASSES))
    texts = [[f"{'abcd'[i]}{one}" for i, one in enumerate(row)] for row in members.tolist()]
    return numbered("classes", texts, 1, None)


@pytest.mark.nightly
def test_words_of_a_class_become_nearest(corpus: Corpus) -> None:
    trained = train(corpus, replace(SMALL, window=2, rate=0.05), progress=False)
    for word in trained.vectors.words:
        near = [other[0] for other, _ in trained.vectors.nearest(word, MEMBERS - 1)]
        assert near == [word[0]] * (MEMBERS - 1)
    assert trained.losses[-1][1] < trained.losses[0][1] and trained.speed > 0


def test_the_batch_at_a_position_is_always_the_same(corpus: Corpus) -> None:
    pieces = Pieces(corpus, SMALL)
    whole, rest = list(pieces.epoch(1)), list(pieces.epoch(1, 3))
    assert len(whole) == len(pieces) == len(rest) + 3
    for one, other in zip(whole[3:], rest, strict=True):
        assert all((a == b).all() for a, b in zip(one[:3], other[:3], strict=True)) and one.read == other.read
    assert sum(batch.read for batch in whole) == corpus.size
    first, again = next(iter(whole)), next(pieces.epoch(2))
    assert len(first.word) != len(again.word) or (first.word != again.word).any()


def test_pairs_occur_in_the_text_and_groups_share_noise(corpus: Corpus) -> None:
    batch = next(Pieces(corpus, replace(SMALL, window=1, shared=7, negatives=3)).epoch(0))
    letters = np.array([ord(word[0]) for word in corpus.words])
    steps = abs(letters[batch.word] - letters[batch.context])
    assert set(steps.tolist()) == {1}  # with a window of 1, a is only next to b
    assert len(batch.word) == 7 * len(batch.noise) and batch.noise.shape[1] == 7


def test_frequent_words_are_subsampled(corpus: Corpus) -> None:
    t = 0.25 / len(corpus.words)  # all words are about as frequent: half of them are kept
    alone = replace(SMALL, window=1)
    pairs = [sum(len(b.word) for b in Pieces(corpus, replace(alone, subsample=x)).epoch(0)) for x in (float("inf"), t)]
    # Pairs left of a text's 6, if 4, 3 or 2 words are kept: 6/16 + 4 · 4/16 + 6 · 2/16 = 2.125.
    assert pairs[1] / pairs[0] == pytest.approx(2.125 / 6, rel=0.05)


def test_a_killed_run_gives_the_same_vectors(corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = replace(SMALL, epochs=1)
    expected = train(corpus, settings, progress=False).vectors.array
    assert (train(corpus, replace(settings, seed=1), progress=False).vectors.array != expected).any()
    real, calls = Pieces.batch, []

    def failing(self: Pieces, *place: object) -> Batch:
        calls.append(place)
        if len(calls) == 5:
            raise RuntimeError("killed")
        return real(self, *place)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(Pieces, "batch", failing)
        raises(RuntimeError, "killed", lambda: train(corpus, settings, tmp_path, progress=False))
    assert RunFolder(tmp_path).last.exists()
    assert (train(corpus, settings, tmp_path, progress=False).vectors.array == expected).all()
    raises(ValueError, None, lambda: train(corpus, replace(settings, width=8), tmp_path, progress=False))


def test_wrong_settings() -> None:
    wrong: list[dict[str, Any]] = [{"width": 0}, {"window": 0}, {"epochs": 0}, {"subsample": 0.0}, {"rate": -1.0}]
    wrong += [{name: 10**18} for name in ("width", "window", "negatives", "epochs", "piece", "shared")]
    for settings in wrong:
        raises(ValueError, f"{next(iter(settings))} must be", partial(Settings, **settings))
