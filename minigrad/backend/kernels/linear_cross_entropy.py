"""Linear layer and cross-entropy together, in chunks of rows: the logits are never whole in memory.

Where gradients are wanted they are made at once, chunk by chunk, for a loss gradient of 1, and scaled later. Each chunk
goes through the kernels of both ops, compiled or not. Rows that do not count are left out from the start.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtype import Array
from ..registry import of, xp
from . import Gradients, Needs, linear, wanted

CHUNK_BYTES = 20 << 20  # of logits at a time: they fit into a third-level cache
LEAST_ROWS = 512  # at a time, as each chunk goes once through the whole weight


def forward(needs: Needs, *args: Any) -> tuple[Array, Gradients]:
    x, weight, bias, target, ignore_index, smoothing, reduction = args
    counted = np.flatnonzero(target != ignore_index)
    rows, classes = (x, target) if len(counted) == len(target) else (x[counted], target[counted])
    if len(rows) and not 0 <= classes.min() <= classes.max() < len(weight):
        raise IndexError(f"linear_cross_entropy: a target is no class: there are {len(weight)}")
    share = 1.0 if reduction == "sum" else 1 / len(counted) if len(counted) else float("nan")
    losses = np.empty(len(rows), x.dtype)
    gradients = tuple(
        np.zeros_like(a, order="C") if need else None for a, need in zip((x, weight, bias), needs, strict=False)
    )
    most = max(LEAST_ROWS, CHUNK_BYTES // max(1, len(weight) * x.itemsize))
    step = -(-len(rows) // max(1, -(-len(rows) // most)))  # chunks are alike, so that their memory is the same
    for start in range(0, len(rows), max(1, step)):
        some = slice(start, start + step)
        logits, _ = linear.forward((), rows[some], weight, bias)
        about = logits, classes[some], None, ignore_index, smoothing
        losses[some], saved, kernel = _cross_entropy(about)
        if any(needs):
            g = np.full(len(logits), share, x.dtype)
            slope = kernel.backward((True, *(False,) * 4), saved, g, *about)[0]
            parts = linear.backward(needs[:3], None, slope, rows[some], weight, bias)
            for total, part, place in zip(gradients, parts, (counted[some], ..., ...), strict=True):
                if total is not None:
                    total[place] += part
    return np.asarray(losses.sum() * share, dtype=x.dtype), gradients


def _cross_entropy(about: tuple[Any, ...]) -> tuple[Array, Any, Any]:
    """The losses of logits, what their kernel keeps, and the kernel: the first that takes them."""
    for kernel in of(about[0]).kernels("cross_entropy"):
        result = kernel.forward((True, *(False,) * 4), *about)
        if result is not NotImplemented:
            break
    return *result, kernel


def backward(needs: Needs, saved: Gradients, g: Array, *args: Any) -> Gradients:
    """Copies for g = 1 too: a program may change a gradient, and then ask once more. 0 in ignored rows, for any g."""
    dx, dweight, dbias = saved
    counts = args[3] != args[4]
    rates = xp(g).where(counts, g, g.dtype.type(0))[:, None]
    return wanted(needs, *(None if d is None else d * f for d, f in ((dx, rates), (dweight, g), (dbias, g))))
