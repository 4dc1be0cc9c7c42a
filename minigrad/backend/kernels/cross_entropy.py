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
) -> tuple[Array, Array]:
    rows = np.ascontiguousarray(logits)
    loss, log_total = np.empty(len(rows), rows.dtype), np.empty(len(rows), rows.dtype)
    index, factor = targets(target, weight, ignore_index, rows.dtype)

    def work(a: int, b: int) -> None:
        block = rows[a:b]
        top = row_max(block)
        log_total[a:b] = np.log(row_sum(np.exp(block - top[:, None]))) + top
        picked = block[np.arange(b - a), index[a:b]]
        loss[a:b] = (log_total[a:b] - picked) * factor[a:b] * (1 - label_smoothing)
        if label_smoothing:
            loss[a:b] += _spread(block, log_total[a:b], weight) * (label_smoothing / rows.shape[1])

    with np.errstate(invalid="ignore"):
        over_rows(work, len(rows), 2 * rows.itemsize * rows.shape[1])
    loss[target == ignore_index] = 0
    return loss, log_total


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


def backward(needs: Needs, saved: Array, g: Array, *args: Any) -> Gradients:
    logits, target, weight, ignore_index, label_smoothing = args
    rows = np.ascontiguousarray(logits)
    out, classes = np.empty_like(rows), rows.shape[1]
    index, factor = targets(target, weight, ignore_index, rows.dtype)
    g = np.where(target == ignore_index, rows.dtype.type(0), g)  # g is NaN after a mean over no rows
    hit = g * factor * (1 - label_smoothing)
    each = (g * (label_smoothing / classes)).astype(rows.dtype)
    both = hit + each * (classes if weight is None else weight.sum())

    def work(a: int, b: int) -> None:
        block = np.subtract(rows[a:b], saved[a:b, None], out=out[a:b])
        np.exp(block, out=block)
        block *= both[a:b, None]
        block[np.arange(b - a), index[a:b]] -= hit[a:b]
        if label_smoothing:
            block -= each[a:b, None] if weight is None else each[a:b, None] * weight

    over_rows(work, len(rows), 2 * rows.itemsize * classes)
    return wanted(needs, out)
