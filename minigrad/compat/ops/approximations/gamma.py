"""The gamma function's family, which NumPy does not have, by Stirling's series far from 0; the incomplete ones' shares
P(a, x) and Q(a, x) = 1 - P(a, x) below.
"""

from __future__ import annotations

import math

import numpy as np

from ....backend.dtype import Array
from ....backend.registry import holds, xp
from ....backend.special import complementary_error_function

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


# The incomplete gamma functions: by the series (DLMF 8.7.1) where x < a + 1, else by Legendre's continued fraction
# (DLMF 8.9.2); where a is large and x near it, by Temme's expansion about the error function (Gil, Segura and Temme
# 2012, section 2.4).

_TERMS = 400  # more than any of the series takes
_EPSILON = 2.0**-55


def incomplete_gamma(a: Array, x: Array, upper: bool) -> Array:
    """P(a, x), or Q(a, x) if ``upper``, in the arrays' dtype; NaN where one of them is negative, and at (0, 0)."""
    m, dtype = xp(x), x.dtype
    a, x = m.broadcast_arrays(a.astype(np.float64), x.astype(np.float64))
    lower = m.where(a == 0, 1.0, m.where(m.isinf(a), 0.0, m.where(x == 0, 0.0, 1.0)))
    out = 1 - lower if upper else lower
    undefined = ~((a >= 0) & (x >= 0)) | ((a == 0) & (x == 0)) | (m.isinf(a) & m.isinf(x))
    out = m.where(undefined, math.nan, out)
    inner = (a > 0) & (x > 0) & m.isfinite(a) & m.isfinite(x)
    eta = _eta(m.where(inner, x, 1.0), m.where(inner, a, 1.0))
    near = inner & (a > 20) & (m.absolute(eta) < 1)
    small = inner & ~near & (x < 1.5) & (a < 1) & upper  # where 1 - P would lose the digits of a small Q
    series = inner & ~near & ~small & (x < a + 1)
    fraction = inner & ~near & ~small & (x >= a + 1)
    for where, rule, is_upper in (
        (near, _temme, None),
        (small, _upper_series, True),
        (series, _series, False),
        (fraction, _fraction, True),
    ):
        if holds(where):
            share = rule(a[where], x[where], eta[where], upper)
            out[where] = share if is_upper is None or is_upper == upper else 1 - share
    return out.astype(dtype)


def _eta(x: Array, a: Array) -> Array:
    """η with η²/2 = λ - 1 - ln λ for λ = x / a, and the sign of λ - 1."""
    m = xp(x)
    mu = (x - a) / a
    near = m.where(m.absolute(mu) < 0.1, mu, 0.0)
    series = sum((-near) ** k / k for k in range(2, 20))  # μ - ln(1 + μ), whose two terms nearly cancel
    half = m.where(m.absolute(mu) < 0.1, series, mu - m.log(x / a))
    return m.copysign(m.sqrt(2 * m.maximum(half, 0.0)), mu)


def _weight(a: Array, x: Array, eta: Array) -> Array:
    """xᵃ e⁻ˣ / Γ(a + 1), without large numbers that cancel where a is large."""
    m = xp(x)
    large = m.maximum(a, 12.0)
    by_eta = m.exp(-0.5 * large * eta * eta - stirling(large)) / m.sqrt(2 * math.pi * large)
    return m.where(a >= 12, by_eta, m.exp(a * m.log(x) - x - log_gamma(a + 1)))


def _series(a: Array, x: Array, eta: Array, upper: bool) -> Array:
    """P(a, x) = xᵃ e⁻ˣ / Γ(a + 1) Σ xⁿ / ((a + 1) ... (a + n))"""
    m = xp(x)
    term = total = m.ones_like(x)
    for n in range(1, _TERMS):
        term = term * x / (a + n)
        total = total + term
        if not (term > _EPSILON * total).any():
            break
    return _weight(a, x, eta) * total


def _upper_series(a: Array, x: Array, eta: Array, upper: bool) -> Array:
    """Q(a, x) = 1 - xᵃ / Γ(a + 1) (1 + a Σ (-x)ⁿ / (n! (a + n))), for small a and x"""
    m = xp(x)
    term, total = m.ones_like(x), m.zeros_like(x)
    for n in range(1, 30):
        term = term * -x / n
        total = total + term / (a + n)
    log = a * m.log(x) - log_gamma(a + 1)
    return -m.expm1(log) - m.exp(log) * a * total


def _fraction(a: Array, x: Array, eta: Array, upper: bool) -> Array:
    """Q(a, x) = a · xᵃ e⁻ˣ / Γ(a + 1) / (x + 1 - a - 1 (1 - a) / (x + 3 - a - ...)), by Lentz's method (1976)"""
    m = xp(x)
    tiny = 1e-300
    below = x + 1 - a
    up, down = below + 1 / tiny, 1 / below
    out = down
    for n in range(1, _TERMS):
        part = n * (a - n)
        below = below + 2
        down = part * down + below
        down = 1 / m.where(m.absolute(down) < tiny, tiny, down)
        up = below + part / up
        up = m.where(m.absolute(up) < tiny, tiny, up)
        factor = up * down
        out = out * factor
        if not (m.absolute(factor - 1) > _EPSILON * 8).any():
            break
    return _weight(a, x, eta) * a * out


def _slopes(count: int) -> list[float]:
    """The coefficients f of η / (λ - 1) = Σ fₙ ηⁿ: with μ = λ - 1 = Σ mₙ ηⁿ it is μ' - η, as μ μ' = η (1 + μ)."""
    m = [0.0, 1.0]
    for k in range(2, count + 2):
        m.append((m[k - 1] * 2 / (k + 1) - sum(m[i] * m[k + 1 - i] for i in range(2, k))) / 2)
    slopes = [(n + 1) * m[n + 1] for n in range(count)]
    slopes[1] -= 1
    return slopes


_SLOPES = _slopes(36)


def _temme(a: Array, x: Array, eta: Array, upper: bool) -> Array:
    """½ erfc(±η √(a/2)) ± e^(-½ a η²) / √(2πa) Σ sₙ ηⁿ, with η S - S' / a = (η / (λ - 1)) / Γ*(a) - 1 for S"""
    m = xp(x)
    scale = m.exp(-stirling(a))  # 1 / Γ*(a)
    coefficients = [m.zeros_like(a)] * (len(_SLOPES) + 1)  # sₙ₋₁ = fₙ / Γ* + (n + 1) sₙ₊₁ / a, from the far end
    for n in range(len(_SLOPES) - 1, 0, -1):
        coefficients[n - 1] = _SLOPES[n] * scale + (n + 1) / a * coefficients[n + 1]
    total = m.zeros_like(a)
    for coefficient in coefficients[::-1]:
        total = total * eta + coefficient
    rest = m.exp(-0.5 * a * eta * eta) / m.sqrt(2 * math.pi * a) * total
    sign = 1.0 if upper else -1.0
    return 0.5 * complementary_error_function(sign * eta * m.sqrt(a / 2)) + sign * rest
