"""Shared code for softmax, log-softmax and cross-entropy: maxima, sums, logarithms."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled.functions import exp
from ..compiled.loops import inline
from ..compiled.native import fma, from_bits, to_bits

F, I = np.float32, np.int32
INFINITY, _LN2 = F(np.inf), F(0.6931471805599453)


@inline
def top(x: Any) -> np.float32:
    """The largest element of a row, or 0 if all are -inf (so that x - top stays -inf, not NaN). The loop compares
    integers in the same order, as compilers do not vectorize float32 maxima."""
    best = I(-0x80000000)
    for j in range(x.size):
        key = _ordered(to_bits(x[j]))
        best = key if key > best else best
    value = from_bits(_ordered(best))
    return F(0.0) if value == -INFINITY else value


@inline
def _ordered(bits: np.int32) -> np.int32:
    """Map a float32's bits to an integer with the same order, or back."""
    return I(bits ^ ((bits >> I(31)) & I(0x7FFFFFFF)))


@inline
def exp_sum(x: Any, i: int, level: np.float32, first: int, last: int) -> np.float32:
    """Σ e^(x - level) over columns [first, last) of row i."""
    part, total = x[i, first:last], F(0.0)
    for j in range(last - first):
        total += exp(part[j] - level)
    return total


@inline
def log(x: np.float32) -> np.float32:
    """ln x for a sum of exponentials (0, normal or NaN), with x = 2ⁿ m and ln m = 2 artanh((m - 1) / (m + 1))."""
    bits = to_bits(x)
    n = I((bits - I(0x3F3504F3)) >> I(23))  # √½ ≤ m < √2
    m = from_bits(I(bits - (n << I(23))))
    y = fma(F(n), _LN2, _twice_artanh((m - F(1.0)) / (m + F(1.0))))
    return -INFINITY if x == F(0.0) else (y if x > F(0.0) else x)


@inline
def log1p(x: np.float32) -> np.float32:
    """ln(1 + x) for x ≥ 0 or NaN."""
    return _twice_artanh(x / (F(2.0) + x)) if x < F(0.4) else log(F(1.0) + x)


@inline
def _twice_artanh(z: np.float32) -> np.float32:
    """2 artanh z for |z| up to 0.172, by its power series."""
    square = z * z
    p = fma(square, F(1 / 9), F(1 / 7))
    p = fma(square, p, F(1 / 5))
    p = fma(square, p, F(1 / 3))
    return F(2.0) * z * fma(square, p, F(1.0))
