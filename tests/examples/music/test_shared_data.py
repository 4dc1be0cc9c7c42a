"""Real music: Bach's chorales, and a pianist's performances, as a training reads them."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from examples.music.batches import Windows
from examples.music.data import Corpus, read
from examples.music.languages import LANGUAGES
from examples.music.settings import Settings
from minigrad.programs.validation import NONE

DATA = Path(os.environ.get("MINIGRAD_DATA", Path(__file__).parents[4] / "shared" / "data"))


@pytest.mark.skipif(not (DATA / "jsb").is_dir(), reason="no jsb: set MINIGRAD_DATA to its parent")
def test_bachs_chorales() -> None:
    corpus = read(Settings.preset("chorales").data)
    assert [len(corpus.part(part)) for part in ("train", "valid", "test")] == [229, 76, 77]
    assert sum(len(ids) - 1 for ids in corpus.valid) == 4 * 18_408, "cells of the note-wise loss"
    assert [low for low, _ in corpus.ranges] == sorted((low for low, _ in corpus.ranges), reverse=True)


@pytest.fixture(scope="module")
def performances() -> Corpus:
    """Those of the preset, read once: that takes some seconds."""
    if not (DATA / "midi").is_dir():
        pytest.skip("no midi: set MINIGRAD_DATA to its parent")
    return read(Settings.preset("piano").data)


def test_performances(performances: Corpus) -> None:
    corpus = performances
    assert len(corpus.train) == len(corpus.valid) == len(list((DATA / "midi").glob("*.mid")))
    assert all(len(piece.versions) == 5 for piece in corpus.train)
    batches = Windows(LANGUAGES["performance"], corpus.train, 512, 8, transpose=3)
    counts = [int((batch.targets != NONE).sum()) for batch in batches.epoch(0)]
    tokens = sum(len(piece.versions[0]) for piece in corpus.train)
    assert 0.9 * tokens < sum(counts) < 1.2 * tokens
    assert max(int(batch.tokens.max()) for batch in batches.epoch(1)) <= 388


def test_each_event_of_a_performance_has_its_note(performances: Corpus) -> None:
    language = LANGUAGES["performance"]
    for piece in performances.train:
        written = language.decode(piece.versions[0])
        counts = np.bincount(written.owner[written.owner >= 0], minlength=len(written.notes))
        assert (counts == 2).all(), "a note has a beginning and an end"
