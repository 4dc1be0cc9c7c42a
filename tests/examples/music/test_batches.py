"""Windows of pieces: each epoch is another, and the same whenever it is asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from examples.music.batches import Windows
from examples.music.data import piece_of
from examples.music.languages import Chorales
from minigrad.programs.validation import NONE

LANGUAGE = Chorales()
LENGTHS = (9, 16, 25, 40)  # steps


def windows(**options: Any) -> Windows:
    pieces = []
    for number, steps in enumerate(LENGTHS):
        grid = np.random.default_rng(number).integers(40, 80, size=(steps, 4))
        pieces.append(piece_of(LANGUAGE, (LANGUAGE.encode(grid),)))
    return Windows(LANGUAGE, pieces, **{"window": 32, "batch": 2, "grid": 16, **options})


def lists(batches: Windows, number: int, start: int = 0) -> list[Any]:
    return [(batch.tokens.tolist(), batch.targets.tolist()) for batch in batches.epoch(number, start)]


def test_batches_are_functions_of_their_place() -> None:
    whole = lists(windows(transpose=3), 3)
    assert lists(windows(transpose=3), 3, 2) == whole[2:]
    assert lists(windows(transpose=3), 4) != whole
    assert lists(windows(transpose=3, seed=1), 3) != whole


def test_targets_are_the_next_tokens() -> None:
    for batch in windows().epoch(0):
        assert batch.tokens.shape == batch.targets.shape == (2, 32)
        tokens, targets = batch.tokens.numpy(), batch.targets.numpy()
        counts = targets[:, :-1] != NONE
        np.testing.assert_array_equal(tokens[:, 1:][counts], targets[:, :-1][counts])


def test_an_epoch_has_every_token_of_every_piece() -> None:
    """A piece that counts: each of its tokens is another."""
    batches = windows(batch=1)
    flat, lengths = batches.music(np.random.default_rng(0))
    for seed in range(20):
        begins, ends = batches.cuts(lengths, np.random.default_rng(seed))
        covered = np.zeros(len(flat), bool)
        for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
            covered[begin + 1 : min(begin + 33, end)] = True
        firsts = np.cumsum(lengths) - lengths
        assert np.flatnonzero(~covered).tolist() == firsts.tolist(), "the beginning alone is no target"
        pieces = np.searchsorted(firsts, begins, side="right") - 1
        assert ((begins - firsts[pieces]) % 16 == 0).all(), "windows begin on the grid"
        assert (ends == (firsts + lengths)[pieces]).all()


def test_pieces_are_transposed_as_a_whole() -> None:
    plain, moved = windows(batch=1), windows(batch=1, transpose=6)
    lengths = plain.music(np.random.default_rng(0))[1]
    one = plain.music(np.random.default_rng(0))[0]
    seen = set()
    for seed in range(40):
        other = moved.music(np.random.default_rng(seed))[0]
        for difference in np.split(other - one, np.cumsum(lengths)[:-1]):
            assert difference[0] == 0 and len(set(difference[1:].tolist())) == 1
            seen.add(int(difference[1]))
    assert seen == set(range(-6, 6)), "twelve keys"


def test_nothing_to_learn_from() -> None:
    with pytest.raises(ValueError, match="no note to learn from"):
        Windows(LANGUAGE, [piece_of(LANGUAGE, (np.array([LANGUAGE.begin]),))], 32, 1)
