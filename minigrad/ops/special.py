"""Special functions of each element: the gamma function's family, and Bessel's."""

from __future__ import annotations

from ..backend import gamma, xp
from ..backend.dtype import Array
from .elementwise import sign, where
from .op import op


@op("dx = g ψ(x)", x=lambda g, x: g * digamma(x), promote="float")
def lgamma(x: Array) -> Array:
    """ln |Γ(x)|"""
    return gamma.log_gamma(x)


@op("dx = g ψ′(x)", x=lambda g, x: g * polygamma(x, 1), promote="float")
def digamma(x: Array) -> Array:
    """The slope of ln Γ(x)"""
    return gamma.digamma(x)


@op("dx = g ψ⁽ⁿ⁺¹⁾(x)", x=lambda g, x, order: g * polygamma(x, order + 1), promote="float")
def polygamma(x: Array, order: int) -> Array:
    """The derivative of digamma of an order from 1"""
    return gamma.polygamma(x, order)


@op("dx = g (i1e(x) − sign(x) y)", x=lambda g, x, out: g * (i1e(x) - sign(x) * out), promote="float")
def i0e(x: Array) -> Array:
    """e^-|x| times the modified Bessel function of order 0"""
    return gamma.bessel(x, 0)


@op(
    "dx = g (i0e(x) − sign(x) y − y / x)",
    x=lambda g, x, out: g * (i0e(x) - sign(x) * out - _over(out, x)),
    promote="float",
)
def i1e(x: Array) -> Array:
    """e^-|x| times the modified Bessel function of order 1"""
    return gamma.bessel(x, 1)


@op("dx = g I₁(x)", x=lambda g, x: g * i1(x), promote="float")
def i0(x: Array) -> Array:
    """The modified Bessel function of the first kind of order 0"""
    return gamma.bessel(x, 0) * xp(x).exp(xp(x).absolute(x))


@op("dx = g (I₀(x) − y / x)", x=lambda g, x, out: g * (i0(x) - _over(out, x)), promote="float")
def i1(x: Array) -> Array:
    """The modified Bessel function of the first kind of order 1"""
    return gamma.bessel(x, 1) * xp(x).exp(xp(x).absolute(x))


def _over(bessel: Array, x: Array) -> Array:
    """A function of order 1 over x, 1/2 at 0."""
    return where(x == 0, 0.5, bessel / where(x == 0, 1.0, x))
