"""What the kernels of attention share: factors, masks, and where results and gradients lie in memory.

Shape letters: B batch, H heads, T and S target and source length, D and Dv width of a head.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from ..dtype import Array
from ..registry import address, xp


def factor(keep: Any, dropout_p: float) -> float:
    """The factor of the elements that dropout keeps."""
    return 1.0 if keep is None else 1 / (1 - dropout_p) if dropout_p < 1 else 0.0


def empty_result(query: Array, value: Array) -> Array:
    """(B, H, T, Dv), which lies as (B, T, H, Dv) in memory: the layer that follows wants it so."""
    batch, heads, length, _ = query.shape
    return xp(query).empty((batch, length, heads, value.shape[-1]), query.dtype).transpose(0, 2, 1, 3)


def laid_like(query: Array, key: Array, value: Array) -> list[Array]:
    """Empty arrays of the shapes of the three, side by side in one memory where these are (slices of one
    projection): the way back through the slices is then a view."""
    for together in ((query, key, value), (key, value)):
        if _side_by_side(together):
            packed = _packed(together)
            return packed if len(packed) == 3 else [*_packed((query,)), *packed]
    return [_packed((x,))[0] for x in (query, key, value)]


def _side_by_side(xs: tuple[Array, ...]) -> bool:
    """Whether (B, H, T, D) arrays are neighbouring slices of one (B, T, n, H, D), or (T, B, n, H, D)."""
    first = xs[0]
    _, heads, _, width = first.shape
    size = first.itemsize
    if first.base is None or (first.strides[1], first.strides[3]) != (width * size, size):
        return False
    if any(x.base is not first.base or x.shape != first.shape or x.strides != first.strides for x in xs):
        return False
    places = [address(x) for x in xs]
    return all(b - a == heads * width * size for a, b in pairwise(places))


def _packed(xs: tuple[Array, ...]) -> list[Array]:
    """Empty arrays like (B, H, T, D) ones, in one memory of (B, T, n, H, D), or (T, B, n, H, D)."""
    batch, heads, length, width = xs[0].shape
    by_batch = xs[0].strides[0] >= xs[0].strides[2]
    lead = (batch, length) if by_batch else (length, batch)
    memory = xp(xs[0]).empty((*lead, len(xs), heads, width), xs[0].dtype)
    axes = (0, 2, 1, 3) if by_batch else (1, 2, 0, 3)
    return [memory[:, :, i].transpose(axes) for i in range(len(xs))]


def sum_to(slope: Array, mask: Any) -> Array:
    """The scores' gradient (B, H, T, S) summed over the axes that the mask was broadcast along."""
    full = (1,) * (4 - mask.ndim) + mask.shape
    axes = tuple(i for i, n in enumerate(full) if n == 1 < slope.shape[i])
    return slope.sum(axis=axes, keepdims=True).reshape(mask.shape).astype(mask.dtype, copy=False)
