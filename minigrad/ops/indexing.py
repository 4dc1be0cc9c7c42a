"""Reading and writing elements by index or mask."""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from math import isqrt, prod
from typing import Any

import numpy as np

from ..backend import in_order, xp
from ..backend.dtype import Array, counted, widened
from .elementwise import where
from .op import Op, Traced, bare, op
from .shape import Shape, reshape


def is_basic(index: tuple[Any, ...]) -> bool:
    """Whether an index is basic (integers, slices, None, ellipsis), so that it selects each element at most once."""
    return _BASIC.issuperset(map(type, index)) or not any(hasattr(i, "dtype") or isinstance(i, list) for i in index)


_BASIC = frozenset((int, slice, type(None), type(Ellipsis)))


def _copy(x: Array) -> Array:
    """A writable copy (an array even for a NumPy scalar), in a memory order that ``reshape`` can view."""
    return xp(x).array(x, order="C")


def _add_at(out: Array, index: Any, values: Array) -> None:
    """out[index] += values, where repeated indices accumulate. Bools are combined by logical or."""
    add = xp(out).add.at
    if out.dtype.kind == "b":
        count = out.astype(np.int32)
        add(count, index, values.astype(np.int32))
        out[...] = count != 0
    elif out.dtype.kind == "c":
        add(out.real, index, values.real)
        add(out.imag, index, values.imag)
    else:
        add(out, index, values)


@op("dx = zeros with g added at index", x=lambda g, shape, index: put_back(g, shape, index), view=True)
def getitem(x: Array, index: tuple[Any, ...]) -> Array:
    """x[index], which is a view for integers and slices, and a copy for integer arrays and masks"""
    if not is_basic(index):
        return in_order(x[index])
    return x[index] if ... in index else x[(*index, ...)]  # with the ellipsis, even a single element is a view


@op("dx = g[index]", x=lambda g, index: getitem(g, index))
def put_back(x: Array, size: Shape, index: tuple[Any, ...]) -> Array:
    """Zeros of a shape, with x added at an index: the inverse of ``getitem``. Repeated indices accumulate"""
    out = xp(x).zeros(size, x.dtype)
    if is_basic(index) or all(not hasattr(i, "dtype") or i.dtype.kind == "b" for i in index):
        out[index] = x
    elif len(index) == 1 and len(size) > 1 and x.size:
        flat = index[0].reshape(-1) % size[0]  # negative indices count from the end
        return scatter_add_rows(x.reshape(flat.size, prod(size[1:])), flat, size[0]).reshape(size)
    else:
        to, places = out, index
        if type(out) is np.ndarray and x.size > _MANY and len(index) == out.ndim:
            with suppress(ValueError, TypeError):  # raised for negative numbers and slices
                places, to = np.ravel_multi_index(index, size), out.reshape(-1)
        _add_at(to, places, x)
    return out


_MANY = 64  # from this many elements, NumPy adds several times faster to a vector than to a matrix, in the same order


@op("dxᵢ = g at row indicesᵢ", x=lambda g, indices: index_select(g, 0, indices))
def scatter_add_rows(x: Array, indices: Array, rows: int) -> Array:
    """out[indices[i]] += x[i], where out (rows, D) starts as zeros: an embedding's gradient"""
    return index_add((rows, x.shape[1]), 0, indices, x)


@op(
    "dx = g with 0 at index; dvalue = g[index]",
    x=lambda g, index: put(g, 0.0, index),
    value=lambda g, index: getitem(g, index),
)
def put(x: Array, value: Array, index: tuple[Any, ...]) -> Array:
    """A copy of x with x[index] = value"""
    out = _copy(x)
    out[index] = value
    return out


@op(
    "dx = g with 0 in the view; dvalue = view(g)",
    x=lambda g, view, args, slot: assign_view(g, 0.0, view, args, slot),
    value=lambda g, view, args, slot: _view_of(g, view, args, slot),
)
def assign_view(x: Array, value: Array, view: Op, args: tuple[Any, ...], slot: int) -> Array:
    """A copy of x in which the part that ``view(x, *args)`` selects is ``value``"""
    out = _copy(x)
    _view_of(out, view, args, slot)[...] = value
    return out


def _view_of(x: Array, view: Op, args: tuple[Any, ...], slot: int) -> Array:
    part = view(x, *args)
    return part[slot] if isinstance(part, tuple) else part


