"""The gamma function's family, which NumPy does not have, by Stirling's series far from 0."""

from __future__ import annotations

import math

import numpy as np

from ....backend.dtype import Array
from ....backend.registry import xp

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
    distance = m.absolute(x - m.rint(x))  # Γ(x) Γ(1 - x) = π / sin πx
    ratio = m.where(distance < 1e-8, math.pi, m.sin(math.pi * distance) / m.maximum(distance, 1e-8))
    out = m.where(mirrored, math.log(math.pi) - m.log(ratio) - m.log(distance) - out, out)
    return m.where(m.isinf(x) | (mirrored & (distance == 0)), math.inf, out).astype(dtype)


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
    """The derivative of ``digamma`` of an order from 1 on an array, in its dtype; infinite at 0, -1, -2 ..."""
    wide = x.astype(np.float64)
    total = zeta(xp(x).full_like(wide, order + 1), wide)
    return ((-1) ** (order + 1) * math.factorial(order) * total).astype(x.dtype)


def zeta(x: Array, q: Array) -> Array:
    """Hurwitz's Σ (q + k)⁻ˣ over k ≥ 0 on arrays, in their dtype.

    It is inf at x = 1 and at q = 0, -1 ..., NaN below x = 1, and below q = 0 for an x that is not whole.
    """
    m, dtype = xp(x), x.dtype
    x, q = m.broadcast_arrays(x.astype(np.float64), q.astype(np.float64))
    power, whole = m.where(x > 1, x, 2.0), q == m.floor(q)
    below = (q < 0) & ~whole
    part = m.where(below, q - m.floor(q), 0.5)  # the first of the terms' bases above 0
    out = _hurwitz(power, m.where(below, part, m.where(q > 0, q, 1.0)))
    sign = m.where(x == m.floor(x), 1 - 2 * (x % 2), math.nan)
    # the terms with bases below 0 are (-1)ˣ times those of rest, rest + 1 ... -q
    rest = m.where(below, m.ceil(q) - q, 0.5)
    near, far = _hurwitz(power, rest), _hurwitz(power, m.where(below, 1 - q, 1.0))
    out = m.where(below, out + sign * near - sign * far, out)
    out = m.where((q <= 0) & whole, math.inf, out)
    out = m.where(x > 1, out, m.where(x == 1, math.inf, math.nan))
    return m.where(m.isnan(q) & (x > 1), math.nan, out).astype(dtype)


def _hurwitz(x: Array, q: Array) -> Array:
    """Σ (q + k)⁻ˣ for x > 1 and q > 0, by Euler and Maclaurin's formula."""
    m, z = xp(x), q + _FAR
    total = sum((q + k) ** -x for k in range(_FAR))
    rising = ratio = m.minimum(x, 1e6) / z  # of greater x the first terms are all
    rest = 1 / (x - 1) + 0.5 / z
    for k, b in enumerate(_BERNOULLI, 1):
        rest = rest + b / math.factorial(2 * k) * rising / z
        rising = rising * (ratio + (2 * k - 1) / z) * (ratio + 2 * k / z)
    return total + z ** (1 - x) * rest
