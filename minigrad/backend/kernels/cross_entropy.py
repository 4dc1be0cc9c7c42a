"""Cross-entropy row by row: the logits are read once forward, and once to make their gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtype import Array
from ..parallel import over_rows
from . import Gradients, Needs, wanted

_LONG = 4096  # up to this many elements are added one after the other


def forward(
    needs: Needs, logits: Array, target: Array, weight: Array | None, ignore_index: int, label_smoothing: float
) -> tuple[Array, tuple[Array, Array, Array]]:
    rows = np.ascontiguousarray(logits)
    loss, tops, totals, misses = np.empty((4, len(rows)), rows.dtype)
    index, factor = targets(target, weight, ignore_index, rows.dtype)

    def work(a: int, b: int) -> None:
        block = rows[a:b]
        top = row_max(block)
        below = block - top[:, None]
        powers = np.exp(below, out=None if label_smoothing else below)
        at = np.arange(b - a), index[a:b]
        total, loss[a:b], misses[a:b] = without_target(powers, at, top - block[at])
        loss[a:b] *= factor[a:b] * (1 - label_smoothing)
        if label_smoothing:
            loss[a:b] += _spread(below, np.log(total), weight) * (label_smoothing / rows.shape[1])
        tops[a:b], totals[a:b] = top, total

    with np.errstate(divide="ignore", invalid="ignore"):
        over_rows(work, len(rows), 2 * rows.itemsize * rows.shape[1])
    loss[target == ignore_index] = 0
    return loss, (tops, totals, misses)


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


def without_target(powers: Array, at: Any, depth: Array) -> tuple[Array, Array, Array]:
    """Σ e^(x - top), -ln p of the target, and 1 - p, which keeps its digits where p rounds to 1: the others' sum by
    itself. The largest x is never added to a logarithm, whose digits it would take.

    Args:
        powers: e^(x - top) of each row; it gets 0 at the targets.
        at: the targets' places. depth: how far below its row's largest x each target is, (rows,).
    """
    own = powers[at]
    powers[at] = 0
    others = row_sum(powers)
    total = others + own
    return total, np.logaddexp(0, np.log(others) + depth), others / total


def targets(target: Array, weight: Array | None, ignore_index: int, dtype: np.dtype[np.float64]) -> tuple[Array, Array]:
    """Each row's class (0 for an ignored one) and its weight (0 for an ignored one)."""
    ignored = target == ignore_index
    index = np.where(ignored, 0, target)
    factor = np.ones(len(index), dtype) if weight is None else weight[index]
    return index, np.where(ignored, dtype.type(0), factor)


def _spread(below: Array, log_total: Array, weight: Array | None) -> Array:
    """Σᵥ wᵥ (log Σ e - xᵥ): smoothing adds it for every class. ``below`` is x - top, and the logarithm that of its
    sum."""
    if weight is None:
        return log_total * below.shape[1] - row_sum(below)
    spread: Array = log_total * weight.sum() - below @ weight
    return spread


def backward(needs: Needs, saved: tuple[Array, Array, Array], g: Array, *args: Any) -> Gradients:
    logits, target, weight, ignore_index, label_smoothing = args
    rows = np.ascontiguousarray(logits)
    out, classes = np.empty_like(rows), rows.shape[1]
    top, total, miss = saved
    index, factor = targets(target, weight, ignore_index, rows.dtype)
    ignored = target == ignore_index
    g = np.where(ignored, rows.dtype.type(0), g)  # g is NaN after a mean over no rows
    hit = g * factor * (1 - label_smoothing)
    each = (g * (label_smoothing / classes) if label_smoothing else np.zeros_like(g)).astype(rows.dtype)
    spread = each * (classes if weight is None else weight.sum())
    each_power, at_target = (hit + spread) / total, spread * (1 - miss) - hit * miss  # p (hit + spread) - hit

    def work(a: int, b: int) -> None:
        block = np.subtract(rows[a:b], top[a:b, None], out=out[a:b])
        np.exp(block, out=block)
        block *= each_power[a:b, None]
        block[np.arange(b - a), index[a:b]] = at_target[a:b]
        if label_smoothing:
            block -= each[a:b, None] if weight is None else each[a:b, None] * weight

    over_rows(work, len(rows), 2 * rows.itemsize * classes)
    out[ignored & ~(total > 0)] = 0  # their logits are NaN, or all -inf
    return wanted(needs, out)