@op("dx = zeros with g added at index along dim", x=lambda g, shape, dim, index: _spread_out(g, shape, dim, index))
def gather(x: Array, dim: int, index: Array) -> Array:
    """out[i, j] = x[index[i, j], j] for dim 0, and so on for other axes"""
    return x[_along(x.ndim, dim, index)]


def _along(ndim: int, dim: int, index: Array) -> tuple[Array, ...]:
    """Index arrays with ``index`` along one axis, and each element's own position along the other axes."""
    small = type(index) is np.ndarray and index.size <= 4096
    grid = list((_small_grid if small else _grid)(xp(index), index.shape, ndim))
    grid[dim] = index
    return tuple(grid)


def _grid(m: Any, shape: Shape, ndim: int) -> list[Array]:
    return [m.arange(n).reshape((1,) * i + (n,) + (1,) * (ndim - i - 1)) for i, n in enumerate(shape)]


_small_grid = lru_cache(64)(_grid)  # creating a grid takes longer than reading it


def _spread_out(g: Array, shape: Shape, dim: int, index: Array) -> Array:
    """Zeros of a shape, with g added at the elements that ``gather`` read."""
    array = bare(g)
    return scatter_add(xp(array).zeros(shape, array.dtype), dim, index, g)


@op(
    "dx = g with 0 at index along dim; dsrc = g at index along dim",
    x=lambda g, dim, index: scatter(g, dim, index, 0.0),
    src=lambda g, shape, dim, index: _in_corner(gather(g, dim, index), shape),
)
def scatter(x: Array, dim: int, index: Array, src: Array) -> Array:
    """A copy of x with out[index[i, j], j] = src[i, j] for dim 0; src is an array or a number"""
    out = _copy(x)
    out[_along(x.ndim, dim, index)] = src[_corner(index.shape)] if hasattr(src, "shape") else src
    return out


def _corner(shape: Shape) -> tuple[slice, ...]:
    return tuple(slice(0, n) for n in shape)


def _in_corner(x: Array, shape: Shape) -> Array:
    """x padded with zeros to a shape (for the part of ``src`` without an index)."""
    return x if x.shape == shape else put_back(x, shape, _corner(x.shape))


@op(
    "dx = g; dsrc = g at index along dim",
    x=lambda g: g,
    src=lambda g, shape, dim, index: _in_corner(gather(g, dim, index), shape),
)
def scatter_add(x: Array, dim: int, index: Array, src: Array) -> Array:
    """A copy of x with out[index[i, j], j] += src[i, j] for dim 0; repeated indices accumulate"""
    out = _copy(x)
    _add_at(out, _along(x.ndim, dim, index), src[_corner(index.shape)])
    return out


@op("dx = zeros with the slices of g added at index", x=lambda g, shape, dim, index: index_add(shape, dim, index, g))
def index_select(x: Array, dim: int, index: Array) -> Array:
    """The slices along an axis that a one-dimensional index selects"""
    return xp(x).take(x, index, axis=dim)


@op("dsrc = the slices of g at index", src=lambda g, dim, index: index_select(g, dim, index))
def index_add(size: Shape, dim: int, index: Array, src: Array) -> Array:
    """Zeros of a shape, with slice i of src added to slice index[i] along ``dim``"""
    m = xp(src)
    out = m.zeros(size, src.dtype)
    _add_at(m.moveaxis(out, dim, 0), index, m.moveaxis(src, dim, 0))
    return out


@op("dx = 0 where the mask is True, else g", x=lambda g, mask: where(mask, 0.0, g))
def masked_fill(x: Array, mask: Array, value: float) -> Array:
    """x with ``value`` where the mask is True"""
    return in_order(xp(x).where(mask, xp(x).asarray(value, x.dtype), x))


def _row_gradient(g: Array, shape: Shape, indices: Array, padding_idx: int | None) -> Array:
    """The rows of g summed by index, without those for ``padding_idx``."""
    flat = indices.reshape(-1)
    rows = scatter_add_rows(reshape(g, (prod(flat.shape), shape[1])), flat, shape[0])
    if padding_idx is None:
        return rows
    if isinstance(rows, Traced):
        return put(rows, 0.0, (padding_idx,))
    rows[padding_idx] = 0
    return rows


