"""Maxima, minima and products of the elements that are scattered to the same position."""

from __future__ import annotations

from typing import Any

from ..backend import xp
from ..backend.dtype import Array
from .elementwise import flow, times, where, zeros_of
from .indexing import _along, _copy, gather, getitem, scatter, scatter_add
from .joining import concatenate
from .op import bare, op


def _in_turn(join: Any, x: Array, dim: int, index: Array, src: Array) -> Array:
    """A copy of x, combined in turn with each slice of ``src`` along the axis."""
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
    """The largest (or smallest) of x[k, j] and all src[i, j] with index[i, j] = k (dim 0); ties share the gradient"""
    return _in_turn(xp(x).maximum if largest else xp(x).minimum, x, dim, index, src)


def _share(g: Array, x: Array, dim: int, index: Array, src: Array, out: Array) -> Array:
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
    """For each element of x and ``src``, the product of the others at its position (correct even if some are 0)."""
    index = bare(index)
    slices = [(*(slice(None),) * dim, slice(n, n + 1)) for n in range(index.shape[dim])]
    before, _ = _running(x, dim, index, src, slices)
    after, others_of_x = _running(zeros_of(x, x.shape) + 1, dim, index, src, slices[::-1])
    pairs = zip(before, after[::-1], strict=True)
    return others_of_x, concatenate(dim, *(times(*pair) for pair in pairs)) if slices else src


def _running(total: Array, dim: int, index: Array, src: Array, slices: Any) -> tuple[list[Array], Array]:
    """For each slice of ``src``, the products at its positions before it is multiplied in; and the final products."""
    products = []
    for part in slices:
        products.append(gather(total, dim, index[part]))
        total = scatter(total, dim, index[part], times(products[-1], getitem(src, part)))
    return products, total
