"""The gamma function's family, which NumPy does not have, by Stirling's series far from 0."""

from __future__ import annotations

import math

import numpy as np

from .dtype import Array
from .registry import xp

# Bernoulli's numbers B2, B4, ...: the coefficients of Stirling's series and of Euler-Maclaurin's
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)
_FAR = 12  # from where eight terms of the series give all digits of a float64


def log_gamma(x: Array) -> Array:
    """ln |Γ(x)| on an array, in its dtype; infinite at 0, -1, -2 ..."""
    m, dtype, x = xp(x), x.dtype, x.astype(np.float64)
    mirrored = x < 0.5
    y = m.where(mirrored, 1 - x, x)
    product, z = m.ones_like(y), y
    for _ in range(_FAR):
        near = z < _FAR
        product = m.where(near, product * z, product)
        z = m.where(near, z + 1, z)
    out = (z - 0.5) * m.log(z) - z + 0.5 * math.log(2 * math.pi) + stirling(z) - m.log(product)
    out = m.where(y == math.inf, math.inf, m.where((y == 1) | (y == 2), 0.0, out))
    distance = m.absolute(m.sin(math.pi * (x - m.rint(x))))  # Γ(x) Γ(1 - x) = π / sin πx
    out = m.where(mirrored, math.log(math.pi) - m.log(distance) - out, out)
    return m.where(m.isinf(x), math.inf, out).astype(dtype)


def stirling(z: Array) -> Array:
    """What ln Γ(z) has beside (z - ½) ln z - z + ½ ln 2π, of z from 12, in float64."""
    return sum(b / (2 * k * (2 * k - 1)) / z ** (2 * k - 1) for k, b in enumerate(_BERNOULLI, 1))


def digamma(x: Array) -> Array:
    """The slope of ln Γ on an array, in its dtype; -inf at 0, NaN at -1, -2 ..."""
    m, dtype, x = xp(x), x.dtype, x.astype(np.float64)
    mirrored = x < 0
    z = m.where(mirrored, 1 - x, x)
    below = m.zeros_like(z)
    for _ in range(_FAR):
        near = z < _FAR
        below = m.where(near, below + 1 / z, below)
        z = m.where(near, z + 1, z)
    terms = sum(b / (2 * k) / z ** (2 * k) for k, b in enumerate(_BERNOULLI, 1))
    out = m.log(z) - 0.5 / z - terms - below
    angle = math.pi * (x - m.rint(x))
    out = m.where(mirrored, out - math.pi / m.tan(m.where(angle == 0, math.nan, angle)), out)
    return m.where(x == 0, m.copysign(math.inf, -x), out).astype(dtype)


def polygamma(x: Array, order: int) -> Array:
    """The derivative of ``digamma`` of an order from 1 on an array, in its dtype; for x > -1000."""
    m, dtype, x = xp(x), x.dtype, x.astype(np.float64)
    x = m.where(x > -1000, x, math.nan)
    least = float(m.nanmin(x)) if x.size and not m.isnan(x).all() else 0.0
    steps = _FAR + order + max(0, math.ceil(-least))
    total = sum(1 / (x + k) ** (order + 1) for k in range(steps))
    z, s = x + steps, order + 1  # and the rest of Σ 1 / (x + k)ˢ by Euler-Maclaurin
    total = total + z ** (1 - s) / (s - 1) + 0.5 * z**-s
    rising = float(s)
    for k, b in enumerate(_BERNOULLI, 1):
        total = total + b / math.factorial(2 * k) * rising * z ** -(s + 2 * k - 1)
        rising *= (s + 2 * k - 1) * (s + 2 * k)
    return ((-1) ** (order + 1) * math.factorial(order) * total).astype(dtype)


def bessel(x: Array, order: int) -> Array:
    """The modified Bessel function of the first kind, of order 0 or 1, times e^-|x|, on an array, in its
    dtype: its integral over a period, for which the trapezoidal rule is exact to all digits."""
    m, dtype, x = xp(x), x.dtype, x.astype(np.float64)
    size = m.absolute(x)[..., None]
    wide = float(m.where(m.isfinite(size), size, 0.0).max()) if x.size else 0.0
    count = 32 + 8 * math.ceil(math.sqrt(wide))
    angles = (m.arange(count) + 0.5) * (math.pi / 2 / count)
    cos, sin = m.cos(angles), m.sin(angles / 2)
    grown = m.exp(-2 * size * sin * sin)  # e^(|x| (cos - 1))
    shrunk = m.exp(-size * (1 + cos))
    if order == 0:
        return ((grown + shrunk).mean(-1) / 2).astype(dtype)
    odd = m.where(size * cos < 0.5, 2 * m.sinh(m.minimum(size * cos, 0.5)) * m.exp(-size), grown - shrunk)
    return (m.sign(x) * (odd * cos).mean(-1) / 2).astype(dtype)
