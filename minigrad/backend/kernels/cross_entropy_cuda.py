"""Cross-entropy of logits and class indices, a loss per row: see cross_entropy.cu."""

from __future__ import annotations

from typing import Any

from ..dtype import Array
from ..registry import xp
from ._launch import address, contiguous, each_row, launch, wide


def forward(
    needs: tuple[bool, ...],
    logits: Array,
    target: Array,
    weight: Array | None,
    ignore_index: int,
    label_smoothing: float,
) -> tuple[Array, tuple[Array, Array]]:
    x = contiguous(logits)
    rows, n = x.shape
    loss = xp(x).empty(rows, x.dtype)
    lse, total = xp(x).empty((2, rows), wide(x))
    args = (
        x,
        contiguous(target, xp(x).int64),
        address(weight, x.dtype),
        loss,
        lse,
        total,
        int(ignore_index),
        float(label_smoothing),
        rows,
        n,
    )
    launch(x, "cross_entropy", "cross_entropy", *each_row(rows, n), args)
    return loss, (lse, total)


def backward(
    needs: tuple[bool, ...],
    saved: tuple[Array, Array],
    g: Array,
    logits: Array,
    target: Array,
    weight: Array | None,
    ignore_index: int,
    label_smoothing: float,
) -> tuple[Any, ...]:
    if not needs[0]:
        return (None,) * 5
    x = contiguous(logits)
    rows, n = x.shape
    dx = xp(x).empty_like(x)
    args = (
        contiguous(g, x.dtype),
        x,
        contiguous(target, xp(x).int64),
        address(weight, x.dtype),
        *saved,
        dx,
        int(ignore_index),
        float(label_smoothing),
        rows,
        n,
    )
    launch(x, "cross_entropy", "cross_entropy_gradient", *each_row(rows, n), args)
    return dx, None, None, None, None
