"""Softmax and its logarithm, and their gradients as ops of their own (so that these have a kernel, too)."""

from __future__ import annotations

from ..backend.dtype import Array
from .elementwise import exp, where
from .op import op
from .reduction import amax, logsumexp
from .reduction import sum as sum_over


def _finite_top(x: Array, dim: int) -> Array:
    """The largest along an axis, 0 where all are -inf, as a constant: the result does not depend on it."""
    top = amax(getattr(x, "detach", lambda: x)(), dim, True)
    return where(top == float("-inf"), 0.0, top)


@op(promote="float", kernel="softmax")
def softmax(x: Array, dim: int) -> Array:
    """eˣ / Σ eˣ along an axis, the largest taken out first; an axis that is all -inf gives zeros"""
    powers = exp(x - _finite_top(x, dim))
    total = sum_over(powers, dim, True)
    return powers / where(total == 0, 1.0, total)


@op(kernel="softmax_gradient")
def softmax_gradient(dy: Array, y: Array, dim: int) -> Array:
    """y (dy - Σ dy y): the gradient of softmax from its result y"""
    return y * (dy - sum_over(dy * y, dim, True))


@op(promote="float", kernel="log_softmax")
def log_softmax(x: Array, dim: int) -> Array:
    """x - ln Σ eˣ along an axis"""
    return x - logsumexp(x, dim, True)


@op(kernel="log_softmax_gradient")
def log_softmax_gradient(dy: Array, y: Array, dim: int) -> Array:
    """dy - eʸ Σ dy: the gradient of log-softmax from its result y"""
    return dy - exp(y) * sum_over(dy, dim, True)


softmax.gradient(x=lambda g, out, dim: softmax_gradient(g, out, dim))
log_softmax.gradient(x=lambda g, out, dim: log_softmax_gradient(g, out, dim))
softmax_gradient.gradient(dy=None, y=None)
log_softmax_gradient.gradient(dy=None, y=None)
