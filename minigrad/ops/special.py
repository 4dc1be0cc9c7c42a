"""Special functions of each element: the gamma function's family, and Bessel's."""

from __future__ import annotations

import math
from typing import Any

from ..backend import gamma, special, xp
from ..backend.dtype import Array
from ..backend.incomplete_gamma import incomplete_gamma
from .elementwise import exp, sign, where
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


# The normal distribution, and products with logarithms ------------------------------------------------------


@op("dx = g (2 x y − 2/√π)", x=lambda g, x, out: g * (2 * x * out - 2 / math.sqrt(math.pi)), promote="float")
def erfcx(x: Array) -> Array:
    """exp(x²) erfc(x)"""
    return special.scaled_complementary_error_function(x)


@op(
    "dx = g √(2/π) / erfcx(−x/√2)",
    x=lambda g, x: g / erfcx(x * -math.sqrt(0.5)) * math.sqrt(2 / math.pi),
    promote="float",
)
def log_ndtr(x: Array) -> Array:
    """ln of the standard normal distribution's share below x"""
    return special.log_normal_share(x)


@op("dx = g exp(−x²/2) / √2π", x=lambda g, x: g * exp(x * x * -0.5) / math.sqrt(2 * math.pi), promote="float")
def ndtr(x: Array) -> Array:
    """The standard normal distribution's share below x"""
    return 0.5 * special.complementary_error_function(x * -math.sqrt(0.5))


@op(
    "da = g ln b, 0 where a = 0 and b ≤ 0; db = g a / b",
    a=lambda g, a, b: where((a == 0) & (b <= 0), 0.0, xlogy(g, b)),
    b=lambda g, a, b: g * a / b,
    promote="float",
)
def xlogy(a: Array, b: Array) -> Array:
    """a ln b, 0 where a = 0 unless b is NaN"""
    return _times_log(a, b, "log")


@op(
    "da = g ln(1 + b), 0 where a = 0 and b ≤ −1; db = g a / (1 + b)",
    a=lambda g, a, b: where((a == 0) & (b <= -1), 0.0, xlog1py(g, b)),
    b=lambda g, a, b: g * a / (b + 1),
    promote="float",
)
def xlog1py(a: Array, b: Array) -> Array:
    """a ln(1 + b), 0 where a = 0 unless b is NaN"""
    return _times_log(a, b, "log1p")


def _times_log(a: Any, b: Any, log: str) -> Array:
    """a times a logarithm of b, 0 where a = 0 unless b is NaN; one of the two may be a number."""
    m = xp(a if hasattr(a, "dtype") else b)
    product = a * getattr(m, log)(m.asarray(b, getattr(a, "dtype", None) or b.dtype))
    return m.where((m.asarray(a) == 0) & ~m.isnan(m.asarray(b)), m.zeros_like(product), product)


# Without a gradient of one input, as in PyTorch -------------------------------------------------------------


def _no_rule(name: str, input: str) -> Any:
    raise NotImplementedError(f"the derivative for '{input}' of {name} is not implemented: use {input}.detach()")


@op(
    "da is not implemented; dx = g xᵃ⁻¹ e⁻ˣ / Γ(a)",
    a=lambda g: _no_rule("igamma", "input"),
    x=lambda g, a, x: g * _gamma_density(a, x),
    promote="float",
)
def igamma(a: Array, x: Array) -> Array:
    """∫₀ˣ tᵃ⁻¹ e⁻ᵗ dt / Γ(a)"""
    return incomplete_gamma(a, x, False)


@op(
    "da is not implemented; dx = −g xᵃ⁻¹ e⁻ˣ / Γ(a)",
    a=lambda g: _no_rule("igammac", "input"),
    x=lambda g, a, x: -g * _gamma_density(a, x),
    promote="float",
)
def igammac(a: Array, x: Array) -> Array:
    """∫ tᵃ⁻¹ e⁻ᵗ dt / Γ(a) from x on"""
    return incomplete_gamma(a, x, True)


def _gamma_density(a: Array, x: Array) -> Array:
    """xᵃ⁻¹ e⁻ˣ / Γ(a)"""
    return exp(xlogy(a - 1, x) - x - lgamma(a))