@op("dW = the rows of g added up by index", weight=_row_gradient)
def embedding(weight: Array, indices: Array, padding_idx: int | None = None) -> Array:
    """The rows of ``weight`` (V, D) at indices (...), as (..., D); the row ``padding_idx`` gets no gradient"""
    return xp(weight).take(weight, indices, axis=0)


@op
def nonzero(x: Array) -> tuple[Array, ...]:
    """The indices of the nonzero elements, as one array per axis"""
    return tuple(map(counted, xp(x).nonzero(x)))


@op(
    "dx = g put back in the order of x",
    x=lambda g, shape, x, dim, descending: _spread_out(g[0], shape, dim, _stable_order(bare(x), dim, descending)),
)
def sort(x: Array, dim: int = -1, descending: bool = False) -> tuple[Array, Array]:
    """(values, indices) sorted along an axis; equal elements keep their order"""
    order = _stable_order(x, dim, descending)
    return in_order(xp(x).take_along_axis(x, order, dim)), in_order(order)


@op(
    "dx = g at the places it was taken from, else 0",
    x=lambda g, shape, x, k, dim, largest: _spread_out(g[0], shape, dim, _top_order(bare(x), k, dim, largest)),
)
def topk(x: Array, k: int, dim: int = -1, largest: bool = True) -> tuple[Array, Array]:
    """(values, indices) of the k largest (or smallest) elements along an axis, sorted"""
    order = _top_order(x, k, dim, largest)
    return in_order(xp(x).take_along_axis(x, order, dim)), in_order(order)


def _stable_order(x: Array, dim: int, descending: bool) -> Array:
    """Indices that sort an axis stably, in either direction."""
    m, x = xp(x), widened(x)
    if not descending:
        return counted(m.argsort(x, axis=dim, kind="stable"))
    backwards = counted(m.argsort(m.flip(x, dim), axis=dim, kind="stable"))
    return x.shape[dim] - 1 - m.flip(backwards, dim)


def _top_order(x: Array, k: int, dim: int, largest: bool) -> Array:
    """Indices of the k largest elements, in order. Partitions first if that avoids sorting a long axis."""
    m, n = xp(x), x.shape[dim] if x.ndim else 1
    if not 0 <= k <= n:
        raise RuntimeError(f"topk: selected index k out of range: k is {k}, but the axis has {n} elements")
    rows = m.moveaxis(x, dim, -1)
    in_part, is_float, key = 0 < 8 * k < n, rows.dtype.kind == "f", rows
    if largest:
        key = -rows if is_float else ~rows
    if is_float and (largest or in_part):  # NaN counts as the largest
        if m is not np:  # checking for NaN would wait for the GPU, so NaN becomes inf, and inf the largest number
            most, end = key.dtype.type(np.finfo(key.dtype).max), key.dtype.type(-np.inf if largest else np.inf)
            key = m.where(m.isnan(rows), end, m.clip(key, -most, most))
        elif np.isnan(rows).any():
            return m.moveaxis(m.moveaxis(_stable_order(x, dim, largest), dim, -1)[..., :k], -1, dim)
    if in_part:
        near = _smallest(key, k)
        near = m.sort(near, axis=-1)  # so that equal elements keep their order
        order = m.argsort(m.take_along_axis(key, near, -1), axis=-1, kind="stable")
        indices = m.take_along_axis(near, order, -1)
    else:
        indices = m.argsort(key, axis=-1, kind="stable")[..., :k]
    return counted(m.moveaxis(indices, -1, dim))


def _smallest(key: Array, k: int) -> Array:
    """Indices of the k smallest along the last axis, in any order. All are in the k groups with the lowest minima."""
    m, parts = xp(key), isqrt(key.shape[-1] // k)
    groups = key.shape[-1] // parts
    if parts < 4:
        return m.argpartition(key, k - 1, axis=-1)[..., :k]
    lead, even = key.shape[:-1], groups * parts
    least = key[..., :even].reshape(*lead, parts, groups).min(-2)  # the elements of a group are ``groups`` apart
    first = m.argpartition(least, k - 1, axis=-1)[..., :k]
    places = (first[..., None] + groups * m.arange(parts)).reshape(*lead, k * parts)
    rest = m.broadcast_to(m.arange(even, key.shape[-1]), (*lead, key.shape[-1] - even))
    places = m.concatenate((places, rest), -1)
    order = m.argpartition(m.take_along_axis(key, places, -1), k - 1, axis=-1)[..., :k]
    return m.take_along_axis(places, order, -1)
