"""Shared code for the attention kernels: factors, masks, and the memory layout of results and gradients. Shape letters:
B batch, H heads, T and S target and source length, D and Dv width of a head."""

from __future__ import annotations

from typing import Any

from ..dtype import Array
from ..registry import xp


def factor(keep: Any, dropout_p: float) -> float:
    """The factor for the elements that dropout keeps."""
    return 1.0 if keep is None else 1 / (1 - dropout_p) if dropout_p < 1 else 0.0


def empty_result(query: Array, value: Array) -> Array:
    """An empty array (B, H, T, Dv) with memory layout (B, T, H, Dv), as the next layer needs it."""
    batch, heads, length, _ = query.shape
    return xp(query).empty((batch, length, heads, value.shape[-1]), query.dtype).transpose(0, 2, 1, 3)


def laid_like(x: Array) -> Array:
    """An empty array like x (B, H, T, D), laid out as (B, T, H, D) or (T, B, H, D), so that joining heads is a view."""
    batch, heads, length, width = x.shape
    if x.strides[0] >= x.strides[2]:
        return xp(x).empty((batch, length, heads, width), x.dtype).transpose(0, 2, 1, 3)
    return xp(x).empty((length, batch, heads, width), x.dtype).transpose(1, 2, 0, 3)


def sum_to(grad: Array, mask: Any) -> Array:
    """The gradient for the scores (B, H, T, S), summed over the axes along which the mask was broadcast."""
    full = (1,) * (4 - mask.ndim) + mask.shape
    axes = tuple(i for i, n in enumerate(full) if n == 1 < grad.shape[i])
    return grad.sum(axis=axes, keepdims=True).reshape(mask.shape).astype(mask.dtype, copy=False)
