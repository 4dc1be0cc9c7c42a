"""Linear layer and R-Drop's loss together, in chunks of rows: the logits are never whole in memory.

As in linear_cross_entropy.py, gradients are made at once, for a loss gradient of 1, and scaled later. With
l the logits of a row in both passes, d = l₁ - l₂, m = Σ P d of a pass, a = α/4 and q the smoothed target,

    loss = ½ (CE(P₁) + CE(P₂)) + a (m₁ - m₂)
    dl₁ = P₁ (½ + a + a (d - m₁)) - a P₂ - ½ q
    dl₂ = P₂ (½ + a - a (d - m₂)) - a P₁ - ½ q

a sum over rows, divided by their number. What q takes off is done once for all rows (``linear_cross_entropy``
has it too), so that the logits' gradients need no passes for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..dtype import Array
from ..parallel import PRODUCTS_A_SECOND, each, shares
from ..products import column_sums
from . import scatter_add_rows
from .linear_cross_entropy import backward as scaled
from .rows import row_dot, row_max, row_sum

CHUNK_BYTES = 10 << 20  # of one pass's logits at a time, in each thread
BLOCK_BYTES = 256 << 10  # of these, for what is done to them element by element: a second-level cache


@dataclass
class _Loss:
    """Two passes and what is found for them.

    Attributes:
        x: both passes' rows (2, N, D). target: (N). a: α/4. losses: (N).
        dx: as x. dweights: (threads, V, D). Either is None where it is not wanted.
    """

    x: Array
    weight: Array
    target: Array
    a: float
    smoothing: float
    losses: Array
    dx: Array | None
    dweights: Array | None


def forward(
    needs: tuple[bool, ...], x: Array, weight: Array, target: Array, alpha: float, label_smoothing: float
) -> tuple[Array, Any]:
    n, (classes, width) = len(target), weight.shape
    if not n:
        wanted = zip((x, weight), needs, strict=False)
        return np.asarray(np.nan, x.dtype), tuple(np.zeros_like(t) if need else None for t, need in wanted)
    parts = shares(n, 12 * n * classes * width / PRODUCTS_A_SECOND)
    loss = _Loss(
        np.ascontiguousarray(x).reshape(2, n, width),
        weight,
        target,
        alpha / 4,
        label_smoothing,
        np.empty(n, x.dtype),
        np.empty((2, n, width), x.dtype) if needs[0] else None,
        np.zeros((len(parts), classes, width), x.dtype) if needs[1] else None,
    )
    each(lambda part, i, j: _rows(loss, part, i, j), [(part, i, j) for part, (i, j) in enumerate(parts)])
    dweight = None if loss.dweights is None else loss.dweights.sum(axis=0)
    _take_targets_off(loss, dweight)
    one = x.dtype.type(1 / n)
    dx = None if loss.dx is None else loss.dx.reshape(x.shape)
    for slope in (dx, dweight):
        if slope is not None:
            slope *= one
    return np.asarray(loss.losses.sum() * one, dtype=x.dtype), (dx, dweight)


def _rows(loss: _Loss, part: int, start: int, stop: int) -> None:
    """The losses of some rows, and their gradients as if q were 0; one thread's work."""
    step = max(1, min(stop - start, CHUNK_BYTES // (len(loss.weight) * loss.x.itemsize)))
    buffer = np.empty((2, step, len(loss.weight)), loss.x.dtype)
    for i in range(start, stop, step):
        some = slice(i, min(stop, i + step))
        logits, x = buffer[:, : some.stop - i], loss.x[:, some]
        np.matmul(x, loss.weight.T, out=logits)
        _elementwise(loss, some, logits)
        if loss.dx is not None:
            np.matmul(logits, loss.weight, out=loss.dx[:, some])
        if loss.dweights is not None:
            for one, rows in zip(logits, x, strict=True):
                loss.dweights[part] += one.T @ rows


def _elementwise(loss: _Loss, some: slice, logits: Array) -> None:
    """Write the rows' losses, and their logits' gradients in the logits' place."""
    dtype = logits.dtype.type
    picked = np.take_along_axis(logits, loss.target[None, some, None], 2)[..., 0].sum(axis=0)
    own, half = dtype(1 - loss.smoothing), dtype(0.5)
    step = max(1, BLOCK_BYTES // logits.strides[1])
    d, first = np.empty((2, step, logits.shape[2]), logits.dtype)
    for i in range(0, logits.shape[1], step):
        block = slice(i, min(logits.shape[1], i + step))
        l1, l2 = logits[0, block], logits[1, block]
        log_z, divergence = _slopes(l1, l2, d[: len(l1)], first[: len(l1)], dtype(loss.a))
        loss.losses[some][block] = half * (log_z - own * picked[block]) + dtype(loss.a) * divergence


def _slopes(l1: Array, l2: Array, d: Array, first: Array, a: Any) -> tuple[Array, Array]:
    """Turn two passes' logits into their gradients, in place.

    Args:
        l1, l2: the logits. d, first: room for as many numbers. a: α/4.

    Returns:
        The sum of both passes' ln Z, and m₁ - m₂, of each row.
    """
    np.subtract(l1, l2, out=d)
    log_z = 0.0
    for logits in (l1, l2):
        top = row_max(logits)
        logits -= top[:, None]
        np.exp(logits, out=logits)
        total = row_sum(logits)
        logits /= total[:, None]
        log_z = log_z + np.log(total) + top
    m1, m2 = row_dot(l1, d), row_dot(l2, d)
    rest = d.dtype.type(0.5) + a
    d *= a
    np.add(d, (rest - a * m1)[:, None], out=first)
    np.subtract((rest + a * m2)[:, None], d, out=d)
    first *= l1
    d *= l2
    l1 *= a
    l2 *= a
    first -= l2
    np.subtract(d, l1, out=l2)
    l1[...] = first
    return log_z, m1 - m2


def _take_targets_off(loss: _Loss, dweight: Array | None) -> None:
    """What q takes from the gradients, and the smoothing from the losses."""
    weight, target, dtype = loss.weight, loss.target, loss.x.dtype.type
    own, even = dtype(0.5 * (1 - loss.smoothing)), dtype(0.5 * loss.smoothing / len(weight))
    both = loss.x.sum(axis=0)
    total = column_sums(weight)
    loss.losses -= even * (both @ total)
    if loss.dx is not None:
        loss.dx -= weight[target] * own + even * total
    if dweight is not None:
        dweight -= scatter_add_rows.forward((), both * own, target, len(weight))[0]
        dweight -= column_sums(both) * even


def backward(needs: tuple[bool, ...], saved: Any, g: Array, *args: Any) -> tuple[Array | None, ...]:
    return (*scaled(needs, saved, g)[:2], None, None, None)
