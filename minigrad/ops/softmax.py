"""Softmax, its logarithm, and the logarithm of its denominator."""

from __future__ import annotations

import math

import numpy as np

from ..backend import holds, in_order, xp
from ..backend.dtype import Array
from .elementwise import exp, expm1, isfinite, where
from .op import bare, op
from .reduction import Axes, amax, restored, sum as sum_over


@op("dx = y (d − Σ d y), d = g − Σ g y", x=lambda g, out, dim: out * _centred(g, out, dim), promote="float")
def softmax(x: Array, dim: int) -> Array:
    """eˣ / Σ eˣ along an axis, with the maximum subtracted first; an axis that is all -inf becomes zeros"""
    top = _largest(x, dim)
    powers = exp(x - where(top == float("-inf"), 0.0, top))
    total = sum_over(powers, dim, True)
    return powers / where(total == 0, 1.0, total)


def _largest(x: Array, dim: int) -> Array:
    """The largest element along an axis, which is kept with length 1, or 0 for an empty axis."""
    return amax(x, dim, True) if x.size else sum_over(x, dim, True)


def _centred(g: Array, y: Array, dim: int) -> Array:
    """Subtract from g its mean with weights y, twice. The second mean restores the digits that the first one lost if a
    y rounds to 1. (As the weights sum to 1, the first mean may be any number.) After an infinite mean there are no
    digits to restore, and ∞ − ∞ would be NaN."""
    near = g - sum_over(g * y, dim, True)
    rest = sum_over(near * y, dim, True)
    return near - where(isfinite(rest), rest, 0.0)


@op("dx = g − eʸ Σ g", x=lambda g, out, dim: _log_grad(g, out, sum_over(g, dim, True)), promote="float")
def log_softmax(x: Array, dim: int) -> Array:
    """x - ln Σ eˣ along an axis"""
    below = x - _largest(x, dim)
    return below - logsumexp(below, dim, True)


def _log_grad(g: Array, y: Array, total: Array) -> Array:
    """g - eʸ Σ g, computed from eʸ - 1 if eʸ exceeds ½, where g may be close to Σ g, unless Σ g is infinite."""
    large = (y > -math.log(2)) & isfinite(total)
    return where(large, (g - total) - expm1(where(large, y, 0.0)) * total, g - exp(y) * total)


@op(
    "dx = g softmax(x)",
    x=lambda g, x, out, shape, dim: restored(g, shape, dim) * _shares(x, out, shape, dim),
    promote="float",
    holomorphic=True,
)
def logsumexp(x: Array, dim: Axes, keepdim: bool = False) -> Array:
    """ln Σ eˣ, with the maximum subtracted first"""
    m = xp(x)
    top = x.real.max(axis=dim, keepdims=True) if x.size else x.real.sum(axis=dim, keepdims=True)  # 0 if empty
    top = m.where(m.isfinite(top), top, m.zeros_like(top))
    powers = m.exp(x - top)
    with np.errstate(divide="ignore"):
        if x.dtype.kind == "c":
            total = m.log(sum_over(powers, dim, True)) + top
        else:  # log1p omits one of the largest terms (1), so that the others keep their digits
            largest = powers == 1
            rest = sum_over(m.where(largest, 0, powers), dim, True)
            total = m.log1p(rest + (largest.sum(axis=dim, keepdims=True) - 1).astype(x.dtype)) + top
    return in_order(total if keepdim else m.squeeze(total, axis=dim))


def _shares(x: Array, out: Array, shape: tuple[int, ...], dim: Axes) -> Array:
    """eˣ⁻ʸ. For finite real y along one axis, it is softmax, whose rule is more precise."""
    axes = dim if isinstance(dim, tuple) else (dim,)
    real = bare(x).dtype.kind != "c" and not holds(bare(out) == math.inf)
    if len(axes) == 1 and axes[0] is not None and shape and real:
        return softmax(x, axes[0])
    return exp(x - finite(restored(out, shape, dim)))


def finite(x: Array) -> Array:
    """x, or 0 where it is -inf: exp(-inf - 0) is 0, while exp(-inf + inf) would be NaN."""
    return where(x == float("-inf"), 0.0, x)
