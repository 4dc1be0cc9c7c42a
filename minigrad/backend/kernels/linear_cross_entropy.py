"""Linear layer and cross-entropy together, in chunks of rows: the logits are never whole in memory.

Where gradients are wanted they are made at once, chunk by chunk, for a loss gradient of 1, and scaled later:
each chunk's logits turn into their own gradient in place. Rows that do not count are left out from the start.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtype import Array
from ..parallel import over_rows
from .rows import row_max, row_sum

CHUNK_BYTES = 1 << 24  # 16 MiB of logits at a time


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
    step = max(1, CHUNK_BYTES // (weight.shape[0] * x.itemsize))
    buffer = np.empty((min(step, len(rows)), weight.shape[0]), x.dtype)
    for a in range(0, len(rows), step):
        b = min(len(rows), a + step)
        logits = np.matmul(rows[a:b], weight.T, out=buffer[: b - a])
        losses[a:b] = _chunk(logits, bias, classes[a:b], label_smoothing, share, any(needs))
        if dx is not None:
            np.matmul(logits, weight, out=dx[a:b])
        if dweight is not None:
            dweight += logits.T @ rows[a:b]
        if dbias is not None:
            dbias += logits.sum(axis=0)
    if dx is not None and not whole:
        dx = _spread_rows(dx, counted, len(target))
    return np.asarray(losses.sum() * share, dtype=x.dtype), (dx, dweight, dbias)


def _chunk(
    logits: Array, bias: Array | None, target: Array, smoothing: float, share: float, slope: bool
) -> Array:
    """The loss of each row; the logits become their gradient (times ``share``) if ``slope`` asks for it."""
    losses, classes = np.empty(len(logits), logits.dtype), logits.shape[1]

    def work(a: int, b: int) -> None:
        block, at = logits[a:b], (np.arange(b - a), target[a:b])
        if bias is not None:
            block += bias
        block -= row_max(block)[:, None]
        picked = block[at]
        mean = row_sum(block) / classes if smoothing else 0
        np.exp(block, out=block)
        total = row_sum(block)
        losses[a:b] = np.log(total) - (1 - smoothing) * picked - smoothing * mean
        if slope:
            block *= (share / total)[:, None]
            block[at] -= share * (1 - smoothing)
            if smoothing:
                block -= block.dtype.type(share * smoothing / classes)

    over_rows(work, len(logits), logits.itemsize * classes)
    return losses


def _spread_rows(rows: Array, places: Array, count: int) -> Array:
    """Rows at their places among ``count`` rows, the others 0."""
    out = np.zeros((count, rows.shape[1]), rows.dtype)
    out[places] = rows
    return out


def backward(needs: tuple[bool, ...], saved: Any, g: Array, *args: Any) -> tuple[Array | None, ...]:
    return (*(None if s is None else s * g for s in saved), None, None, None, None)
