"""Softmax and its logarithm."""

from __future__ import annotations

from ..backend.dtype import Array
from .elementwise import exp, where
from .op import op
from .reduction import amax, logsumexp
from .reduction import sum as sum_over


@op("dx = y (g − Σ g y)", x=lambda g, out, dim: out * (g - sum_over(g * out, dim, True)), promote="float")
def softmax(x: Array, dim: int) -> Array:
    """eˣ / Σ eˣ along an axis, the largest taken out first; an axis that is all -inf gives zeros"""
    top = amax(x, dim, True)
    powers = exp(x - where(top == float("-inf"), 0.0, top))
    total = sum_over(powers, dim, True)
    return powers / where(total == 0, 1.0, total)


@op("dx = g − eʸ Σ g", x=lambda g, out, dim: g - exp(out) * sum_over(g, dim, True), promote="float")
def log_softmax(x: Array, dim: int) -> Array:
    """x - ln Σ eˣ along an axis"""
    return x - logsumexp(x, dim, True)
