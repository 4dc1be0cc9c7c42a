"""Cross-entropy of logits, which are read once in the forward pass and once for their gradient, and of a linear layer,
in chunks of rows, so that its logits are never all in memory. A linear layer's gradients are computed in the forward
pass, chunk by chunk, for a loss gradient of 1, and scaled later. Ignored rows are dropped at the start."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from ..compiled.functions import exp
from ..compiled.loops import FLOAT32, Flat, Indices, Rows, fits, grain, laid, loop
from ..dtype import Array
from ..products import linear_gradients, matmul
from ..registry import xp
from . import Gradients, Needs, wanted
from ._softmax_numba import exp_sum, log, log1p, top

F = np.float32
_INT64 = np.dtype(np.int64)
CHUNK_BYTES = 20 << 20  # bytes of logits in a chunk, to fit in an L3 cache
LEAST_ROWS = 512  # the fewest rows in a chunk, as each chunk reads the whole weight
_SLOPE = True, False, False, False, False  # the gradients that cross-entropy needs


@loop
def losses(
    start: int, stop: int, x: Rows, target: Indices, weight: Flat, ignored: int, smoothing: float, out: Rows
) -> None:
    """Each row's loss Σᵥ qᵥ wᵥ (ln Σ eˣ - xᵥ) (see ``ops/loss.py``), largest x, Σ eˣ⁻ˡᵃʳᵍᵉˢᵗ, and target's 1 - p."""
    classes = x.shape[1]
    for i in range(start, stop):
        t = target[i]
        out[0, i] = out[1, i] = out[2, i] = out[3, i] = F(0.0)
        if t == ignored:
            continue
        if t < 0 or t >= classes:  # only if a caller of the op has not checked the range
            out[0, i] = F(np.nan)
            continue
        most = top(x[i])
        own = exp(x[i, t] - most)
        total = exp_sum(x, i, most, 0, classes)
        others = total - own
        if own > F(0.75) * total:  # otherwise, own would swamp their digits
            others = exp_sum(x, i, most, 0, t) + exp_sum(x, i, most, t + 1, classes)
        above = log(total)  # ln Σ eˣ, relative to the largest logit: the sum of both could lose all its digits
        out[1, i], out[2, i], out[3, i] = most, total, others / total
        depth = most - x[i, t]
        depth = F(0.0) if depth <= F(0.0) else depth  # keeps the compiler from adding ``most`` to ``above``
        loss = log1p(others / own) if others < own else above + depth
        loss *= weight[t]
        if smoothing:
            spread, whole = F(0.0), F(0.0)
            for j in range(classes):
                spread += weight[j] * (x[i, j] - most)
                whole += weight[j]
            spread = above * whole - spread
            loss = loss * F(1.0 - smoothing) + spread * F(smoothing / classes)
        out[0, i] = loss


def _given(logits: Array, target: Array, weight: Array | None, *how: Any) -> tuple[Any, ...]:
    """The first arguments of both loops."""
    weight = np.ones(logits.shape[1], FLOAT32) if weight is None else laid(weight)
    return laid(logits), np.ascontiguousarray(target, _INT64), weight, *how


def forward(needs: Needs, *args: Any) -> tuple[Array, Any]:
    logits, _, weight, _, _ = args
    if not fits(logits, weight):
        return NotImplemented
    rows, classes = logits.shape
    saved = np.empty((4, rows), FLOAT32)
    losses(rows, grain(rows, 4 * classes), *_given(*args), saved)
    return saved[0].copy(), saved


@loop
def grad(
    start: int, stop: int, x: Rows, target: Indices, weight: Flat, ignored: int, smoothing: float, g: Flat, saved: Rows,
    dx: Rows,
) -> None:  # fmt: skip
    """dx = g (p Σ q w - q w) for each row, 0 in ignored rows for any g."""
    classes, whole = x.shape[1], F(0.0)
    for j in range(classes if smoothing else 0):
        whole += weight[j]
    for i in range(start, stop):
        t = target[i]
        if t == ignored or t < 0 or t >= classes:
            nothing = F(0.0) if t == ignored else F(np.nan)
            for j in range(classes):
                dx[i, j] = nothing
            continue
        hit = g[i] * F(1.0 - smoothing) * weight[t]
        each = g[i] * F(smoothing / classes) if smoothing else F(0.0)  # 0 even for an infinite g
        spread, middle, miss = each * whole, saved[1, i], saved[3, i]
        both = (hit + spread) / saved[2, i]
        for j in range(classes):
            dx[i, j] = exp(x[i, j] - middle) * both
        if each != F(0.0):
            for j in range(classes):
                dx[i, j] -= each * weight[j]
        dx[i, t] = spread * (F(1.0) - miss) - hit * miss - each * weight[t]


def backward(needs: Needs, saved: Array, g: Array, *args: Any) -> Gradients:
    dx = np.empty(args[0].shape, FLOAT32)
    grad(len(dx), grain(len(dx), 8 * dx.shape[1]), *_given(*args), laid(g), saved, dx)
    return wanted(needs, dx)


def linear_forward(
    needs: Needs, x: Array, weight: Array, bias: Array | None, target: Array, ignore_index: int, smoothing: float,
    reduction: str,
) -> tuple[Array, Gradients]:  # fmt: skip
    if not fits(x, weight, bias):
        return NotImplemented
    counted = np.flatnonzero(target != ignore_index)
    rows, classes = (x, target) if len(counted) == len(target) else (x[counted], target[counted])
    share = 1.0 if reduction == "sum" else 1 / len(counted) if len(counted) else float("nan")
    losses = np.empty(len(rows), x.dtype)
    pairs = zip((x, weight, bias), needs[:3], strict=True)
    gradients = tuple(np.zeros_like(a, order="C") if need else None for a, need in pairs)
    most = max(LEAST_ROWS, CHUNK_BYTES // (len(weight) * x.itemsize))
    step = -(-len(rows) // max(1, -(-len(rows) // most)))  # chunks of equal size, so that they can reuse memory
    for start in range(0, len(rows), max(1, step)):
        some = slice(start, start + step)
        about = matmul(rows[some], weight.T, bias), classes[some], None, ignore_index, smoothing
        losses[some], saved = forward(_SLOPE, *about)
        if any(needs):
            g = np.full(len(losses[some]), share, x.dtype)
            dz: Any = backward(_SLOPE, saved, g, *about)[0]
            parts = linear_gradients(needs, dz, rows[some], weight)
            for total, part, place in zip(gradients, parts, (counted[some], ..., ...), strict=True):
                if total is not None:
                    total[place] += part
    return np.asarray(losses.sum() * share, dtype=x.dtype), gradients


def linear_backward(needs: Needs, saved: Gradients, g: Array, *args: Array) -> Gradients:
    """Scale copies of the saved gradients (even for g = 1, as programs may change them). Ignored rows are always 0."""
    dx, dweight, dbias = saved
    counts = args[3] != args[4]
    rates = xp(g).where(counts, g, g.dtype.type(0))[:, None]
    return wanted(needs, *(None if d is None else d * f for d, f in ((dx, rates), (dweight, g), (dbias, g))))


KERNELS = {
    "cross_entropy": SimpleNamespace(forward=forward, backward=backward),
    "linear_cross_entropy": SimpleNamespace(forward=linear_forward, backward=linear_backward),
}
