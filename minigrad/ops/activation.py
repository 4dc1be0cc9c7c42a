"""GELU (which has a kernel), rarely used activations, and dropout. ``elementwise.py`` has the other activations."""

from __future__ import annotations

import math

from ..backend import xp
from ..backend.dtype import Array
from ..backend.random import Draw
from ..backend.special import normal_share
from .elementwise import abs as absolute, erfc, exp, only, relu, sigmoid, softplus, tanh, tanh_grad, where
from .op import bare, op


@op(
    "dx = g (Φ(x) + x φ(x))",
    x=lambda g, x, approximate: g * (_normal_cdf(x, approximate) + x * _normal_pdf(x, approximate)),
    promote="float",
)
def gelu(x: Array, approximate: str = "none") -> Array:
    """x Φ(x), where Φ is the normal CDF (Hendrycks and Gimpel 2016), computed exactly or by the tanh formula"""
    return x * _normal_cdf(x, approximate)


def _normal_cdf(x: Array, approximate: str) -> Array:
    """Φ(x), or (1 + tanh u) / 2 with u = √(2/π) (x + 0.044715 x³)."""
    if approximate == "tanh":
        return sigmoid(_twice_inner(x))
    return normal_share(x) if x is bare(x) else 0.5 * erfc(x * -math.sqrt(0.5))


def _twice_inner(x: Array) -> Array:
    """2u, since (1 + tanh u) / 2 is σ(2u), which stays precise where tanh u is near -1."""
    return 2 * _ROOT * (x + 0.044715 * (x * x * x))


def _normal_pdf(x: Array, approximate: str) -> Array:
    """The derivative of ``_normal_cdf``: the normal density φ(x), or the derivative of the tanh formula."""
    if approximate == "tanh":
        inner = _twice_inner(x)
        return 2 * _ROOT * (sigmoid(inner) * sigmoid(-inner)) * (1 + 3 * 0.044715 * (x * x))
    return exp(-0.5 * (x * x)) * (0.5 * _ROOT)


_ROOT = math.sqrt(2 / math.pi)


@op(
    "dx = g · scale · α · input_scale · exp(input_scale · x) where x ≤ 0, else g · scale",
    x=lambda g, x, alpha, scale, input_scale: (
        g * where(x <= 0, alpha * input_scale * exp(where(x < 0, x, 0.0) * input_scale), 1.0) * scale
    ),
    promote="float",
)
def scaled_elu(x: Array, alpha: float, scale: float, input_scale: float) -> Array:
    """scale · (x for x > 0, else α (exp(input_scale · x) - 1)), which includes SELU and CELU"""
    m = xp(x)
    return m.where(x > 0, x * scale, (alpha * scale) * m.expm1(m.minimum(x, 0) * input_scale))


@op(
    "dx = g (tanh s + x σ(x) / cosh² s), s = ln(1 + eˣ)",
    x=lambda g, x: g * (tanh(s := softplus(x, 1.0, math.inf)) + x * sigmoid(x) * tanh_grad(s)),
    promote="float",
)
def mish(x: Array) -> Array:
    """x tanh ln(1 + eˣ) (Misra 2019)"""
    return x * tanh(softplus(x, 1.0, math.inf))


@op("dx = g where low < x < high, else 0", x=lambda g, x, low, high: where((x <= low) | (x >= high), 0.0, g))
def hardtanh(x: Array, low: float = -1.0, high: float = 1.0) -> Array:
    """x clamped to [low, high]; at the bounds, the gradient is 0, while that of ``clamp`` is 1"""
    m = xp(x)
    return m.minimum(m.maximum(x, low), high)


@op("dx = g / 6 where −3 < x < 3, else 0", x=lambda g, x: where((x > -3) & (x < 3), g / 6, 0.0), promote="float")
def hardsigmoid(x: Array) -> Array:
    """x / 6 + 1 / 2, clamped to [0, 1] (Courbariaux et al. 2015)"""
    m = xp(x)
    return m.minimum(m.maximum(x + 3, 0), 6) / 6


@op(
    "dx = g (x / 3 + ½) where −3 < x < 3, g above, 0 below",
    x=lambda g, x: where(x <= -3, 0.0, where(x < 3, g * (x / 3 + 0.5), g)),
    promote="float",
)
def hardswish(x: Array) -> Array:
    """x hardsigmoid(x) (Howard et al. 2019)"""
    m = xp(x)
    return x * m.minimum(m.maximum(x + 3, 0), 6) / 6


@op("dx = g where |x| > λ, else 0", x=lambda g, x, lambd: where(absolute(x) <= lambd, 0.0, g))
def hardshrink(x: Array, lambd: float = 0.5) -> Array:
    """0 where |x| <= λ, else x"""
    m = xp(x)
    return m.where(m.absolute(x) <= lambd, x.dtype.type(0), x)


@op("dx = g where |x| > λ, else 0", x=lambda g, x, lambd: where(absolute(x) <= lambd, 0.0, g))
def softshrink(x: Array, lambd: float = 0.5) -> Array:
    """0 where |x| <= λ, else x - λ sign x"""
    m = xp(x)
    return m.where(m.absolute(x) <= lambd, x.dtype.type(0), x - lambd * m.sign(x))


@op("dx = g where x > threshold, else 0", x=lambda g, x, threshold: where(x <= threshold, 0.0, g))
def threshold(x: Array, threshold: float, value: float) -> Array:
    """x where x > threshold, else ``value``"""
    return xp(x).where(x <= threshold, x.dtype.type(value), x)


@op(
    "dx = g where x > 0, else g w; dw = Σ g x where x ≤ 0",
    x=lambda g, x, weight: where(x > 0, g, g * weight),
    weight=lambda g, x: where(x > 0, 0.0, g * x),
)
def prelu(x: Array, weight: Array) -> Array:
    """x for x > 0, else weight · x (He et al. 2015)"""
    return xp(x).where(x > 0, x, weight * x)


@op("dx = g · keep · scale", x=lambda g, keep, scale: dropout(g, keep, scale))
def dropout(x: Array, keep: Array, scale: float) -> Array:
    """x · scale where ``keep`` is True, else 0 with the sign of x; scale = 1/(1 - p) (Srivastava et al. 2014)"""
    m, mask = xp(x), keep.array() if isinstance(keep, Draw) else keep
    zero = x.dtype.type(0) if x.dtype.kind == "c" else m.copysign(x.dtype.type(0), x)
    return m.where(mask, x * x.dtype.type(scale), zero)


@op("dx = 0 where y = 0, else g · scale", x=lambda g, out, scale: only(g, out != 0) * scale)
def relu_dropout(x: Array, keep: Array, scale: float) -> Array:
    """dropout(max(x, 0)), whose gradient does not need the mask or the dropped values"""
    return dropout(relu(x), keep, scale)
