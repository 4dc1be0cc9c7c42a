"""Special functions of arrays that NumPy lacks: the series and integrals behind ``special.py``.

The gamma function and its relatives use Stirling's series far from 0. The incomplete gamma functions, P(a, x) and Q(a,
x) = 1 - P(a, x), are described below. Modified Bessel functions use integrals that the trapezoidal rule computes to
full precision (Trefethen and Weideman 2014), and Hankel's expansions for large arguments (DLMF 10.40).
"""

from __future__ import annotations

import math

import numpy as np

from ...backend.dtype import Array
from ...backend.registry import holds, xp
from ...backend.special import complementary_error_function

# Bernoulli numbers B2, B4, ...: the coefficients of the Stirling and Euler-Maclaurin series
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)
_LARGE = 12  # from here on, eight terms of the series yield all digits of a float64


def log_gamma(x: Array) -> Array:
    """ln |Γ(x)|, elementwise, in the dtype of x; infinite at 0, -1, -2 ..."""
    m, dtype, x = xp(x), x.dtype, x.astype(np.float64)
    mirrored = x < 0.5
    y = m.where(mirrored, 1 - x, x)
    product, z = m.ones_like(y), y
    for _ in range(_LARGE):
        near = z < _LARGE
        product = m.where(near, product * z, product)
        z = m.where(near, z + 1, z)
    out = (z - 0.5) * m.log(z) - z + 0.5 * math.log(2 * math.pi) + stirling(z) - m.log(product)
    out = m.where(y == math.inf, math.inf, m.where((y == 1) | (y == 2), 0.0, out))
    distance = m.absolute(x - m.rint(x))  # Γ(x) Γ(1 - x) = π / sin πx
    ratio = m.where(distance < 1e-8, math.pi, m.sin(math.pi * distance) / m.maximum(distance, 1e-8))
    out = m.where(mirrored, math.log(math.pi) - m.log(ratio) - m.log(distance) - out, out)
    return m.where(m.isinf(x) | (mirrored & (distance == 0)), math.inf, out).astype(dtype)


def stirling(z: Array) -> Array:
    """The difference between ln Γ(z) and (z - ½) ln z - z + ½ ln 2π, for z ≥ 12, in float64."""
    return sum(b / (2 * k * (2 * k - 1)) / z ** (2 * k - 1) for k, b in enumerate(_BERNOULLI, 1))


def digamma(x: Array) -> Array:
    """The derivative of ln Γ(x), elementwise, in the dtype of x; -inf at 0, NaN at -1, -2 ..."""
    m, dtype, x = xp(x), x.dtype, x.astype(np.float64)
    mirrored = x < 0
    z = m.where(mirrored, 1 - x, x)
    below = m.zeros_like(z)
    for _ in range(_LARGE):
        near = z < _LARGE
        below = m.where(near, below + 1 / z, below)
        z = m.where(near, z + 1, z)
    terms = sum(b / (2 * k) / z ** (2 * k) for k, b in enumerate(_BERNOULLI, 1))
    out = m.log(z) - 0.5 / z - terms - below
    angle = math.pi * (x - m.rint(x))
    out = m.where(mirrored, out - math.pi / m.tan(m.where(angle == 0, math.nan, angle)), out)
    return m.where(x == 0, m.copysign(math.inf, -x), out).astype(dtype)


def zeta(x: Array, q: Array) -> Array:
    """The Hurwitz zeta function, Σ (q + k)⁻ˣ over k ≥ 0, elementwise, in the dtype of the arrays.

    The result is inf at x = 1 and at q = 0, -1 ...; it is NaN for x < 1, and for q < 0 if x is not an integer.
    """
    m, dtype = xp(x), x.dtype
    x, q = m.broadcast_arrays(x.astype(np.float64), q.astype(np.float64))
    power, whole = m.where(x > 1, x, 2.0), q == m.floor(q)
    below = (q < 0) & ~whole
    part = m.where(below, q - m.floor(q), 0.5)  # the smallest positive base among the terms
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
    """Σ (q + k)⁻ˣ for x > 1 and q > 0, by the Euler-Maclaurin formula."""
    m, z = xp(x), q + _LARGE
    total = sum((q + k) ** -x for k in range(_LARGE))
    rising = ratio = m.minimum(x, 1e6) / z  # for larger x, the first terms are enough
    rest = 1 / (x - 1) + 0.5 / z
    for k, b in enumerate(_BERNOULLI, 1):
        rest = rest + b / math.factorial(2 * k) * rising / z
        rising = rising * (ratio + (2 * k - 1) / z) * (ratio + 2 * k / z)
    return total + z ** (1 - x) * rest


# The incomplete gamma functions use the series (DLMF 8.7.1) if x < a + 1, otherwise Legendre's continued fraction (DLMF
# 8.9.2). For large a and x near a, they use Temme's expansion with the error function (Gil, Segura and Temme 2012,
# section 2.4).

_TERMS = 400  # more than any of the series requires
_EPSILON = 2.0**-55


def incomplete_gamma(a: Array, x: Array, upper: bool) -> Array:
    """P(a, x), or Q(a, x) if ``upper``, in the dtype of the arrays; NaN where either is negative, and at (0, 0)."""
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
    cases = (near, _temme, None), (small, _upper_series, True), (series, _series, False), (fraction, _fraction, True)
    for where, rule, is_upper in cases:
        if holds(where):
            share = rule(a[where], x[where], eta[where], upper)
            out[where] = share if is_upper is None or is_upper == upper else 1 - share
    return out.astype(dtype)


