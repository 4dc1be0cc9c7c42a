"""Linear layer and cross-entropy together, in chunks of rows: the logits are never whole in memory.

Where gradients are wanted they are made at once, chunk by chunk, for a loss gradient of 1, and scaled later.
Each thread has some of the classes: their logits, which become e^logit in place, and nothing else is done to
them. What remains is done to what is small. With Z the sum of a row, s the share of a row in the loss, ε the
smoothing over V classes, y the target and E = e^logits,

    loss = ln Z - (1 - ε) logit of y - ε (mean logit),   mean logit = x · (mean row of W) + mean b
    dx = (s/Z) E W - s (1 - ε) W[y] - s ε (mean row of W)
    dW = Eᵀ (s/Z) x - s (1 - ε) x at the rows y - (s ε/V) (sum of x)

Rows that do not count are left out from the start.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..dtype import Array
from ..parallel import PRODUCTS_A_SECOND, each, shares, spread
from ..products import column_sums
from . import Gradients, Needs, scatter_add_rows, wanted
from ._rows import LARGE, SMALL, row_sum

CHUNK_BYTES = 20 << 20  # of logits at a time: they fit into a third-level cache
LEAST_ROWS = 256  # at a time, as each chunk goes once through the whole weight


@dataclass
class _Loss:
    """The rows that count, their losses and gradients.

    Attributes:
        x: (N, D). target: (N). share: of a row in the loss. losses: (N).
        dx, dweight, dbias: as x, weight and bias, or None where they are not wanted.
    """

    x: Array
    weight: Array
    bias: Array | None
    target: Array
    smoothing: float
    share: float
    losses: Array
    dx: Array | None
    dweight: Array | None
    dbias: Array | None


def forward(needs: Needs, *args: Any) -> tuple[Array, Gradients]:
    x, weight, bias, target, ignore_index, label_smoothing, reduction = args
    counted = np.flatnonzero(target != ignore_index)
    whole = len(counted) == len(target)
    rows, classes = (x, target) if whole else (x[counted], target[counted])
    share = 1.0 if reduction == "sum" else 1 / len(counted) if len(counted) else float("nan")
    loss = _Loss(
        rows,
        weight,
        bias,
        classes,
        label_smoothing,
        share,
        np.zeros(len(rows), x.dtype),
        np.empty_like(rows, order="C") if needs[0] else None,
        np.zeros_like(weight, order="C") if needs[1] else None,
        np.zeros_like(bias) if needs[2] and bias is not None else None,
    )
    if len(rows):
        _all_chunks(loss)
        _take_targets_off(loss)
    dx = loss.dx
    if dx is not None and not whole:
        dx = np.zeros_like(x, order="C")
        dx[counted] = loss.dx
    return np.asarray(loss.losses.sum() * share, dtype=x.dtype), (dx, loss.dweight, loss.dbias)


def _all_chunks(loss: _Loss) -> None:
    """The loss of each row, and the gradients as if no class were a target."""
    count, width = loss.weight.shape
    step = min(len(loss.x), max(LEAST_ROWS, CHUNK_BYTES // max(1, count * loss.x.itemsize)))
    parts = shares(count, 2 * step * count * width / PRODUCTS_A_SECOND)
    buffers = [np.empty((step, j - i), loss.x.dtype) for i, j in parts]
    for a in range(0, len(loss.x), step):
        some = slice(a, min(len(loss.x), a + step))
        logits = [buffer[: some.stop - a] for buffer in buffers]
        dx = None if loss.dx is None else loss.dx[some]
        total, shift, picked = _exponentials(loss, some, logits, parts, dx)
        loss.losses[some] = np.log(total) + shift - loss.x.dtype.type(1 - loss.smoothing) * picked
        rate = loss.x.dtype.type(loss.share) / total
        if dx is not None:
            dx *= rate[:, None]
        _add_slopes(loss, loss.x[some] * rate[:, None], rate, logits, parts)


def _exponentials(
    loss: _Loss, some: slice, logits: list[Array], parts: Any, dx: Array | None
) -> tuple[Array, Any, Array]:
    """Fill ``logits`` with e^(logit - c) of some rows, ``dx`` with their product with the weight.

    c is 0 where no exp overflows and no sum underflows, else the largest logit of the row.

    Returns:
        The sum of each row, c, and the logit of each row's target.
    """
    x, target = loss.x[some], loss.target[some]
    picked = np.empty(len(x), x.dtype)
    totals = np.empty((len(parts), len(x)), x.dtype)
    sides = np.empty((len(parts), *x.shape), x.dtype) if dx is not None else None
    tops = np.full((len(parts), len(x)), np.inf, x.dtype)

    def fill(k: int) -> Array:
        i, j = parts[k]
        np.matmul(x, loss.weight[i:j].T, out=logits[k])
        if loss.bias is not None:
            logits[k] += loss.bias[i:j]
        hit = np.flatnonzero((target >= i) & (target < j))
        picked[hit] = logits[k][hit, target[hit] - i]
        return logits[k]

    def finish(k: int) -> None:
        np.exp(logits[k], out=logits[k])
        totals[k] = row_sum(logits[k])
        if sides is not None:
            np.matmul(logits[k], loss.weight[slice(*parts[k])], out=sides[k])

    def quick(k: int, _: int) -> None:
        tops[k] = fill(k).max(initial=0)
        if tops[k, 0] <= most:
            finish(k)

    def find_top(k: int, _: int) -> None:
        tops[k] = fill(k).max(axis=1)

    def careful(k: int, _: int) -> None:
        fill(k)
        logits[k] -= shift[:, None]
        finish(k)

    shift: Any = 0
    most = LARGE if x.dtype.char in "fd" else -1  # float16 has no room: always the careful way
    each(quick, [(k, 0) for k in range(len(parts))])
    if not (tops.max() <= most and totals.sum(axis=0).min() >= SMALL):
        each(find_top, [(k, 0) for k in range(len(parts))])
        shift = tops.max(axis=0)
        shift[np.isneginf(shift)] = 0  # then logit - shift stays -inf, not NaN
        each(careful, [(k, 0) for k in range(len(parts))])
    if dx is not None and sides is not None:
        np.sum(sides, axis=0, out=dx)
    total = totals.sum(axis=0)
    return np.where(total == 0, total.dtype.type(1), total), shift, picked


def _add_slopes(loss: _Loss, x: Array, rate: Array, logits: list[Array], parts: Any) -> None:
    """Add a chunk's part to ``dweight`` and ``dbias``."""
    dweight, dbias = loss.dweight, loss.dbias

    def work(k: int, _: int) -> None:
        i, j = parts[k]
        if dweight is not None:
            dweight[i:j] += logits[k].T @ x
        if dbias is not None:
            dbias[i:j] += rate @ logits[k]

    if dweight is not None or dbias is not None:
        each(work, [(k, 0) for k in range(len(parts))])


