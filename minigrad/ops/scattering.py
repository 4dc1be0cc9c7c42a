"""Extremes and products of the elements that go to one place."""

from __future__ import annotations

from typing import Any

from ..backend import holds, xp
from ..backend.dtype import Array
from .elementwise import flow, times, where, zeros_of
from .indexing import _along, _copy, gather, getitem, scatter_add
from .joining import concatenate
from .op import bare, op
from .shape import flip, reshape


def _in_turn(join: Any, x: Array, dim: int, index: Array, src: Array) -> Array:
    """A copy of x to which each slice of ``src`` along the axis is joined in turn."""
    out, lead = _copy(x), (slice(None),) * dim
    for n in range(index.shape[dim]):
        part = (*lead, slice(n, n + 1))
        at = _along(x.ndim, dim, index[part])
        out[at] = join(out[at], src[part])
    return out


@op(
    "dx = g shared among the elements that equal y; dsrc = g at index, shared likewise",
    x=lambda g, x, dim, index, src, out: where(x == out, _share(g, x, dim, index, src, out), 0.0),
    src=lambda g, x, dim, index, src, out: where(
        src == gather(out, dim, index), gather(_share(g, x, dim, index, src, out), dim, index), 0.0
    ),
)
def scatter_extreme(x: Array, dim: int, index: Array, src: Array, largest: bool) -> Array:
    """The largest (or smallest) of x[k, j] and of all src[i, j] with index[i, j] = k, for dim 0; equal ones share
    the gradient"""
    return _in_turn(xp(x).maximum if largest else xp(x).minimum, x, dim, index, src)


def _share(g: Array, x: Array, dim: int, index: Array, src: Array, out: Array) -> Array:
    """g divided by how many elements equal the result."""
    index, x, src, out = map(bare, (index, x, src, out))
    equal = (src == gather(out, dim, index)).astype(x.dtype)
    return g / scatter_add((x == out).astype(x.dtype), dim, index, equal)


@op(
    "dx = g Π srcᵢ; dsrcᵢ = g at index · x Π srcⱼ over j ≠ i",
    x=lambda g, x, dim, index, src: flow(g, _others(x, dim, index, src)[0]),
    src=lambda g, x, dim, index, src: flow(gather(g, dim, index), _others(x, dim, index, src)[1]),
    holomorphic=True,
)
def scatter_prod(x: Array, dim: int, index: Array, src: Array) -> Array:
    """x[k, j] times all src[i, j] with index[i, j] = k, for dim 0"""
    return _in_turn(xp(x).multiply, x, dim, index, src)


def _others(x: Array, dim: int, index: Array, src: Array) -> tuple[Array, Array]:
    """For each element of x and of ``src`` the product of the others at its place (right where some are 0, too)."""
    index = bare(index)
    m, numbers = xp(index), xp(index).arange(bare(x).size).reshape(x.shape)
    places = m.concatenate((numbers.reshape(-1), numbers[_along(len(x.shape), dim, index)].reshape(-1)))
    order = m.argsort(places, kind="stable")
    places, back = places[order], m.argsort(order)
    ordered = getitem(concatenate(0, reshape(x, (-1,)), reshape(src, (-1,))), (order,))
    after = flip(_before(flip(ordered, (0,)), m.flip(places, 0)), (0,))
    others = getitem(times(_before(ordered, places), after), (back,))
    count = numbers.size
    first, rest = (getitem(others, (part,)) for part in (slice(0, count), slice(count, None)))
    return reshape(first, x.shape), reshape(rest, index.shape)


def _before(x: Array, places: Array) -> Array:
    """The product of the elements before each one at its place, where those of one place are neighbours.

    In log₂ n steps of whole arrays (Hillis and Steele 1986): each doubles how many elements a product has.
    """
    n, reach = x.shape[0], 1
    out = _joined(x, places, 1, alone=True)
    while reach < n and holds(places[reach:] == places[:-reach]):
        out, reach = _joined(out, places, reach, alone=False), 2 * reach
    return out


def _joined(x: Array, places: Array, reach: int, alone: bool) -> Array:
    """x, or 1 if ``alone``, times the element ``reach`` before it where that is at the same place."""
    first, later, earlier = (getitem(x, (p,)) for p in (slice(0, reach), slice(reach, None), slice(None, -reach)))
    same = places[reach:] == places[:-reach]
    if alone:
        return concatenate(0, zeros_of(first, first.shape) + 1, where(same, earlier, 1.0))
    return concatenate(0, first, times(later, where(same, earlier, 1.0)))
