"""Bessel's and Airy's functions, which NumPy does not have: by integrals that the trapezoidal rule gives to all digits
(Trefethen and Weideman 2014), and far out by Hankel's expansions (DLMF 10.17)."""

from __future__ import annotations

import math

import numpy as np

from ....backend.dtype import Array
from ....backend.registry import xp

_EULER = 0.57721566490153286061
_FAR = 25.0  # from where Hankel's expansions have all digits of a float64
_NODES = 40  # in a quarter of a period, for arguments up to _FAR
_MOST = 35  # J of order 2 · _MOST is below 1e-20 there


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
    """J of a whole order on an array, in its dtype."""
    m, dtype, x = xp(x), x.dtype, x.astype(np.float64)
    size = m.absolute(x)
    out = m.where(size < _FAR, _integrals(m.minimum(size, _FAR), order)[0], _far(m.maximum(size, _FAR), order)[0])
    out = m.where(m.isinf(size), 0.0, out)
    return (m.sign(x) * out if order % 2 else out).astype(dtype)


def second_kind(x: Array, order: int) -> Array:
    """Y of order 0 or 1 on an array, in its dtype: -inf at 0, NaN below."""
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
    """J and Y by DLMF 10.17.3 and 10.17.4, for x from _FAR."""
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
    """J of the order, and Neumann's series of Y of the order, for x up to _FAR.

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
    """The modified Bessel function I of a whole order, times e^-|x|, on an array, in its dtype."""
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
    """The modified Bessel function K of order 0 or 1, times eˣ, on an array, in its dtype: inf at 0, NaN below."""
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
        # the terms (x²/4)ᵏ / (k! (k + ν)!) of Iν, each times ln(x/2) less the mean of digamma at k + 1 and k + ν + 1
        after = harmonic + 1 / (k + 1)
        series = series + term * (log - ((harmonic + after) / 2 if order else harmonic))
        term = term * square / ((k + 1) * (k + 1 + order))
        harmonic = after
    near = m.exp(low) * (1 / low + low / 2 * series if order else -series)
    out = m.where(y < 1, near, m.where(y < _FAR, total, far))
    out = m.where(x == math.inf, 0.0, out)
    return m.where(x > 0, out, m.where(x == 0, math.inf, math.nan)).astype(dtype)


def third_kind(x: Array, order: int) -> Array:
    """The modified Bessel function K of order 0 or 1 on an array, in its dtype: inf at 0, NaN below."""
    wide = x.astype(np.float64)
    return (scaled_third_kind(wide, order) * xp(x).exp(-xp(x).maximum(wide, 0.0))).astype(x.dtype)


def spherical(x: Array, order: int) -> Array:
    """The spherical j = √(π / 2x) J of an order from 0, and a half, on an array, in its dtype; x may be complex."""
    m, dtype, x = xp(x), x.dtype, x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)
    near, endless = m.absolute(x) < order + 1, m.isinf(x)
    small, large = m.where(near, x, 0.0), m.where(near | endless, 1.0, x)
    series = term = small**order / math.prod(range(1, 2 * order + 2, 2))  # DLMF 10.53.1
    for k in range(1, 20):
        term = term * (small * small) / (-2 * k * (2 * order + 2 * k + 1))
        series = series + term
    before, out = m.cos(large) / large, m.sin(large) / large
    for n in range(order):  # DLMF 10.51.1: it loses no digits up to an order of x
        before, out = out, (2 * n + 1) / large * out - before
    return m.where(near, series, m.where(endless, 0.0, out)).astype(dtype)


def airy(x: Array) -> Array:
    """Airy's function Ai on an array, in its dtype; NaN at the infinities, as PyTorch's."""
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
