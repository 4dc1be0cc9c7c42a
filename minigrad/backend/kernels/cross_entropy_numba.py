"""Cross-entropy on given logits: they are read once forward, and once to make their gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled.functions import exp
from ..compiled.loops import FLOAT32, Flat, Indices, Rows, fits, grain, laid, laid_or_none, loop
from ..dtype import Array
from . import Gradients, Needs, wanted
from ._softmax_numba import exp_sum, log, top

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
) -> None:
    """Σᵥ qᵥ wᵥ (level - xᵥ) and level = ln Σ eˣ of each row; q is as in ``ops/loss.py``."""
    classes = x.shape[1]
    for i in range(start, stop):
        t = target[i]
        out[i] = level[i] = F(0.0)
        if t == ignored:
            continue
        if t < 0 or t >= classes:  # an error of who calls the op without a check of its range
            out[i] = F(np.nan)
            continue
        most = top(x, i)
        above = log(exp_sum(x, i, most))  # the level, above the largest logit
        level[i] = most + above
        loss = (above + (most - x[i, t])) * (weight[t] if weight.size else F(1.0))
        if smoothing:
            spread = F(0.0)
            if weight.size:
                for j in range(classes):
                    spread += weight[j] * (x[i, j] - most)
            else:
                for j in range(classes):
                    spread += x[i, j] - most
            spread = above * F(total_weight) - spread
            loss = loss * F(1.0 - smoothing) + spread * F(smoothing / classes)
        out[i] = loss


def _given(
    logits: Array, target: Array, weight: Array | None, ignored: int, smoothing: float
) -> tuple[Array, Array, Array | None, float, int, float]:
    """The arguments that both loops begin with, the sum of the weights among them."""
    total = float(logits.shape[1] if weight is None else weight.sum(dtype=np.float64))
    return laid(logits), np.ascontiguousarray(target, _INT64), laid_or_none(weight), total, ignored, smoothing


def forward(
    needs: Needs, logits: Array, target: Array, weight: Array | None, ignore_index: int, label_smoothing: float
) -> tuple[Array, Any]:
    if not fits(logits, weight):
        return NotImplemented
    rows, classes = logits.shape
    given = _given(logits, target, weight, ignore_index, label_smoothing)
    loss, level = np.empty((2, rows), FLOAT32)
    losses(rows, grain(rows, 4 * classes), *given, loss, level)
    return loss, level


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
    out: Rows,
) -> None:
    """dx = g (eˣ⁻ˡᵉᵛᵉˡ Σ q w - q w); 0 in ignored rows, for any g."""
    classes = x.shape[1]
    for i in range(start, stop):
        t = target[i]
        if t == ignored or t < 0 or t >= classes:
            nothing = F(0.0) if t == ignored else F(np.nan)
            for j in range(classes):
                out[i, j] = nothing
            continue
        hit = g[i] * F(1.0 - smoothing) * (weight[t] if weight.size else F(1.0))
        each = g[i] * F(smoothing / classes)
        both, middle = hit + each * F(total_weight), level[i]
        if smoothing == 0.0:
            for j in range(classes):
                out[i, j] = exp(x[i, j] - middle) * both
        elif weight.size:
            for j in range(classes):
                out[i, j] = exp(x[i, j] - middle) * both - each * weight[j]
        else:
            for j in range(classes):
                out[i, j] = exp(x[i, j] - middle) * both - each
        out[i, t] -= hit


def backward(needs: Needs, level: Array, g: Array, *args: Any) -> Gradients:
    given = _given(*args)
    out = np.empty(given[0].shape, FLOAT32)
    slope(len(out), grain(len(out), 8 * out.shape[1]), *given, laid(g), level, out)
    return wanted(needs, out)
