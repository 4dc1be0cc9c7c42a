"""Products along an axis, cumulative sums and cumulative products."""

from __future__ import annotations

import math
from itertools import accumulate
from typing import Any

import numpy as np

from ..backend import in_order, xp
from ..backend.dtype import Array
from .elementwise import exp, flow, level, log_of_sum, times, where, zeros_of
from .indexing import getitem
from .joining import concatenate
from .op import op
from .reduction import spread
from .shape import flip, reshape


def _wide(x: Array) -> Any:
    """The dtype for sums and products: int64 for bools and integers of any width."""
    return x.dtype if x.dtype.kind in "fc" else np.int64


def _accumulated(run: Any, x: Array, dim: int) -> Array:
    """Cumulative results. On the CPU, they are computed in double precision and rounded once, as in PyTorch."""
    wider = {"f": np.float64, "F": np.complex128} if type(x) is np.ndarray else {}
    result = run(axis=dim, dtype=wider.get(x.dtype.char, _wide(x))).reshape(x.shape)
    return in_order(result if x.dtype.kind in "biu" else result.astype(x.dtype, copy=False))


@op(
    "dxᵢ = g Π xⱼ over j ≠ i", x=lambda g, x, shape, dim: flow(spread(g, shape, dim), _others(x, dim)), holomorphic=True
)
def prod(x: Array, dim: int | None = None, keepdim: bool = False) -> Array:
    """Π x"""
    return x.prod(axis=dim, keepdims=keepdim, dtype=_wide(x))


def _others(x: Array, dim: int | None) -> Array:
    """For each element, the product of all other elements (correct even if some are zero)."""
    if dim is None:
        return reshape(_others(reshape(x, (-1,)), 0), x.shape)
    before = cumprod_exclusive(x, dim)
    after = flip(cumprod_exclusive(flip(x, (dim,)), dim), (dim,))
    return times(before, after)


def cumprod_exclusive(x: Array, dim: int) -> Array:
    """Products of the elements before each one. A product with a zero is 0, even if other factors overflow."""
    n, axis = x.shape[dim], dim % len(x.shape)
    lead = (slice(None),) * axis
    first = getitem(x, (*lead, slice(0, 1)))
    parts = [level(zeros_of(first, first.shape) + 1, first)]
    for i in range(n - 1):
        parts.append(times(parts[-1], getitem(x, (*lead, slice(i, i + 1)))))
    return concatenate(axis, *parts)


@op("dxᵢ = Σ gₖ over k ≥ i", x=lambda g, dim: flip(cumsum(flip(g, (dim,)), dim), (dim,)))
def cumsum(x: Array, dim: int) -> Array:
    """Cumulative sums along an axis"""
    return _accumulated(x.cumsum, x, dim)


@op("dxᵢ = Σₖ≥ᵢ gₖ Π xⱼ over j ≤ k, j ≠ i", x=lambda g, x, dim: _cumprod_grad(g, x, dim), holomorphic=True)
def cumprod(x: Array, dim: int) -> Array:
    """Cumulative products along an axis"""
    return _accumulated(x.cumprod, x, dim)


def _cumprod_grad(g: Array, x: Array, dim: int) -> Array:
    """Σₖ gₖ ∂outₖ/∂xᵢ, where each derivative is a product without xᵢ (correct at zeros; O(n²))."""
    axis = dim % len(x.shape)
    lead = (slice(None),) * axis
    n, columns = x.shape[axis], []
    before = cumprod_exclusive(x, axis)
    for i in range(n):
        running = getitem(before, (*lead, slice(i, i + 1)))
        total = flow(getitem(g, (*lead, slice(i, i + 1))), running)
        for k in range(i + 1, n):
            running = times(running, getitem(x, (*lead, slice(k, k + 1))))
            total = total + flow(getitem(g, (*lead, slice(k, k + 1))), running)
        columns.append(total)
    return concatenate(axis, *columns) if columns else g


def _logcumsumexp_grad(g: Array, x: Array, out: Array, dim: int) -> Array:
    """exp(xᵢ - outᵢ) rᵢ with rᵢ = Σₖ≥ᵢ gₖ exp(outᵢ - outₖ), in log₂ n steps. Exponents are ≤ 0, as out increases."""
    axis, n = dim % len(x.shape), x.shape[dim] if x.shape else 1
    lead = (slice(None),) * axis
    largest = float(np.finfo(out.dtype.name).max)  # the substitute for infinite values
    level = where(out == -math.inf, -largest, where(out == math.inf, largest, out))
    total, reach = g, 1
    while reach < n:
        early, late = (*lead, slice(None, -reach)), (*lead, slice(reach, None))
        added = getitem(total, early) + exp(getitem(level, early) - getitem(level, late)) * getitem(total, late)
        total = concatenate(axis, added, getitem(total, (*lead, slice(-reach, None))))
        reach *= 2
    return exp(where(x == math.inf, largest, x) - level) * total


@op("dxᵢ = Σₖ≥ᵢ gₖ exp(xᵢ − yₖ)", x=_logcumsumexp_grad, promote="float", holomorphic=True)
def logcumsumexp(x: Array, dim: int) -> Array:
    """ln of the cumulative sums of eˣ along an axis"""
    if x.dtype.kind == "c" and x.size:
        return xp(x).stack(list(accumulate(xp(x).moveaxis(x, dim, 0), log_of_sum)), axis=dim)
    return xp(x).logaddexp.accumulate(x, axis=dim) if type(x) is np.ndarray else _running(x, dim)


def _running(x: Array, dim: int) -> Array:
    """``logcumsumexp`` in log₂ n steps of whole arrays (Hillis and Steele 1986)."""
    m, lead = xp(x), (slice(None),) * (dim % x.ndim)
    out, reach = x.copy(), 1
    while reach < x.shape[dim]:
        before = out.copy()
        late = (*lead, slice(reach, None))
        out[late] = m.logaddexp(before[late], before[(*lead, slice(None, -reach))])
        reach *= 2
    return out
