"""Cross-entropy of logits and class indices, with a loss per row, and of ``x @ weight.T + bias`` without ever storing
all logits (see cross_entropy.cu). The latter processes one chunk of rows at a time: cuBLAS computes its logits, one
kernel turns them into losses and, in place, into the gradient for the logits, and cuBLAS computes the gradients for x,
weight and bias. So these gradients are ready with the loss, and ``backward`` only scales them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from ..dtype import Array
from ..registry import xp
from . import Gradients, Needs, wanted
from ._launch import address, contiguous, over_rows, unset_like, wide
from .cross_entropy_numba import linear_backward

CHUNK_BYTES = 1 << 28  # 256 MiB of logits


def forward(
    needs: Needs, logits: Array, target: Array, weight: Array | None, ignore_index: int, label_smoothing: float
) -> tuple[Array, tuple[Array, ...]]:
    x, index = contiguous(logits), contiguous(target, xp(target).int64)
    loss = xp(x).empty(len(x), x.dtype)
    saved = tuple(xp(x).empty((4, len(x)), wide(x)))
    options = int(ignore_index), float(label_smoothing)
    over_rows(x, "cross_entropy", "cross_entropy", x, index, address(weight, x.dtype), loss, *saved, *options)
    return loss, saved


def backward(needs: Needs, saved: tuple[Array, ...], g: Array, *args: Any) -> Gradients:
    logits, target, weight, ignore_index, label_smoothing = args
    x, index = contiguous(logits), contiguous(target, xp(target).int64)
    dx = unset_like(x)
    inputs = contiguous(g, x.dtype), x, index, address(weight, x.dtype)
    options = int(ignore_index), float(label_smoothing)
    over_rows(x, "cross_entropy", "cross_entropy_gradient", *inputs, *saved, dx, *options)
    return wanted(needs, dx)


def linear_forward(needs: Needs, *args: Any) -> tuple[Array, Gradients]:
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


KERNELS = {
    "cross_entropy": SimpleNamespace(forward=forward, backward=backward),
    "linear_cross_entropy": SimpleNamespace(forward=linear_forward, backward=linear_backward),
}
