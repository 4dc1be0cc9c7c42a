"""From the attention of tokens to that of notes: what each note looked at when the model chose it.

Shapes: L layers, H heads, T tokens, N notes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import minigrad as mg

from ..programs.validation import Ids, pieces
from .languages import Written

MOST = 1 << 28  # numbers of a page's attention, in half precision: half a gigabyte


def attention_of_notes(model: Any, ids: Ids, written: Written, grid: int = 1) -> Ids | None:
    """How much each note looked at each other (L, H, N, N), float16; None if there are too many notes for a page.

    A model chooses a note at the position before the note's first token. That position's weights are added up over the
    tokens that belong to the same note: all cells of a held note in a chorale, the beginning and the end in a
    performance. What it gives to times, velocities and the beginning of the piece is left out. Where a piece is longer
    than the model's context, the window moves by half of itself.

    Args:
        ids: (T,). written: the notes in them. grid: windows begin at multiples of it.
    """
    count, config = len(written.notes), model.config
    if config.layers * config.heads * count**2 > MOST:
        return None
    result = np.zeros((config.layers, config.heads, count, count), np.float16)
    context, device = model.context, next(iter(model.parameters())).device
    for begin, first, end in pieces(len(ids), context, max(grid, context // 2), grid):
        chosen = np.flatnonzero((written.first > first) & (written.first <= end))
        if len(chosen):
            tokens = mg.from_numpy(ids[begin:end].astype(np.int64))[None].to(device)
            weights = model.weights(tokens)[:, 0].numpy()  # (L, H, T, T)
            rows = weights[:, :, written.first[chosen] - 1 - begin]
            owners, sums = by_owner(rows, written.owner[begin:end])
            result[:, :, chosen[:, None], owners] = sums
    return result


def by_owner(weights: Ids, owner: Ids) -> tuple[Ids, Ids]:
    """The sums of weights (..., T) of tokens with one owner (T,): the owners (U,), without -1, and sums (..., U)."""
    places = np.argsort(owner, kind="stable")
    places = places[owner[places] >= 0]
    owners, begins = np.unique(owner[places], return_index=True)
    if not len(owners):
        return owners, weights[..., :0]
    return owners, np.add.reduceat(weights[..., places], begins, axis=-1)
