"""Cross-entropy of ``x @ weight.T + bias`` without ever holding all the logits: see cross_entropy.cu.

A chunk of rows at a time: its logits by cuBLAS, then one kernel that turns them into losses and, in their own
place, into the gradient of the logits, from which cuBLAS makes the gradients of x, weight and bias. So these
are known when the loss is, and ``backward`` has only to scale them.
"""

from __future__ import annotations

from typing import Any

from ..dtype import Array
from ..registry import xp
from . import Gradients, Needs
from ._launch import contiguous, over_rows, wide
from .linear_cross_entropy_numba import backward

__all__ = ["backward", "forward"]

CHUNK_BYTES = 1 << 28  # of logits: 256 MiB


def forward(needs: Needs, *args: Any) -> tuple[Array, Gradients]:
    x, weight, bias, target, ignore_index, label_smoothing, reduction = args
    m, rows, classes = xp(x), x.shape[0], weight.shape[0]
    target = contiguous(target, m.int64)
    scale = 1 / (target != ignore_index).sum(dtype=wide(x)) if reduction == "mean" else m.ones((), wide(x))
    losses, dx = m.empty(rows, wide(x)), m.empty(x.shape, x.dtype) if needs[0] else None
    dweight = dbias = None
    step = max(1, CHUNK_BYTES // max(1, classes * x.dtype.itemsize))
    for start in range(0, max(1, rows), step):
        part = slice(start, start + step)
        logits = x[part] @ weight.T
        if bias is not None:
            logits += bias
        rows_args = logits, target[part], losses[part], scale, int(ignore_index), float(label_smoothing)
        over_rows(logits, "cross_entropy", "cross_entropy_in_place", *rows_args)
        if dx is not None:
            m.matmul(logits, weight, out=dx[part])
        dweight = _plus(dweight, logits.T @ x[part]) if needs[1] else None
        dbias = _plus(dbias, logits.sum(axis=0)) if needs[2] else None
    loss = (losses.sum() * scale).astype(x.dtype, copy=False)
    return loss, (dx, dweight, dbias)


def _plus(total: Array | None, part: Array) -> Array:
    if total is None:
        return part
    total += part
    return total
