"""The sums of rows by index, an embedding's gradient. Rows are sorted by index, so each result row is written once. A
thread owns some result rows and adds to them in the original order, so sums do not depend on the number of threads."""

from __future__ import annotations

import numpy as np

from ..compiled.loops import FLOAT32, Indices, Rows, fits, grain, laid, loop
from ..dtype import Array
from . import Needs


@loop
def arrange(start: int, stop: int, indices: Indices, ends: Indices, order: Indices) -> None:
    """A counting sort. ``order`` gets the positions of index 0, then of index 1, and so on. The positions of index i
    end at ``ends[i + 1]``. ``ends[0]`` becomes 1 if an index is out of range."""
    rows = ends.size - 1
    for i in range(rows + 1):
        ends[i] = 0
    for k in range(indices.size):
        if indices[k] < 0 or indices[k] >= rows:
            ends[0] = 1
            return
        ends[indices[k] + 1] += 1
    before = 0
    for i in range(1, rows + 1):
        before, ends[i] = before + ends[i], before
    for k in range(indices.size):
        order[ends[indices[k] + 1]] = k
        ends[indices[k] + 1] += 1


@loop
def add_up(start: int, stop: int, x: Rows, order: Indices, ends: Indices, out: Rows) -> None:
    """out[i] = the sum of the rows of x whose index is i."""
    width = out.shape[1]
    for i in range(start, stop):
        first, end = ends[i] if i else 0, ends[i + 1]
        if first == end:
            for j in range(width):
                out[i, j] = np.float32(0.0)
            continue
        a = order[first]
        for j in range(width):
            out[i, j] = x[a, j]
        whole = end - (end - first - 1) % 4
        for k in range(first + 1, whole, 4):
            a, b, c, d = order[k], order[k + 1], order[k + 2], order[k + 3]
            for j in range(width):
                out[i, j] += (x[a, j] + x[b, j]) + (x[c, j] + x[d, j])
        for k in range(whole, end):
            a = order[k]
            for j in range(width):
                out[i, j] += x[a, j]


def forward(needs: Needs, x: Array, indices: Array, rows: int) -> tuple[Array, None]:
    if not fits(x) or rows < 1:
        return NotImplemented
    indices = indices.astype(np.int64)
    ends, order = np.empty(rows + 1, np.int64), np.empty(indices.size, np.int64)
    arrange(1, 1, indices, ends, order)
    if ends[0]:
        return NotImplemented
    out = np.empty((rows, x.shape[1]), FLOAT32)
    add_up(rows, grain(rows, 8 * x.shape[1]), laid(x), order, ends, out)
    return out, None
