"""Cross-entropy row by row: the logits are read once forward, and once to make their gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtype import Array
from ..parallel import over_rows
from . import Gradients, Needs, wanted
from ._rows import row_max, row_sum


def forward(
    needs: Needs, logits: Array, target: Array, weight: Array | None, ignore_index: int, label_smoothing: float
) -> tuple[Array, tuple[Array, Array]]:
    rows = np.ascontiguousarray(logits)
    loss, log_total, miss = np.empty((3, len(rows)), rows.dtype)
    index, factor = targets(target, weight, ignore_index, rows.dtype)

    def work(a: int, b: int) -> None:
        block = rows[a:b]
        top = row_max(block)
        powers = np.exp(block - top[:, None])
        at = np.arange(b - a), index[a:b]
        log_total[a:b], loss[a:b], miss[a:b] = without_target(powers, at, top, block[at])
        loss[a:b] *= factor[a:b] * (1 - label_smoothing)
        if label_smoothing:
            loss[a:b] += _spread(block, log_total[a:b], weight) * (label_smoothing / rows.shape[1])

    with np.errstate(divide="ignore", invalid="ignore"):
        over_rows(work, len(rows), 2 * rows.itemsize * rows.shape[1])
    loss[target == ignore_index] = 0
    return loss, (log_total, miss)


def without_target(powers: Array, at: Any, top: Array, picked: Array) -> tuple[Array, Array, Array]:
    """ln Σ eˣ, -ln p of the target, and 1 - p, which keeps its digits where p rounds to 1: the others' sum by itself.

    Args:
        powers: e^(x - top) of each row; it gets 0 at the targets.
        at: the targets' places. top, picked: x at its largest and at the target, (rows,).
    """
    own = powers[at]
    powers[at] = 0
    others = row_sum(powers)
    total = others + own
    return np.log(total) + top, np.logaddexp(0, np.log(others) + top - picked), others / total


def targets(target: Array, weight: Array | None, ignore_index: int, dtype: np.dtype[np.float64]) -> tuple[Array, Array]:
    """Each row's class (0 for an ignored one) and its weight (0 for an ignored one)."""
    ignored = target == ignore_index
    index = np.where(ignored, 0, target)
    factor = np.ones(len(index), dtype) if weight is None else weight[index]
    return index, np.where(ignored, dtype.type(0), factor)


def _spread(block: Array, log_total: Array, weight: Array | None) -> Array:
    """Σᵥ wᵥ (log Σ e - xᵥ): what smoothing adds for every class."""
    if weight is None:
        return log_total * block.shape[1] - row_sum(block)
    spread: Array = log_total * weight.sum() - block @ weight
    return spread


def backward(needs: Needs, saved: tuple[Array, Array], g: Array, *args: Any) -> Gradients:
    logits, target, weight, ignore_index, label_smoothing = args
    rows = np.ascontiguousarray(logits)
    out, classes = np.empty_like(rows), rows.shape[1]
    log_total, miss = saved
    index, factor = targets(target, weight, ignore_index, rows.dtype)
    g = np.where(target == ignore_index, rows.dtype.type(0), g)  # g is NaN after a mean over no rows
    hit = g * factor * (1 - label_smoothing)
    each = (g * (label_smoothing / classes) if label_smoothing else np.zeros_like(g)).astype(rows.dtype)
    spread = each * (classes if weight is None else weight.sum())
    both, at_target = hit + spread, spread * (1 - miss) - hit * miss  # p (hit + spread) - hit

    def work(a: int, b: int) -> None:
        block = np.subtract(rows[a:b], log_total[a:b, None], out=out[a:b])
        np.exp(block, out=block)
        block *= both[a:b, None]
        block[np.arange(b - a), index[a:b]] = at_target[a:b]
        if label_smoothing:
            block -= each[a:b, None] if weight is None else each[a:b, None] * weight

    over_rows(work, len(rows), 2 * rows.itemsize * classes)
    return wanted(needs, out)
