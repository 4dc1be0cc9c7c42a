"""Cross-entropy row by row, which reads the logits once in the forward pass and once for their gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtype import Array
from . import Gradients, Needs

_LONG = 4096  # up to this many elements are added one by one


def forward(
    needs: Needs, logits: Array, target: Array, weight: Array | None, ignore_index: int, label_smoothing: float
) -> tuple[Array, Any]:
    """The loss of each row. For the gradient, it saves each target and factor, the largest x, Σ e^(x - top), and 1 - p
    of the target, computed as the sum over the other classes, which stays exact where p rounds to 1. The largest x is
    never added to a logarithm, whose digits would be lost."""
    rows, counts = np.ascontiguousarray(logits), target != ignore_index
    index = np.where(counts, target, 0)
    factor = counts.astype(rows.dtype) if weight is None else np.where(counts, weight[index], rows.dtype.type(0))
    at = np.arange(len(rows)), index
    with np.errstate(divide="ignore", invalid="ignore"):
        top = row_max(rows)
        below = rows - top[:, None]
        powers = np.exp(below, out=None if label_smoothing else below)
        own = powers[at]
        powers[at] = 0
        others = row_sum(powers)
        total = others + own
        loss = np.logaddexp(0, np.log(others) + (top - rows[at])) * (factor * (1 - label_smoothing))
        if label_smoothing:
            loss += _spread(below, np.log(total), weight) * (label_smoothing / rows.shape[1])
        miss = others / total
    loss[~counts] = 0
    return loss, (index, factor, top, total, miss)


def row_max(rows: Array) -> Array:
    """The maximum of each row, (rows,), or 0 for a row that is all -inf (so that x - max stays -inf, not NaN)."""
    top = rows.max(axis=1)
    return np.where(np.isneginf(top), top.dtype.type(0), top)


def row_sum(block: Array) -> Array:
    """Sums of rows, (rows,), by BLAS for short rows, which is faster, or else by ``sum``, which is more precise."""
    if block.shape[1] <= _LONG:
        return block @ np.ones(block.shape[1], block.dtype)
    total: Array = block.sum(axis=1)
    return total


def _spread(below: Array, log_total: Array, weight: Array | None) -> Array:
    """Σᵥ wᵥ (log Σ e - xᵥ), which smoothing adds. ``below`` is x - top, and ``log_total`` the logarithm of its Σ e."""
    if weight is None:
        return log_total * below.shape[1] - row_sum(below)
    spread: Array = log_total * weight.sum() - below @ weight
    return spread


def backward(needs: Needs, saved: Any, g: Array, *args: Any) -> Gradients:
    logits, target, weight, ignore_index, smoothing = args
    rows, (index, factor, top, total, miss) = np.ascontiguousarray(logits), saved
    ignored, classes = target == ignore_index, rows.shape[1]
    g = np.where(ignored, rows.dtype.type(0), g)  # g is NaN after a mean over no rows
    hit = g * factor * (1 - smoothing)
    each = (g * (smoothing / classes) if smoothing else np.zeros_like(g)).astype(rows.dtype)  # 0 · ∞ would be NaN
    spread = each * (classes if weight is None else weight.sum())
    out = rows - top[:, None]
    np.exp(out, out=out)
    out *= ((hit + spread) / total)[:, None]
    out[np.arange(len(rows)), index] = spread * (1 - miss) - hit * miss  # p (hit + spread) - hit
    if each.any():
        out -= each[:, None] * (1 if weight is None else weight)
    out[ignored & ~(total > 0)] = 0  # rows whose logits are NaN or all -inf
    return (out,)
