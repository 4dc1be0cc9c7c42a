"""Cross-entropy row by row: the logits are read once forward, and once to make their gradient."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..dtype import Array
from ..parallel import over_rows
from . import Gradients, Needs

_LONG = 4096  # up to this many elements are added one after the other


def forward(
    needs: Needs, logits: Array, target: Array, weight: Array | None, ignore_index: int, label_smoothing: float
) -> tuple[Array, Any]:
    rows, kept = np.ascontiguousarray(logits), target != ignore_index
    index, results = np.where(kept, target, 0), np.empty((4, len(rows)), rows.dtype)
    factor = kept.astype(rows.dtype) if weight is None else np.where(kept, weight[index], rows.dtype.type(0))
    work = partial(_losses, rows, index, factor, weight, label_smoothing, results)
    with np.errstate(divide="ignore", invalid="ignore"):
        over_rows(work, len(rows), 2 * rows.itemsize * rows.shape[1])
    results[0, ~kept] = 0
    return results[0], (index, factor, *results[1:])


def row_max(block: Array) -> Array:
    """The largest of each row, (rows,); 0 for a row that is all -inf (then x - max stays -inf, not NaN)."""
    top = block.max(axis=1)
    return np.where(np.isneginf(top), top.dtype.type(0), top)


def row_sum(block: Array) -> Array:
    """The sum of each row, (rows,): of short rows a product, as BLAS is faster than ``sum``, which keeps more digits of
    long ones."""
    if block.shape[1] <= _LONG:
        return block @ np.ones(block.shape[1], block.dtype)
    total: Array = block.sum(axis=1)
    return total


def _losses(
    rows: Array, index: Array, factor: Array, weight: Array | None, smoothing: float, results: Array, a: int, b: int
) -> None:
    """Of rows [a, b): the loss, the largest x, Σ e^(x - top), and 1 - p of the target, as the sum of the others, which
    keeps its digits where p rounds to 1. The largest x is never added to a logarithm, whose digits it would take."""
    block, at = rows[a:b], (np.arange(b - a), index[a:b])
    top = row_max(block)
    below = block - top[:, None]
    powers = np.exp(below, out=None if smoothing else below)
    own = powers[at]
    powers[at] = 0
    others = row_sum(powers)
    total = others + own
    loss = np.logaddexp(0, np.log(others) + (top - block[at])) * (factor[a:b] * (1 - smoothing))
    if smoothing:
        loss += _spread(below, np.log(total), weight) * (smoothing / rows.shape[1])
    results[:, a:b] = loss, top, total, others / total


def _spread(below: Array, log_total: Array, weight: Array | None) -> Array:
    """Σᵥ wᵥ (log Σ e - xᵥ): smoothing adds it for every class. ``below`` is x - top, and the logarithm that of its
    sum."""
    if weight is None:
        return log_total * below.shape[1] - row_sum(below)
    spread: Array = log_total * weight.sum() - below @ weight
    return spread


def backward(needs: Needs, saved: Any, g: Array, *args: Any) -> Gradients:
    logits, target, weight, ignore_index, smoothing = args
    rows, (index, factor, top, total, miss) = np.ascontiguousarray(logits), saved
    ignored, classes, out = target == ignore_index, rows.shape[1], np.empty_like(rows)
    g = np.where(ignored, rows.dtype.type(0), g)  # g is NaN after a mean over no rows
    hit = g * factor * (1 - smoothing)
    each = (g * (smoothing / classes) if smoothing else np.zeros_like(g)).astype(rows.dtype)  # 0 · ∞ would be NaN
    spread = each * (classes if weight is None else weight.sum())
    columns = top, (hit + spread) / total, spread * (1 - miss) - hit * miss, each  # p (hit + spread) - hit
    work = partial(_slopes, rows, out, index, columns, 1 if weight is None else weight)
    over_rows(work, len(rows), 2 * rows.itemsize * classes)
    out[ignored & ~(total > 0)] = 0  # their logits are NaN, or all -inf
    return (out,)


def _slopes(rows: Array, out: Array, index: Array, columns: tuple[Array, ...], weight: Any, a: int, b: int) -> None:
    top, power, at_target, each = (column[a:b] for column in columns)
    block = np.subtract(rows[a:b], top[:, None], out=out[a:b])
    np.exp(block, out=block)
    block *= power[:, None]
    block[np.arange(b - a), index[a:b]] = at_target
    if each.any():
        block -= each[:, None] * weight