def _take_targets_off(loss: _Loss) -> None:
    """What the targets take from the gradients, and the smoothing from the losses as well."""
    x, weight, target, share, smoothing = loss.x, loss.weight, loss.target, loss.share, loss.smoothing
    count, dtype = len(weight), x.dtype.type
    hit, even = dtype(share * (1 - smoothing)), dtype(share * smoothing / count)
    if loss.dx is not None:
        loss.dx -= weight[target] * hit
    if smoothing:  # else a class with a bias of -inf would make all NaN
        total = column_sums(weight)
        loss.losses -= dtype(smoothing / count) * (x @ total)
        if loss.bias is not None:
            loss.losses -= dtype(smoothing) * loss.bias.mean()
        if loss.dx is not None:
            loss.dx -= even * total
    if loss.dweight is not None:
        loss.dweight -= scatter_add_rows.forward((), x * hit, target, count)[0]
        if smoothing:
            loss.dweight -= column_sums(x) * even
    if loss.dbias is not None:
        loss.dbias -= np.bincount(target, minlength=count).astype(x.dtype) * hit
        loss.dbias -= dtype(share * smoothing / count * len(x))


def backward(needs: Needs, saved: Gradients, g: Array, *args: Any) -> Gradients:
    def scaled(slope: Array | None) -> Array | None:
        """A copy for g = 1 too: a program may change it, and then ask once more."""
        return None if slope is None else spread(lambda block, out: np.multiply(block, g, out=out), slope)

    return wanted(needs, *map(scaled, saved))
