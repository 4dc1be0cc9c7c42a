"""Ops that return the same elements in another shape or order, as views if possible."""

from __future__ import annotations

import numpy as np

from ..backend import in_order, xp
from ..backend.dtype import Array
from .op import op

Shape = tuple[int, ...]


@op("dx = g in the shape of x", x=lambda g, shape: reshape(g, shape), view=True)
def reshape(x: Array, size: Shape) -> Array:
    """The same elements in another shape; a length of -1 is inferred"""
    return x.reshape(size)


@op(
    "dx = g with its axes put back",
    x=lambda g, dims: permute(g, tuple(sorted(range(len(dims)), key=lambda i: dims[i] % len(dims)))),
    view=True,
)
def permute(x: Array, dims: Shape) -> Array:
    """x with its axes in another order"""
    return x.transpose(dims)


@op("dx = gᵀ", x=lambda g, dim0, dim1: transpose(g, dim0, dim1), view=True)
def transpose(x: Array, dim0: int, dim1: int) -> Array:
    """x with two axes swapped"""
    return x.swapaxes(dim0, dim1)


@op("dx = g without the new axis", x=lambda g, shape: reshape(g, shape), view=True)
def unsqueeze(x: Array, dim: int) -> Array:
    """x with a new axis of length 1 at ``dim``"""
    return xp(x).expand_dims(x, dim)


@op("dx = g in the shape of x", x=lambda g, shape: reshape(g, shape), view=True)
def squeeze(x: Array, dim: int | Shape | None = None) -> Array:
    """x without its axes of length 1 (or only the ones in ``dim``, if specified)"""
    axes = range(x.ndim) if dim is None else [d % max(x.ndim, 1) for d in ((dim,) if isinstance(dim, int) else dim)]
    return x.reshape(tuple(n for i, n in enumerate(x.shape) if n != 1 or i not in axes))


@op("dx = Σ g over the broadcast axes", x=lambda g: g, view=True)
def broadcast_to(x: Array, size: Shape) -> Array:
    """x repeated along axes of length 1 and new leading axes, without a copy (the backward pass sums g)"""
    out = xp(x).broadcast_to(x, size)
    if getattr(x.flags, "writeable", False):  # NumPy's result is read-only; the tape rejects invalid writes
        out.flags.writeable = True
    return out


@op(
    "dx = zeros with g on the diagonal",
    x=lambda g, shape, offset, dim1, dim2: diagonal_scatter(g, shape, offset, dim1, dim2),
    view=True,
)
def diagonal(x: Array, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Array:
    """The elements (i, i + offset) of two axes, as a new last axis"""
    out = xp(x).diagonal(x, offset, dim1, dim2)
    if type(out) is np.ndarray:
        out.flags.writeable = x.flags.writeable  # NumPy returns a read-only view as a precaution
    return out


@op("dx = the diagonal of g", x=lambda g, offset, dim1, dim2: diagonal(g, offset, dim1, dim2))
def diagonal_scatter(x: Array, size: Shape, offset: int, dim1: int, dim2: int) -> Array:
    """Zeros of a shape, with x on a diagonal: the inverse of ``diagonal``"""
    m = xp(x)
    out = m.zeros(size, x.dtype)
    moved = m.moveaxis(out, (dim1, dim2), (-2, -1))
    i = m.arange(x.shape[-1])
    moved[..., i + max(-offset, 0), i + max(offset, 0)] = x
    return out


@op("dx = g flipped along dims", x=lambda g, dims: flip(g, dims))
def flip(x: Array, dims: Shape) -> Array:
    """x with the order of elements reversed along ``dims``"""
    return xp(x).flip(x, dims).copy()


@op(
    "dx = g rolled back",
    x=lambda g, shifts, dims: roll(g, tuple(-s for s in shifts) if isinstance(shifts, tuple) else -shifts, dims),
)
def roll(x: Array, shifts: int | Shape, dims: int | Shape | None = None) -> Array:
    """x with elements shifted along ``dims``; elements shifted past the end reappear at the start"""
    return in_order(xp(x).roll(x, shifts, dims))


@op("dx = the lower triangle of g", x=lambda g, diagonal: tril(g, diagonal))
def tril(x: Array, diagonal: int = 0) -> Array:
    """The lower triangle of the last two axes, with zeros above it"""
    return in_order(xp(x).tril(x, diagonal))


@op("dx = the upper triangle of g", x=lambda g, diagonal: triu(g, diagonal))
def triu(x: Array, diagonal: int = 0) -> Array:
    """The upper triangle of the last two axes, with zeros below it"""
    return in_order(xp(x).triu(x, diagonal))
