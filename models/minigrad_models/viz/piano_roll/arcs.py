"""What each note looked at, without what is small: of all earlier notes the few largest, by layer and head."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from minigrad.backend.host import host
from minigrad.viz.numbers import Array, checked_number

KEPT = 8  # earlier notes of a layer, head and note
MOST = 4_000_000  # weights in a page: some 20 MB
NONE = -1  # in place of a note, where a note looked at fewer
_CELLS = 1 << 21  # weights that are sorted at once


@dataclass(frozen=True)
class Arcs:
    """The largest weights of N notes in L layers of H heads, and behind these of each layer's mean over its heads.

    Attributes:
        notes: (L, H + 1, N, K) int32: the earlier notes that a note looked at, by falling weight; then NONE.
        weights: (L, H + 1, N, K) float32: how much.
    """

    notes: Array
    weights: Array

    @property
    def layers(self) -> int:
        """How many there are."""
        return len(self.notes)

    @property
    def heads(self) -> int:
        """How many a layer has."""
        return self.notes.shape[1] - 1

    def of(self, note: int, layer: int = 0, head: int | None = None) -> list[tuple[int, float]]:
        """The notes that a note looked at, and their weights, the largest first; ``head``: None for the mean of all.
        Raises ValueError: there is no such note, layer or head."""
        layer = checked_number("layer", layer, self.layers)
        head = self.heads if head is None else checked_number("head", head, self.heads)
        place = (layer, head, checked_number("note", note, self.notes.shape[2]))
        pairs = zip(self.notes[place].tolist(), self.weights[place].tolist(), strict=True)
        return [(other, weight) for other, weight in pairs if other != NONE]


def arcs_of(attention: Any, count: int) -> Arcs:
    """The arcs in the attention (L, H, N, N) of ``count`` notes. Raises ValueError: another shape, weights that are
    negative or no finite numbers, too many for a page."""
    array = host(attention)
    shape = array.shape
    if array.ndim != 4 or shape[2:] != (count, count) or 0 in shape:
        raise ValueError(f"attention is (layers, heads, {count}, {count}) for {count} notes, not {shape}")
    if array.dtype.kind not in "fiub":
        raise ValueError(f"attention must be real numbers, not {array.dtype}")
    layers, heads, kept = shape[0], shape[1], min(KEPT, count)
    if (size := layers * (heads + 1) * count * kept) > MOST:
        raise ValueError(f"{size:,} weights are too many for a page, which holds {MOST:,}: take fewer layers or heads")
    arcs = Arcs(
        np.full((layers, heads + 1, count, kept), NONE, np.int32),
        np.zeros((layers, heads + 1, count, kept), np.float32),
    )
    many = max(_CELLS // (heads * count), 1)
    for layer in range(layers):
        for start in range(0, count, many):
            part = slice(start, min(start + many, count))
            rows = array[layer, :, part].astype(np.float32)
            _check(rows, layer, start)
            arcs.notes[layer, :, part], arcs.weights[layer, :, part] = _largest(rows[..., : part.stop], start, kept)
    return arcs


def _check(rows: Array, layer: int, start: int) -> None:
    """Raises ValueError: one of the weights (H, R, N) of the rows from ``start`` on is none."""
    wrong = ~np.isfinite(rows) | (rows < 0)
    if wrong.any():
        head, row, column = np.argwhere(wrong)[0].tolist()
        raise ValueError(
            f"attention must be finite and not negative: in layer {layer}, head {head}, note {start + row} has the "
            f"weight {rows[head, row, column]:g} for note {column}"
        )


def _largest(rows: Array, start: int, kept: int) -> tuple[Array, Array]:
    """Of rows (H, R, N) from the note ``start`` on, and of their mean: notes and weights (H + 1, R, K)."""
    count, width = rows.shape[1:]
    later = np.arange(width) >= np.arange(start, start + count)[:, None]  # (R, N): itself, too
    rows = np.where(later, 0, np.concatenate([rows, rows.mean(0, keepdims=True)]))
    kept_here = min(kept, width)
    places = np.argpartition(-rows, kept_here - 1, axis=-1)[..., :kept_here]
    places.sort(-1)  # of equal weights the earlier note comes first
    weights = np.take_along_axis(rows, places, -1)
    order = np.argsort(-weights, axis=-1, kind="stable")
    places, weights = np.take_along_axis(places, order, -1), np.take_along_axis(weights, order, -1)
    wide = [(0, 0), (0, 0), (0, kept - kept_here)]
    return np.pad(np.where(weights > 0, places, NONE), wide, constant_values=NONE), np.pad(weights, wide)
