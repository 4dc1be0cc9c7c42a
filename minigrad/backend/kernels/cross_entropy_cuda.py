"""Cross-entropy of logits and class indices, a loss per row: see cross_entropy.cu."""

from __future__ import annotations

from typing import Any

from ..dtype import Array
from ..registry import xp
from . import Gradients, Needs, wanted
from ._launch import address, contiguous, over_rows, unset_like, wide


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
