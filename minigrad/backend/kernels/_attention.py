"""Shared code for the attention kernels: factors, masks, and the memory layout of results and gradients. Shape letters:
B batch, H heads, T and S target and source length, D and Dv width of a head."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from ..dtype import Array
from ..registry import address, xp


def factor(keep: Any, dropout_p: float) -> float:
    """The factor for the elements that dropout keeps."""
    return 1.0 if keep is None else 1 / (1 - dropout_p) if dropout_p < 1 else 0.0


def empty_result(query: Array, value: Array) -> Array:
    """An empty array (B, H, T, Dv) with memory layout (B, T, H, Dv), as the next layer needs it."""
    batch, heads, length, _ = query.shape
    return xp(query).empty((batch, length, heads, value.shape[-1]), query.dtype).transpose(0, 2, 1, 3)


def laid_like(*xs: Array) -> list[Array]:
    """Empty arrays of shape (B, H, T, D), laid out as (B, T, H, D) or (T, B, H, D), so that joining heads is a view.
    For slices of one (B, T, n, H, D), they are slices of a new array, so that joining these is a view as well."""
    n, (batch, heads, length, width) = len(xs), xs[0].shape
    gaps = {address(b) - address(a) for a, b in pairwise(xs)}
    if n > 1 and not (gaps == {heads * width * xs[0].itemsize} and len({(x.shape, x.strides) for x in xs}) == 1):
        return [*laid_like(xs[0]), *laid_like(*xs[1:])]
    by_batch = xs[0].strides[0] >= xs[0].strides[2]
    memory = xp(xs[0]).empty((*((batch, length) if by_batch else (length, batch)), n, heads, width), xs[0].dtype)
    return [memory[:, :, i].transpose((0, 2, 1, 3) if by_batch else (1, 2, 0, 3)) for i in range(n)]


def sum_to(grad: Array, mask: Any) -> Array:
    """A mask's gradient: that for the scores (B, H, T, S), summed over the axes along which the mask was broadcast."""
    full = (1,) * (4 - mask.ndim) + mask.shape
    axes = tuple(i for i, n in enumerate(full) if n == 1 < grad.shape[i])
    return grad.sum(axis=axes, keepdims=True).reshape(mask.shape).astype(mask.dtype, copy=False)