def _eta(x: Array, a: Array) -> Array:
    """η with η²/2 = λ - 1 - ln λ and the sign of λ - 1, for λ = x / a."""
    m = xp(x)
    mu = (x - a) / a
    near = m.where(m.absolute(mu) < 0.1, mu, 0.0)
    series = sum((-near) ** k / k for k in range(2, 20))  # μ - ln(1 + μ), whose two terms nearly cancel
    half = m.where(m.absolute(mu) < 0.1, series, mu - m.log(x / a))
    return m.copysign(m.sqrt(2 * m.maximum(half, 0.0)), mu)


def _weight(a: Array, x: Array, eta: Array) -> Array:
    """xᵃ e⁻ˣ / Γ(a + 1), computed without large numbers that cancel for large a."""
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


def _derivatives(count: int) -> list[float]:
    """The coefficients f of η / (λ - 1) = Σ fₙ ηⁿ. For μ = λ - 1 = Σ mₙ ηⁿ, this is μ' - η, as μ μ' = η (1 + μ)."""
    m = [0.0, 1.0]
    for k in range(2, count + 2):
        m.append((m[k - 1] * 2 / (k + 1) - sum(m[i] * m[k + 1 - i] for i in range(2, k))) / 2)
    derivatives = [(n + 1) * m[n + 1] for n in range(count)]
    derivatives[1] -= 1
    return derivatives


_DERIVATIVES = _derivatives(36)


def _temme(a: Array, x: Array, eta: Array, upper: bool) -> Array:
    """½ erfc(±η √(a/2)) ± e^(-½ a η²) / √(2πa) S, where S = Σ sₙ ηⁿ and η S - S' / a = (η / (λ - 1)) / Γ*(a) - 1"""
    m = xp(x)
    scale = m.exp(-stirling(a))  # 1 / Γ*(a)
    coefficients = [m.zeros_like(a)] * (len(_DERIVATIVES) + 1)  # sₙ₋₁ = fₙ / Γ* + (n + 1) sₙ₊₁ / a, from the far end
    for n in range(len(_DERIVATIVES) - 1, 0, -1):
        coefficients[n - 1] = _DERIVATIVES[n] * scale + (n + 1) / a * coefficients[n + 1]
    rest = m.exp(-0.5 * a * eta * eta) / m.sqrt(2 * math.pi * a) * _horner(coefficients, eta)
    sign = 1.0 if upper else -1.0
    return 0.5 * complementary_error_function(sign * eta * m.sqrt(a / 2)) + sign * rest


_FAR = 25.0  # from here, Hankel's expansions yield all digits of a float64
_NODES = 40  # in a quarter of a period, for arguments up to _FAR


def _hankel(order: int, count: int = 30) -> list[float]:
    """The coefficients aₖ(ν) = (4ν² - 1²) (4ν² - 3²) ... (4ν² - (2k - 1)²) / (k! 8ᵏ), DLMF 10.17.1."""
    terms = [1.0]
    for k in range(1, count):
        terms.append(terms[-1] * (4 * order**2 - (2 * k - 1) ** 2) / (8 * k))
    return terms


def _horner(coefficients: list[float], t: Array) -> Array:
    """Σ cₖ tᵏ"""
    total = xp(t).zeros_like(t)
    for coefficient in reversed(coefficients):
        total = total * t + coefficient
    return total


def scaled_modified(x: Array, order: int) -> Array:
    """The modified Bessel function I of integer order, times e^-|x|, elementwise, in the dtype of x."""
    m, dtype, x = xp(x), x.dtype, x.astype(np.float64)
    size = m.absolute(x)
    near, total = m.minimum(size, _FAR), m.zeros_like(x)
    for j in range(_NODES):  # ∫ exp(x cos θ) cos νθ dθ, DLMF 10.32.3
        angle = (j + 0.5) * math.pi / 2 / _NODES
        cos, sin = math.cos(angle), math.sin(angle / 2)
        grown, shrunk = m.exp(-2 * near * (sin * sin)), m.exp(-near * (1 + cos))  # e^(|x| (±cos θ - 1))
        small = 2 * m.sinh(m.minimum(near * cos, 0.5)) * m.exp(-near)
        pair = m.where(near * cos < 0.5, small, grown - shrunk) if order % 2 else grown + shrunk
        total = total + math.cos(order * angle) * pair
    large = m.maximum(size, _FAR)
    far = _horner(_hankel(order), -1 / large) / m.sqrt(large) / math.sqrt(2 * math.pi)  # DLMF 10.40.1
    out = m.where(size < _FAR, total / (2 * _NODES), far)
    return (m.sign(x) * out if order % 2 else out).astype(dtype)


def spherical(x: Array, order: int) -> Array:
    """The spherical Bessel function √(π / 2x) J of order n + ½, n = ``order`` ≥ 0, in x's dtype, real or complex."""
    m, dtype, x = xp(x), x.dtype, x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)
    near, endless = m.absolute(x) < order + 1, m.isinf(x)
    small, large = m.where(near, x, 0.0), m.where(near | endless, 1.0, x)
    series = term = small**order / math.prod(range(1, 2 * order + 2, 2))  # DLMF 10.53.1
    for k in range(1, 20):
        term = term * (small * small) / (-2 * k * (2 * order + 2 * k + 1))
        series = series + term
    before, out = m.cos(large) / large, m.sin(large) / large
    for n in range(order):  # does not lose digits for orders up to about x
        before, out = out, (2 * n + 1) / large * out - before
    return m.where(near, series, m.where(endless, 0.0, out)).astype(dtype)
