"""Joining, splitting and repeating arrays, and reading them in windows."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from ..backend import in_order, xp
from ..backend.dtype import Array
from ..backend.registry import address
from ..backend.storage import owner
from .elementwise import wide
from .indexing import getitem, index_add, put_back
from .op import bare, op
from .reduction import sum as sum_over
from .shape import Shape, permute, reshape


@op("dx = Σ g over the copies", x=lambda g, shape, repeats: _sum_tiles(g, shape, repeats))
def repeat(x: Array, repeats: Shape) -> Array:
    """x repeated ``repeats`` times along each axis"""
    return xp(x).tile(x, repeats)


def _sum_tiles(g: Array, shape: Shape, repeats: Shape) -> Array:
    padded = (1,) * (len(repeats) - len(shape)) + tuple(shape)
    split = tuple(n for pair in zip(repeats, padded, strict=True) for n in pair)
    return reshape(sum_over(reshape(g, split), tuple(range(0, len(split), 2)), False), shape)


@op(
    "dxᵢ = the part of g that xᵢ became",
    xs=lambda g, dim, which, shapes: _part(g, dim, [shape[dim] for shape in shapes], which),
)
def concatenate(dim: int, *xs: Array) -> Array:
    """Arrays joined along an existing axis"""
    return in_order(xp(xs[0]).concatenate(xs, axis=dim))


def _part(g: Array, dim: int, lengths: list[int], index: int) -> Array:
    start = sum(lengths[:index])
    lead = (slice(None),) * (dim % len(g.shape))
    return getitem(g, (*lead, slice(start, start + lengths[index])))


@op(
    "dx = g without its margins",
    x=lambda g, widths: getitem(g, tuple(slice(b, n - a) for (b, a), n in zip(widths, g.shape, strict=True))),
)
def pad(x: Array, widths: tuple[tuple[int, int], ...], value: float = 0.0) -> Array:
    """x padded on each axis with (before, after) elements of a constant value"""
    return in_order(xp(x).pad(x, widths, mode="constant", constant_values=value))


@op("dx = the gᵢ one after another", x=lambda g, dim: _rejoined(g, dim, concatenate), view=True)
def split(x: Array, sizes: tuple[int, ...], dim: int) -> tuple[Array, ...]:
    """Consecutive pieces along an axis, with these lengths"""
    lead, pieces, start = (slice(None),) * (dim % x.ndim), [], 0
    for size in sizes:
        pieces.append(x[(*lead, slice(start, start + size))])
        start += size
    return tuple(pieces)


@op("dx = the gᵢ side by side", x=lambda g, dim: _rejoined(g, dim, stack), view=True)
def unbind(x: Array, dim: int) -> tuple[Array, ...]:
    """The slices along an axis, without that axis"""
    lead = (slice(None),) * (dim % x.ndim)
    return tuple(x[(*lead, i, ...)] for i in range(x.shape[dim]))


def _rejoined(pieces: tuple[Array, ...], dim: int, join: Callable[..., Array]) -> Array:
    """The result of ``stack`` or ``concatenate``. It is a view if the pieces are already slices of one array in memory.
    The three gradients of attention are such slices, so each layer saves a copy."""
    first, at = pieces[0], dim % (pieces[0].ndim + (join is stack))
    if first is bare(first) and getattr(first, "base", None) is not None:
        same = all(p.base is first.base and (p.shape, p.strides) == (first.shape, first.strides) for p in pieces)
        steps = {address(b) - address(a) for a, b in pairwise(pieces)} or {0}
        if same and len(steps) == 1:
            shape = (*first.shape[:at], len(pieces), *first.shape[at:])
            strides = (*first.strides[:at], *steps, *first.strides[at:])
            whole = xp(first).lib.stride_tricks.as_strided(first, shape, strides)
            if whole.flags.c_contiguous:
                return whole if join is stack else whole.reshape(*shape[:at], -1, *shape[at + 2 :])
    return join(dim, *pieces)


@op("dxᵢ = slice i of g", xs=lambda g, dim, which: getitem(g, (*(slice(None),) * (dim % len(g.shape)), which, ...)))
def stack(dim: int, *xs: Array) -> Array:
    """Arrays of the same shape joined along a new axis"""
    return in_order(xp(xs[0]).stack(xs, axis=dim))


@op("dx = Σ g over the copies of each element", x=lambda g, shape, repeats, dim: _sum_runs(g, shape, repeats, dim))
def repeat_interleave(x: Array, repeats: Any, dim: int) -> Array:
    """Each element of an axis repeated ``repeats`` times (one count, or one per element)"""
    return xp(x).repeat(x, _times(repeats), axis=dim)


def _times(repeats: Any) -> Any:
    """Repeat counts in a dtype that array libraries accept (on 32-bit systems, they reject int64)."""
    return repeats.astype(np.intp, copy=False) if hasattr(repeats, "dtype") else repeats


def _sum_runs(g: Array, shape: Shape, repeats: Any, dim: int) -> Array:
    module = xp(repeats) if hasattr(repeats, "dtype") else xp(bare(g))
    source = module.repeat(module.arange(shape[dim]), _times(repeats))
    return index_add(shape, dim, source, g)


def place_in_memory(x: Array) -> tuple[int, int]:
    """The position of the first element of x in its memory, and the number of elements in that memory."""
    memory = owner(x)
    reach = sum((n - 1) * step for n, step in zip(memory.shape, memory.strides, strict=True))
    if memory.size and (reach + memory.itemsize != memory.nbytes or min(memory.strides, default=0) < 0):
        raise RuntimeError("the tensor's memory has gaps: clone() it first")
    start = address(x) - address(memory) if x.size else 0
    return start // x.itemsize, memory.size * memory.itemsize // x.itemsize


def strided_places(m: Any, size: Shape, stride: Shape, offset: int) -> Array:
    """The position in memory of each element for a shape with these strides."""
    places = m.zeros(size, np.int64) + offset
    for axis, (n, step) in enumerate(zip(size, stride, strict=True)):
        places = places + (m.arange(n) * step).reshape((n,) + (1,) * (len(size) - axis - 1))
    return places


def _strided_back(g: Array, x: Array, size: Shape, stride: Shape, offset: int) -> Array:
    """For each element of x, the sum of the gradients of all elements that share its memory."""
    x = bare(x)
    m, (start, length) = xp(x), place_in_memory(x)
    memory = put_back(wide(g), (length,), (strided_places(m, size, stride, offset),))
    return getitem(memory, (strided_places(m, x.shape, tuple(n // x.itemsize for n in x.strides), start),))


@op("dx = Σ g over the elements that show a place in memory", x=_strided_back, view=True)
def as_strided(x: Array, size: Shape, stride: Shape, offset: int) -> Array:
    """Elements of x's memory, selected by a shape, strides and an offset (in elements). The result is a view if a NumPy
    array covers all of that memory in order, else a copy"""
    if type(x) is np.ndarray and x.flags.c_contiguous and x.size == owner(x).size:
        steps = tuple(n * x.itemsize for n in stride)
        return np.ndarray(size, x.dtype, x.reshape(-1).view(np.uint8), offset * x.itemsize, steps)
    memory = owner(x).ravel(order="K").view(x.dtype)
    return memory[strided_places(xp(x), size, stride, offset)]


def _refold(g: Array, shape: Shape, dim: int, size: int, step: int) -> Array:
    m, count, last = xp(bare(g)), g.shape[dim], len(g.shape) - 1
    order = (*range(dim + 1), last, *range(dim + 1, last))
    merged = reshape(permute(g, order), (*shape[:dim], count * size, *shape[dim + 1 :]))
    places = (m.arange(count) * step)[:, None] + m.arange(size)
    return index_add(shape, dim, places.reshape(-1), merged)


@op("dx = Σ g over the windows that hold an element", x=_refold)
def unfold(x: Array, dim: int, size: int, step: int) -> Array:
    """Windows of ``size`` elements along an axis, one every ``step`` (a copy). The axis indexes the windows, and a new
    last axis indexes their elements"""
    m = xp(x)
    count = (x.shape[dim] - size) // step + 1
    places = (m.arange(count) * step)[:, None] + m.arange(size)
    windows = m.take(x, places.reshape(-1), axis=dim)
    return m.moveaxis(windows.reshape(*x.shape[:dim], count, size, *x.shape[dim + 1 :]), dim + 1, -1)
