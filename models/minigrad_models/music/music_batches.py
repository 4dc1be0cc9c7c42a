"""The batches of a training: windows of pieces, which every epoch transposes, stretches and cuts anew."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import minigrad as mg
from minigrad import Tensor

from ..programs.validation import NONE, Batch, Ids, moved
from .languages import Language
from .music_data import Piece
from .notes import PITCHES


def loss(model: Any, batch: Batch) -> tuple[Tensor, float]:
    """The mean cross-entropy of a batch, and the number of its targets."""
    return model.loss(batch.tokens, batch.targets, NONE), float(batch.weight)


class Windows:
    """The batches of a training. Each depends on the seed, the epoch and its number alone, so that a run can be resumed
    at any of them.

    An epoch has every token of every piece. A piece is cut at a place that changes with the epoch, at multiples of
    ``grid``, so that a window's first place is always one of the same voice and part of a bar. The first window begins
    with the piece and may overlap with the second, and the last is moved back until it is full, as far as the grid
    allows: only what is missing at the end of a piece is padding, with targets that do not count.

    Args:
        language, pieces: to learn from.
        window: T, a multiple of ``grid``. batch: B; the rest of an epoch, fewer, is left out, if there is more.
        transpose: N, for -N to N - 1 semitones, as far as MIDI has them; a version is drawn, too.
        seed: of everything drawn. device: of the batches.

    Raises:
        ValueError: no piece has a note.
    """

    def __init__(
        self,
        language: Language,
        pieces: Sequence[Piece],
        window: int,
        batch: int,
        grid: int = 1,
        transpose: int = 0,
        seed: int = 0,
        device: str = "cpu",
    ) -> None:
        self.language, self.pieces = language, [piece for piece in pieces if len(piece.versions[0]) > 1]
        if not self.pieces:
            raise ValueError("there is no note to learn from")
        self.window, self.batch, self.grid, self.seed, self.device = window, batch, grid, seed, device
        lowest = np.array([max(-transpose, 1 - piece.low) for piece in self.pieces])
        highest = np.array([min(max(transpose - 1, 0), PITCHES - 1 - piece.high) for piece in self.pieces])
        self.least, self.most = np.minimum(lowest, 0), np.maximum(highest, 0)

    def epoch(self, number: int, start: int = 0) -> Iterator[Batch]:
        """The batches of an epoch, from number ``start`` on."""
        generator = np.random.default_rng([self.seed % 2**64, number])
        ids, lengths = self.music(generator)
        begins, ends = self.cuts(lengths, generator)
        order = generator.permutation(len(begins))
        for i in range(start, max(1, len(order) // self.batch)):
            rows = order[i * self.batch : (i + 1) * self.batch]
            yield self.rows(ids, begins[rows], ends[rows])

    def music(self, generator: np.random.Generator) -> tuple[Ids, Ids]:
        """All pieces as an epoch plays them, one after another, and the length of each."""
        shifts = generator.integers(self.least, self.most + 1)
        choices = generator.integers([len(piece.versions) for piece in self.pieces])
        versions = [piece.versions[i] for piece, i in zip(self.pieces, choices.tolist(), strict=True)]
        lengths = np.array([len(ids) for ids in versions])
        return self.language.moved(np.concatenate(versions), np.repeat(shifts, lengths)), lengths

    def cuts(self, lengths: Ids, generator: np.random.Generator) -> tuple[Ids, Ids]:
        """Where windows begin, and where the pieces end that they are of."""
        offsets = self.grid * generator.integers(self.window // self.grid, size=len(lengths))
        begins, ends = [], []
        for place, length, offset in zip(np.cumsum(lengths) - lengths, lengths.tolist(), offsets.tolist(), strict=True):
            last = -(-max(0, length - 1 - self.window) // self.grid) * self.grid  # the earliest that reaches the end
            inside = np.unique(np.arange(offset - self.window, last + self.window, self.window).clip(0, last))
            begins.append(place + inside)
            ends.append(np.full(len(inside), place + length))
        return np.concatenate(begins), np.concatenate(ends)

    def rows(self, ids: Ids, begins: Ids, ends: Ids) -> Batch:
        """The windows that begin at some places (B,), up to the ends of their pieces (B,)."""
        places = begins[:, None] + np.arange(self.window + 1)  # (B, T + 1)
        inside = places < ends[:, None]
        rows = np.where(inside, ids[np.minimum(places, len(ids) - 1)], 0).astype(np.int64)
        parts = rows[:, :-1].copy(), np.where(inside[:, 1:], rows[:, 1:], NONE)
        tokens, targets = moved(self.device, *map(mg.from_numpy, parts))
        return Batch(tokens, targets, int(inside[:, 1:].sum()))
