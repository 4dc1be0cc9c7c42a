"""Special functions, elementwise: the gamma function and its relatives, and Bessel functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from ...backend import special, xp
from ...backend.dtype import Array
from ...ops.elementwise import exp, flow, log, sign, times_log, where, xlogy
from ...ops.op import bare, op as any_op
from . import approximations

op: Callable[..., Callable[[Callable[..., Any]], Any]] = partial(any_op, promote="float")


@op("dx = g ψ(x)", x=lambda g, x: g * digamma(x))
def lgamma(x: Array) -> Array:
    """ln |Γ(x)|"""
    return approximations.log_gamma(x)


@op("dx = g ψ′(x)", x=lambda g, x: g * polygamma(x, 1))
def digamma(x: Array) -> Array:
    """The derivative of ln Γ(x)"""
    return approximations.digamma(x)


@op("dx = g ψ⁽ⁿ⁺¹⁾(x)", x=lambda g, x, order: g * polygamma(x, order + 1))
def polygamma(x: Array, order: int) -> Array:
    """The derivative of digamma of order ``order`` ≥ 1; infinite at 0, -1, -2 ..."""
    wide = x.astype("float64")
    total = approximations.zeta(xp(x).full_like(wide, order + 1), wide)
    return ((-1) ** (order + 1) * math.factorial(order) * total).astype(x.dtype)


# Bessel functions. The orders adjacent to n yield the derivative of order n (DLMF 10.29, 10.51), so rules do not divide
# by x: y / x would require a constant at 0, which has no derivative, and would lose digits near 0.


@op("dx = g (i1e(x) − sign(x) y)", x=lambda g, x, out: g * (i1e(x) - sign(x) * out))
def i0e(x: Array) -> Array:
    """e^-|x| times the modified Bessel function of order 0"""
    return approximations.scaled_modified(x, 0)


@op(
    "dx = g ((i0e(x) + i2e(x)) / 2 − sign(x) y)",
    x=lambda g, x, out: g * (_mean_around(scaled_modified_bessel_i, x, 1) - sign(x) * out),
)
def i1e(x: Array) -> Array:
    """e^-|x| times the modified Bessel function of order 1"""
    return approximations.scaled_modified(x, 1)


@op(
    "dx = g ((e^-|x| Iₙ₋₁(x) + e^-|x| Iₙ₊₁(x)) / 2 − sign(x) y)",
    x=lambda g, x, out, order: g * (_mean_around(scaled_modified_bessel_i, x, order) - sign(x) * out),
)
def scaled_modified_bessel_i(x: Array, order: int) -> Array:
    """e^-|x| times the modified Bessel function of the first kind, of an integer order"""
    return approximations.scaled_modified(x, order)


@op("dx = g I₁(x)", x=lambda g, x: g * i1(x))
def i0(x: Array) -> Array:
    """The modified Bessel function of the first kind of order 0"""
    return modified_bessel_i.forward(x, 0)


@op("dx = g (I₀(x) + I₂(x)) / 2", x=lambda g, x: g * _mean_around(modified_bessel_i, x, 1))
def i1(x: Array) -> Array:
    """The modified Bessel function of the first kind of order 1"""
    return modified_bessel_i.forward(x, 1)


@op("dx = g (Iₙ₋₁(x) + Iₙ₊₁(x)) / 2", x=lambda g, x, order: g * _mean_around(modified_bessel_i, x, order))
def modified_bessel_i(x: Array, order: int) -> Array:
    """The modified Bessel function of the first kind, of an integer order"""
    root = xp(x).exp(xp(x).absolute(x) / 2)  # e^|x| overflows before the function does
    return approximations.scaled_modified(x, order) * root * root


def _mean_around(function: Any, x: Array, order: int) -> Array:
    """The mean of a function for the orders before and after a given order."""
    return 0.5 * (function(x, order - 1) + function(x, order + 1))


@op(
    "dx = g (n jₙ₋₁(x) − (n + 1) jₙ₊₁(x)) / (2n + 1)",
    x=lambda g, x, order: g * _spherical_grad(x, order),
    holomorphic=True,
)
def spherical_bessel_j(x: Array, order: int) -> Array:
    """√(π / 2x) times the Bessel function of the first kind of order n + ½, n = ``order`` ≥ 0"""
    return approximations.spherical(x, order)


def _spherical_grad(x: Array, order: int) -> Array:
    after = spherical_bessel_j(x, order + 1)
    return (order * spherical_bessel_j(x, order - 1) - (order + 1) * after) / (2 * order + 1) if order else -after


@op("dx = −g π j₁(πx), 0 at 0", x=lambda g, x: flow(g, spherical_bessel_j(x * math.pi, 1) * -math.pi), holomorphic=True)
def sinc(x: Array) -> Array:
    """sin(πx) / (πx), 1 at 0"""
    m, angle = xp(x), x * math.pi
    return m.where(angle == 0, x.dtype.type(1), m.sin(angle) / m.where(angle == 0, x.dtype.type(1), angle))


@op("dx = g (2 x y − 2/√π)", x=lambda g, x, out: g * _erfcx_grad(x, out))
def erfcx(x: Array) -> Array:
    """exp(x²) erfc(x)"""
    return special.scaled_complementary_error_function(x)


@op("dx = g √(2/π) / erfcx(−x/√2)", x=lambda g, x: g * _hazard(x))
def log_ndtr(x: Array) -> Array:
    """ln of the standard normal cumulative distribution function"""
    return special.log_normal_share(x)


@op("dx = g √2π exp(y²/2)", x=lambda g, out: g * (exp(out * out * 0.5) * math.sqrt(2 * math.pi)))
def ndtri(x: Array) -> Array:
    """The inverse of the standard normal cumulative distribution function"""
    return special.normal_quantile(x)


def _erfcx_grad(x: Array, out: Array) -> Array:
    """2 x y - 2/√π, or its asymptotic series where these two almost cancel (DLMF 7.12.1)."""
    least = 12.0 if bare(x).dtype.itemsize == 8 else 5.0
    far = x > least
    inverse = 1 / where(far, x, least)
    square = 0.5 * (inverse * inverse)
    series = 0.0 * square
    for n in range(10, 0, -1):
        series = (1 + series) * (square * (1 - 2 * n))
    root = math.sqrt(math.pi)
    return where(far, series * (2 / root), 2 * where(far, 0.0, x) * out - 2 / root)


def _hazard(x: Array) -> Array:
    """The density divided by the cumulative distribution, computed directly for x > 0, where erfcx(−x/√2) overflows."""
    low, high = where(x > 0, 0.0, x), where(x > 0, x, 0.0)
    below = math.sqrt(2 / math.pi) / erfcx(low * -math.sqrt(0.5))
    return where(x > 0, exp(high * high * -0.5) / math.sqrt(2 * math.pi) / ndtr(high), below)


@op("dx = g exp(−x²/2) / √2π", x=lambda g, x: g * exp(x * x * -0.5) / math.sqrt(2 * math.pi))
def ndtr(x: Array) -> Array:
    """The standard normal cumulative distribution function"""
    return 0.5 * special.complementary_error_function(x * -math.sqrt(0.5))


@op(
    "da = g ln(1 + b), 0 where a = 0 and b ≤ −1; db = g a / (1 + b)",
    a=lambda g, a, b: where((a == 0) & (b <= -1), 0.0, xlog1py(g, b)),
    b=lambda g, a, b: g * a / (b + 1),
)
def xlog1py(a: Array, b: Array) -> Array:
    """a ln(1 + b), 0 where a = 0 unless b is NaN"""
    return times_log(a, b, "log1p")


@op("dx = −g (ln x + 1)", x=lambda g, x: -g * (log(x) + 1))
def entr(x: Array) -> Array:
    """-x ln x, 0 at 0 and -inf below"""
    return xp(x).where(x < 0, x.dtype.type(-math.inf), 0 - times_log(x, xp(x).maximum(x, 0), "log"))


def _no_rule(name: str, input: str) -> Any:
    raise NotImplementedError(f"the derivative for '{input}' of {name} is not implemented: use {input}.detach()")


@op(
    "dx is not implemented; dq = −g x ζ(x + 1, q)",
    x=lambda g: _no_rule("zeta", "input"),
    q=lambda g, x, q: -g * x * zeta(x + 1, q),
)
def zeta(x: Array, q: Array) -> Array:
    """The Hurwitz zeta function, Σ (q + k)⁻ˣ over k ≥ 0"""
    array = x if hasattr(x, "dtype") else q
    return approximations.zeta(*(xp(array).asarray(v, array.dtype) for v in (x, q)))


@op(
    "da is not implemented; dx = g xᵃ⁻¹ e⁻ˣ / Γ(a)",
    a=lambda g: _no_rule("igamma", "input"),
    x=lambda g, a, x: g * _gamma_density(a, x),
)
def igamma(a: Array, x: Array) -> Array:
    """∫₀ˣ tᵃ⁻¹ e⁻ᵗ dt / Γ(a)"""
    return approximations.incomplete_gamma(a, x, False)


@op(
    "da is not implemented; dx = −g xᵃ⁻¹ e⁻ˣ / Γ(a)",
    a=lambda g: _no_rule("igammac", "input"),
    x=lambda g, a, x: -g * _gamma_density(a, x),
)
def igammac(a: Array, x: Array) -> Array:
    """∫ tᵃ⁻¹ e⁻ᵗ dt / Γ(a) from x to ∞"""
    return approximations.incomplete_gamma(a, x, True)


def _gamma_density(a: Array, x: Array) -> Array:
    """xᵃ⁻¹ e⁻ˣ / Γ(a)"""
    return exp(xlogy(a - 1, x) - x - lgamma(a))
