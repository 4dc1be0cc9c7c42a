"""Linear layer and cross-entropy together, in chunks of rows: the logits are never whole in memory.

Where gradients are wanted they are made at once, chunk by chunk, for a loss gradient of 1, and scaled later. Rows that
do not count are left out from the start.
"""

from __future__ import annotations

import numpy as np

from ..compiled.loops import fits
from ..dtype import Array
from ..products import column_sums, matmul
from ..registry import xp
from . import Gradients, Needs, cross_entropy_numba, wanted

CHUNK_BYTES = 20 << 20  # of logits at a time: they fit into a third-level cache
LEAST_ROWS = 512  # at a time, as each chunk goes once through the whole weight
_SLOPE = True, False, False, False, False  # what cross-entropy needs


def forward(
    needs: Needs,
    x: Array,
    weight: Array,
    bias: Array | None,
    target: Array,
    ignore_index: int,
    smoothing: float,
    reduction: str,
) -> tuple[Array, Gradients]:
    if not fits(x, weight, bias):
        return NotImplemented
    counted = np.flatnonzero(target != ignore_index)
    rows, classes = (x, target) if len(counted) == len(target) else (x[counted], target[counted])
    share = 1.0 if reduction == "sum" else 1 / len(counted) if len(counted) else float("nan")
    losses = np.empty(len(rows), x.dtype)
    pairs = zip((x, weight, bias), needs[:3], strict=True)
    gradients = tuple(np.zeros_like(a, order="C") if need else None for a, need in pairs)
    most = max(LEAST_ROWS, CHUNK_BYTES // (len(weight) * x.itemsize))
    step = -(-len(rows) // max(1, -(-len(rows) // most)))  # chunks are alike, so that their memory is the same
    for start in range(0, len(rows), max(1, step)):
        some = slice(start, start + step)
        about = matmul(rows[some], weight.T, bias), classes[some], None, ignore_index, smoothing
        losses[some], saved = cross_entropy_numba.forward(_SLOPE, *about)
        if any(needs):
            g = np.full(len(losses[some]), share, x.dtype)
            slope = cross_entropy_numba.backward(_SLOPE, saved, g, *about)[0]
            dx, dweight, dbias = gradients
            if dx is not None:
                dx[counted[some]] = matmul(slope, weight)
            if dweight is not None:
                dweight += matmul(slope.T, rows[some])
            if dbias is not None:
                dbias += column_sums(slope)
    return np.asarray(losses.sum() * share, dtype=x.dtype), gradients


def backward(needs: Needs, saved: Gradients, g: Array, *args: Array) -> Gradients:
    """Copies for g = 1 too: a program may change a gradient, and then ask once more. 0 in ignored rows, for any g."""
    dx, dweight, dbias = saved
    counts = args[3] != args[4]
    rates = xp(g).where(counts, g, g.dtype.type(0))[:, None]
    return wanted(needs, *(None if d is None else d * f for d, f in ((dx, rates), (dweight, g), (dbias, g))))
