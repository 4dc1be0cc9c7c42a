"""The attention of notes, from that of tokens."""

from __future__ import annotations

import numpy as np
import pytest

import minigrad as mg
from examples.music.attention import attention_of_notes, by_owner
from examples.music.languages import LANGUAGES
from minigrad.models.music_transformer import Config, MusicTransformer
from tests.support.music import chorale, scale

PIECES = {"chorales": chorale(2, 12), "performance": scale(60, 12)}


def model_of(kind: str, positions: int) -> MusicTransformer:
    mg.manual_seed(0)
    sizes = {"d_model": 16, "heads": 2, "layers": 2, "d_ff": 16, "dropout": 0.0, "distances": 8}
    return MusicTransformer(Config(LANGUAGES[kind].vocabulary, positions, **sizes)).eval()  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", LANGUAGES)
def test_a_note_has_the_sums_of_the_position_that_chose_it(kind: str) -> None:
    ids = LANGUAGES[kind].encode(PIECES[kind])
    written, model = LANGUAGES[kind].decode(ids), model_of(kind, 256)
    weights = model.weights(mg.from_numpy(ids)[None])[:, 0].numpy()  # (L, H, T, T)
    notes = attention_of_notes(model, ids, written)
    assert notes is not None and notes.shape == (2, 2, len(written.notes), len(written.notes))
    for n, first in enumerate(written.first.tolist()):
        for m in range(len(written.notes)):
            expected = weights[:, :, first - 1, written.owner == m].sum(-1)
            np.testing.assert_allclose(notes[:, :, n, m], expected, atol=2e-3)
    assert (np.triu(notes) == 0).all(), "nothing is seen of itself, and of what comes later"
    assert notes.sum(-1).max() <= 1.001


def test_past_the_context_the_window_moves() -> None:
    """Each note is chosen by what its window has: half of it at least."""
    language = LANGUAGES["chorales"]
    ids = language.encode(chorale(4, 24))
    written, model = language.decode(ids), model_of("chorales", 32)
    notes = attention_of_notes(model, ids, written, grid=16)
    assert notes is not None
    place = int(np.flatnonzero(written.first > 64)[0])
    begin = 16 * -(-(int(written.first[place]) - 32) // 16)
    weights = model.weights(mg.from_numpy(ids[begin : begin + 32])[None])[:, 0].numpy()
    row = weights[:, :, written.first[place] - 1 - begin]
    owners, sums = by_owner(row, written.owner[begin : begin + 32])
    np.testing.assert_allclose(notes[:, :, place, owners], sums, atol=2e-3)


def test_tokens_of_nobody_are_left_out() -> None:
    owners, sums = by_owner(np.array([[1.0, 2.0, 4.0, 8.0]]), np.array([3, -1, 0, 3]))
    assert owners.tolist() == [0, 3] and sums.tolist() == [[4.0, 9.0]]
    owners, sums = by_owner(np.ones((2, 1)), np.array([-1]))
    assert owners.shape == (0,) and sums.shape == (2, 0)
