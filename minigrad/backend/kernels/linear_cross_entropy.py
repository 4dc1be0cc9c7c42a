"""Linear layer and cross-entropy together, in chunks of rows: the logits are never whole in memory.

Where gradients are wanted they are made at once, chunk by chunk, for a loss gradient of 1, and scaled later:
each chunk's logits turn into their own gradient in place, and so exp is computed once. Rows that do not count
are left out from the start.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..dtype import Array
from ..parallel import BLOCK_BYTES, PRODUCTS_A_SECOND, each, shares
from ..products import column_sums
from .rows import exp_rows, row_sum

CHUNK_BYTES = 20 << 20  # of logits at a time: they fit into a third-level cache
LEAST_ROWS = 256  # at a time, as each chunk goes once through the whole weight


def forward(
    needs: tuple[bool, ...], x: Array, weight: Array, bias: Array | None, target: Array, ignore_index: int,
    label_smoothing: float, reduction: str,
) -> tuple[Array, Any]:  # fmt: skip
    counted = np.flatnonzero(target != ignore_index)
    whole = len(counted) == len(target)
    rows, classes = (x, target) if whole else (x[counted], target[counted])
    share = 1.0 if reduction == "sum" else 1 / len(counted) if len(counted) else float("nan")
    losses = np.zeros(len(rows), x.dtype)
    dx = np.empty_like(rows, order="C") if needs[0] else None
    dweight = np.zeros_like(weight, order="C") if needs[1] else None
    dbias = np.zeros_like(bias) if needs[2] and bias is not None else None
    step = max(LEAST_ROWS, CHUNK_BYTES // max(1, weight.shape[0] * x.itemsize))
    buffer = np.empty((min(step, len(rows)), weight.shape[0]), x.dtype)
    for a in range(0, len(rows), step):
        some = slice(a, min(len(rows), a + step))
        logits = buffer[: some.stop - a]
        _chunk(logits, (rows[some], weight, bias), classes[some], label_smoothing, share, losses[some],
               None if dx is None else dx[some], any(needs))  # fmt: skip
        if dweight is not None:
            _add_product(logits.T, rows[some], dweight)
        if dbias is not None:
            dbias += column_sums(logits)
    if dx is not None and not whole:
        dx = _spread_rows(dx, counted, len(target))
    return np.asarray(losses.sum() * share, dtype=x.dtype), (dx, dweight, dbias)


def _chunk(
    logits: Array, linear: tuple[Array, Array, Array | None], target: Array, smoothing: float, share: float,
    losses: Array, dx: Array | None, slope: bool,
) -> None:  # fmt: skip
    """Fill in the loss of each row and, for ``slope``, turn the logits into their gradient times ``share``;
    ``dx`` is that gradient times the weight."""
    x, weight, bias = linear

    def product(i: int, j: int) -> None:
        np.matmul(x[i:j], weight.T, out=logits[i:j])
        if bias is not None:
            logits[i:j] += bias

    def work(a: int, b: int) -> None:
        product(a, b)
        few = max(1, BLOCK_BYTES // max(1, logits[:1].nbytes))
        for i in range(a, b, few):
            j = min(b, i + few)
            losses[i:j] = _rows(logits[i:j], target[i:j], smoothing, share, slope,
                                partial(product, i, j))  # fmt: skip
        if dx is not None:
            np.matmul(logits[a:b], weight, out=dx[a:b])

    each(work, shares(len(x), 3 * x.size * len(weight) / PRODUCTS_A_SECOND))


def _rows(block: Array, target: Array, smoothing: float, share: float, slope: bool,
          again: Callable[[], object]) -> Array:  # fmt: skip
    """The loss of each row; the logits become their gradient if ``slope``. ``again`` fills them once more."""
    at, classes = (np.arange(len(block)), target), block.shape[1]
    picked = block[at]
    mean = row_sum(block) / classes if smoothing else 0
    total, shift = exp_rows(block, again)
    if slope:
        block *= (share / total)[:, None]
        block[at] -= share * (1 - smoothing)
        if smoothing:
            block -= block.dtype.type(share * smoothing / classes)
    loss: Array = np.log(total) + shift - (1 - smoothing) * picked - smoothing * mean
    return loss


def _add_product(a: Array, b: Array, out: Array) -> None:
    """out += a b, a part of the rows for each thread."""

    def work(i: int, j: int) -> None:
        out[i:j] += a[i:j] @ b

    each(work, shares(len(a), a.size * b.shape[1] / PRODUCTS_A_SECOND))


def _spread_rows(rows: Array, places: Array, count: int) -> Array:
    """Rows at their places among ``count`` rows, the others 0."""
    out = np.zeros((count, rows.shape[1]), rows.dtype)
    out[places] = rows
    return out


def backward(needs: tuple[bool, ...], saved: Any, g: Array, *args: Any) -> tuple[Array | None, ...]:
    if g == 1:  # nearly always; views, as what is kept must not be added to
        return (*(None if s is None else s.view() for s in saved), None, None, None, None)
    return (*(None if s is None else s * g for s in saved), None, None, None, None)
