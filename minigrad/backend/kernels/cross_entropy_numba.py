"""Cross-entropy on given logits: they are read once forward, and once to make their gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled.functions import exp
from ..compiled.loops import FLOAT32, Flat, Indices, Rows, fits, grain, laid, loop
from ..dtype import Array
from . import Gradients, Needs, wanted
from ._softmax_numba import exp_sum, log, log1p, top

F = np.float32
_INT64 = np.dtype(np.int64)


@loop
def losses(
    start: int,
    stop: int,
    x: Rows,
    target: Indices,
    weight: Flat,
    total_weight: float,
    ignored: int,
    smoothing: float,
    out: Flat,
    level: Flat,
    sums: Flat,
    miss: Flat,
) -> None:
    """Σᵥ qᵥ wᵥ (ln Σ eˣ - xᵥ) of each row, its largest x as ``level``, Σ eˣ⁻ˡᵉᵛᵉˡ and 1 - p of the target; q is as in
    ``ops/loss.py``."""
    classes = x.shape[1]
    for i in range(start, stop):
        t = target[i]
        out[i] = level[i] = sums[i] = miss[i] = F(0.0)
        if t == ignored:
            continue
        if t < 0 or t >= classes:  # an error of who calls the op without a check of its range
            out[i] = F(np.nan)
            continue
        most = top(x[i])
        own = exp(x[i, t] - most)
        total = exp_sum(x, i, most, 0, classes)
        others = total - own
        if own > F(0.75) * total:  # own would take their digits
            others = exp_sum(x, i, most, 0, t) + exp_sum(x, i, most, t + 1, classes)
        above = log(total)  # ln Σ eˣ, above the largest logit: the sum of both could have none of its digits
        level[i], sums[i], miss[i] = most, total, others / total
        depth = most - x[i, t]
        depth = F(0.0) if depth <= F(0.0) else depth  # as the compiler may add in any order: not ``most`` to ``above``
        loss = log1p(others / own) if others < own else above + depth
        loss *= weight[t]
        if smoothing:
            spread = F(0.0)
            for j in range(classes):
                spread += weight[j] * (x[i, j] - most)
            spread = above * F(total_weight) - spread
            loss = loss * F(1.0 - smoothing) + spread * F(smoothing / classes)
        out[i] = loss


def _given(
    logits: Array, target: Array, weight: Array | None, ignored: int, smoothing: float
) -> tuple[Array, Array, Array, float, int, float]:
    """The arguments that both loops begin with, the sum of the weights among them."""
    weight = np.ones(logits.shape[1], FLOAT32) if weight is None else laid(weight)
    total = float(weight.sum(dtype=np.float64))
    return laid(logits), np.ascontiguousarray(target, _INT64), weight, total, ignored, smoothing


def forward(
    needs: Needs, logits: Array, target: Array, weight: Array | None, ignore_index: int, label_smoothing: float
) -> tuple[Array, Any]:
    if not fits(logits, weight):
        return NotImplemented
    rows, classes = logits.shape
    given = _given(logits, target, weight, ignore_index, label_smoothing)
    loss, *saved = np.empty((4, rows), FLOAT32)
    losses(rows, grain(rows, 4 * classes), *given, loss, *saved)
    return loss, saved


@loop
def slope(
    start: int,
    stop: int,
    x: Rows,
    target: Indices,
    weight: Flat,
    total_weight: float,
    ignored: int,
    smoothing: float,
    g: Flat,
    level: Flat,
    sums: Flat,
    miss: Flat,
    dx: Rows,
) -> None:
    """dx = g (p Σ q w - q w) of each row, 0 in ignored ones for any g."""
    classes = x.shape[1]
    for i in range(start, stop):
        t = target[i]
        if t == ignored or t < 0 or t >= classes:
            nothing = F(0.0) if t == ignored else F(np.nan)
            for j in range(classes):
                dx[i, j] = nothing
            continue
        hit = g[i] * F(1.0 - smoothing) * weight[t]
        each = g[i] * F(smoothing / classes) if smoothing else F(0.0)  # also of an infinite g
        spread, middle = each * F(total_weight), level[i]
        both = (hit + spread) / sums[i]
        for j in range(classes):
            dx[i, j] = exp(x[i, j] - middle) * both
        if each != F(0.0):
            for j in range(classes):
                dx[i, j] -= each * weight[j]
        dx[i, t] = spread * (F(1.0) - miss[i]) - hit * miss[i] - each * weight[t]


def backward(needs: Needs, saved: list[Array], g: Array, *args: Any) -> Gradients:
    dx = np.empty(args[0].shape, FLOAT32)
    slope(len(dx), grain(len(dx), 8 * dx.shape[1]), *_given(*args), laid(g), *saved, dx)
    return wanted(needs, dx)
