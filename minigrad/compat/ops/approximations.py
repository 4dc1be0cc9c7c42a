"""Special functions of arrays that NumPy lacks: the series and integrals behind ``special.py``.

The gamma function and its relatives use Stirling's series far from 0. The incomplete gamma functions, P(a, x) and Q(a,
x) = 1 - P(a, x), are described below. Bessel and Airy functions use integrals that the trapezoidal rule computes to
full precision (Trefethen and Weideman 2014), and Hankel's expansions for large arguments (DLMF 10.17).
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


_EULER = 0.57721566490153286061
_FAR = 25.0  # from here, Hankel's expansions yield all digits of a float64
_NODES = 40  # in a quarter of a period, for arguments up to _FAR
_MOST = 35  # for such arguments, J of order 2 · _MOST is below 1e-20


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


def first_kind(x: Array, order: int) -> Array:
    """The Bessel function J of integer order, elementwise, in the dtype of x."""
    m, dtype, x = xp(x), x.dtype, x.astype(np.float64)
    size = m.absolute(x)
    out = m.where(size < _FAR, _integrals(m.minimum(size, _FAR), order)[0], _far(m.maximum(size, _FAR), order)[0])
    out = m.where(m.isinf(size), 0.0, out)
    return (m.sign(x) * out if order % 2 else out).astype(dtype)


def second_kind(x: Array, order: int) -> Array:
    """The Bessel function Y of order 0 or 1, elementwise, in the dtype of x; -inf at 0, NaN for x < 0."""
    m, dtype, x = xp(x), x.dtype, x.astype(np.float64)
    y = m.where(x > 0, x, 1.0)
    small = m.minimum(y, _FAR)
    first, series = _integrals(small, order)  # Neumann's series, DLMF 10.23.17
    rest = _integrals(small, 0)[0] / small if order else 0.0
    near = 2 / math.pi * ((m.log(small / 2) + _EULER - order) * first - series - rest)
    out = m.where(y < _FAR, near, _far(m.maximum(y, _FAR), order)[1])
    out = m.where(m.isinf(x), 0.0, out)
    return m.where(x > 0, out, m.where(x == 0, -math.inf, math.nan)).astype(dtype)


def _far(x: Array, order: int) -> tuple[Array, Array]:
    """J and Y from DLMF 10.17.3 and 10.17.4, for x ≥ _FAR."""
    m, terms = xp(x), _hankel(order)
    x = m.where(m.isinf(x), 1e300, x)
    inverse = 1 / x
    square = -inverse * inverse
    even, odd = _horner(terms[::2], square), inverse * _horner(terms[1::2], square)
    sin, cos = m.sin(x), m.cos(x)
    near, turned = sin + cos, sin - cos  # √2 cos and √2 sin of x - π/4
    for _ in range(order % 4):  # less ν π/2
        near, turned = turned, -near
    height = m.sqrt(inverse / math.pi)
    return height * (even * near - odd * turned), height * (even * turned + odd * near)


def _integrals(x: Array, order: int) -> tuple[Array, Array]:
    """J and Neumann's series for Y, both of order ``order``, for x up to _FAR.

    Both are means of cos or sin of x sin θ, times cos 2kθ or sin (2k + 1)θ, over a period (DLMF 10.9.2).
    """
    m = xp(x)
    first, series = m.zeros_like(x), m.zeros_like(x)
    for j in range(_NODES):
        angle = (j + 0.5) * math.pi / 2 / _NODES
        odd = order % 2
        wave = (m.sin if odd else m.cos)(x * math.sin(angle))
        first = first + wave * (math.sin if odd else math.cos)(order * angle)
        if odd:
            weights = ((-1) ** k * (2 * k + 1) / (k * (k + 1)) * math.sin((2 * k + 1) * angle) for k in range(1, _MOST))
        else:
            weights = ((-1) ** k * 2 / k * math.cos(2 * k * angle) for k in range(1, _MOST))
        series = series + wave * sum(weights)
    return first / _NODES, series / _NODES


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


def scaled_third_kind(x: Array, order: int) -> Array:
    """The modified Bessel function K of order 0 or 1, times eˣ, in the dtype of x; inf at 0, NaN for x < 0."""
    m, dtype, x = xp(x), x.dtype, x.astype(np.float64)
    y = m.where((x > 0) & m.isfinite(x), x, 1.0)
    middle = m.clip(y, 1.0, _FAR)
    total = m.zeros_like(y)
    for j in range(48):  # ∫ exp(-x cosh t) cosh νt dt, DLMF 10.32.9
        t = j / 8
        total = total + m.exp(-2 * math.sinh(t / 2) ** 2 * middle) * (math.cosh(order * t) * (0.5 if j == 0 else 1) / 8)
    large = m.maximum(y, _FAR)
    far = m.sqrt(math.pi / 2 / large) * _horner(_hankel(order), 1 / large)
    low = m.minimum(y, 1.0)
    square, log = low * low / 4, m.log(low) + (_EULER - math.log(2))
    term, harmonic, series = m.ones_like(low), 0.0, m.zeros_like(low)
    for k in range(14):  # the power series, DLMF 10.31.1 and 10.31.2
        # the terms (x²/4)ᵏ / (k! (k + ν)!) of Iν, each times ln(x/2) minus the mean of digamma at k + 1 and k + ν + 1
        after = harmonic + 1 / (k + 1)
        series = series + term * (log - ((harmonic + after) / 2 if order else harmonic))
        term = term * square / ((k + 1) * (k + 1 + order))
        harmonic = after
    near = m.exp(low) * (1 / low + low / 2 * series if order else -series)
    out = m.where(y < 1, near, m.where(y < _FAR, total, far))
    out = m.where(x == math.inf, 0.0, out)
    return m.where(x > 0, out, m.where(x == 0, math.inf, math.nan)).astype(dtype)


def third_kind(x: Array, order: int) -> Array:
    """The modified Bessel function K of order 0 or 1, in the dtype of x; inf at 0, NaN for x < 0."""
    wide = x.astype(np.float64)
    return (scaled_third_kind(wide, order) * xp(x).exp(-xp(x).maximum(wide, 0.0))).astype(x.dtype)


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


def airy(x: Array) -> Array:
    """The Airy function Ai, elementwise, in the dtype of x; NaN at ±inf, as in PyTorch."""
    m, dtype, x = xp(x), x.dtype, x.astype(np.float64)
    size = m.where(m.isfinite(x), m.maximum(m.absolute(x), 1.0), 1.0)
    turn = m.where(x < 0, np.exp(1j * math.pi / 3), 1.0)  # Ai(-x) = 2 Re e^(iπ/3) Ai(x e^(iπ/3)), DLMF 9.2.14
    root = m.sqrt(size) * m.where(x < 0, np.exp(1j * math.pi / 6), 1.0)
    zeta = 2 / 3 * size * m.sqrt(size)
    middle = m.where(size < 10, root, 1.0)
    total = m.zeros_like(root)
    for j in range(56):  # ∫ exp(-√z t²) cos(t³/3) dt, DLMF 9.5.8
        t = j / 8
        total = total + m.exp(-middle * (t * t)) * (math.cos(t**3 / 3) * (0.5 if j == 0 else 1) / 8)
    terms = [1.0]
    for k in range(1, 32):
        terms.append(-terms[-1] * (6 * k - 5) * (6 * k - 3) * (6 * k - 1) / (216 * k * (2 * k - 1)))
    large = m.where(size < 10, 1000.0 ** (1 / 2) * 2 / 3, zeta) * m.where(x < 0, 1j, 1.0)
    far = math.sqrt(math.pi) / 2 / m.sqrt(root) * _horner(terms, 1 / large)  # DLMF 9.7.5
    scaled = turn * m.where(size < 10, total, far) / math.pi
    below = 2 * (scaled.real * m.cos(zeta) + scaled.imag * m.sin(zeta))
    out = m.where(m.isfinite(x), m.where(x < 0, below, scaled.real * m.exp(-zeta)), math.nan)
    near = m.clip(x, -1.0, 1.0)  # the power series, DLMF 9.4.1
    first, second = 0.35502805388781723926 * m.ones_like(near), 0.25881940379280679840 * near
    series = first - second
    for k in range(1, 10):
        first = first * near**3 / ((3 * k - 1) * (3 * k))
        second = second * near**3 / ((3 * k) * (3 * k + 1))
        series = series + first - second
    return m.where(m.absolute(x) < 1, series, out).astype(dtype)
