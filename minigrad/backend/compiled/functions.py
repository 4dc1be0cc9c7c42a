"""Functions of float32 for compiled loops, without calls and branches, so that a loop of them becomes vector code.

Errors, against float64 rounded once, are of at most 2 units in the last place (tests/backend/test_compiled.py).
"""

from __future__ import annotations

import numpy as np

from .loops import inline
from .native import fma, from_bits, rint

F = np.float32
# ln 2 in two parts, the first with few enough bits that a whole number times it is exact
_LOG2E, _LN2_HIGH, _LN2_LOW = F(1.4426950408889634), F(0.693359375), F(-2.12194440e-4)


@inline
def exp(x: np.float32) -> np.float32:
    """eˣ: 2ⁿ eʳ with |r| ≤ ln 2 / 2, where eʳ is its Taylor series. -inf gives 0, NaN gives NaN."""
    c = F(-104.0) if x < F(-104.0) else x
    c = F(89.0) if c > F(89.0) else c
    n = rint(c * _LOG2E)
    r = fma(n, -_LN2_LOW, fma(n, -_LN2_HIGH, c))
    p = fma(r, F(1 / 5040), F(1 / 720))
    p = fma(p, r, F(1 / 120))
    p = fma(p, r, F(1 / 24))
    p = fma(p, r, F(1 / 6))
    p = fma(p, r, F(0.5))
    p = fma(p, r, F(1.0))
    p = fma(p, r, F(1.0))
    whole = np.int32(n)
    half = whole >> np.int32(1)  # 2ⁿ in two steps, as it may be no float32
    return p * from_bits((half + np.int32(127)) << np.int32(23)) * from_bits(
        (whole - half + np.int32(127)) << np.int32(23)
    )


@inline
def tanh(x: np.float32) -> np.float32:
    """tanh x: a polynomial near 0 (Cephes, tanhf), else 1 - 2 / (e²ˣ + 1)."""
    a = abs(x)
    large = F(1.0) - F(2.0) / (exp(F(2.0) * a) + F(1.0))
    z = x * x
    p = fma(z, F(-5.70498872745e-3), F(2.06390887954e-2))
    p = fma(p, z, F(-5.37397155531e-2))
    p = fma(p, z, F(1.33314422036e-1))
    p = fma(p, z, F(-3.33332819422e-1))
    small = fma(p * z, a, a)
    size = small if a < F(0.625) else large
    return -size if x < F(0.0) else size


@inline
def sigmoid(x: np.float32) -> np.float32:
    """1 / (1 + e⁻ˣ)"""
    return F(1.0) / (F(1.0) + exp(-x))


# P, the highest power first: least squares of Φ up to 6, weighted until its largest errors are alike, 3e-8. From there
# on x P(x²) only grows, and tanh is 1.
_NORMAL = tuple(
    F(c) for c in (1.7562759e-9, -1.3226623e-7, 3.9647726e-6, -5.5306314e-5, -3.259475e-5, 0.036333084, 0.79788494)
)


@inline
def normal(x: np.float32) -> np.float32:
    """The normal distribution Φ(x) = (1 + tanh(x P(x²))) / 2 = 1 / (1 + exp(-2 x P(x²)))"""
    z = x * x
    p = fma(z, _NORMAL[0], _NORMAL[1])
    p = fma(p, z, _NORMAL[2])
    p = fma(p, z, _NORMAL[3])
    p = fma(p, z, _NORMAL[4])
    p = fma(p, z, _NORMAL[5])
    p = fma(p, z, _NORMAL[6])
    return sigmoid(F(2.0) * x * p)
