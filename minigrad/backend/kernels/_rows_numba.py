"""What compiled kernels of rows share: a row's largest number, a logarithm."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled.functions import exp
from ..compiled.loops import inline
from ..compiled.native import from_bits, to_bits

F, I = np.float32, np.int32
_INFINITY, _LN2 = F(np.inf), F(0.6931472)


@inline
def top(x: Any, i: int) -> np.float32:
    """The largest of row i; 0 if all are -inf (then x - top stays -inf, not NaN).

    It is found among whole numbers of the same order, as maxima of float32 become no vector code.
    """
    best = I(-0x80000000)
    for j in range(x.shape[1]):
        key = _ordered(to_bits(x[i, j]))
        best = key if key > best else best
    found = from_bits(_ordered(best))
    return F(0.0) if found == -_INFINITY else found


@inline
def _ordered(bits: np.int32) -> np.int32:
    """Bits of a float32 as a number that is ordered as the float32 is; and back."""
    return I(bits ^ ((bits >> I(31)) & I(0x7FFFFFFF)))


@inline
def exp_sum(x: Any, i: int, level: np.float32) -> np.float32:
    """Σ e^(x - level) of row i."""
    total = F(0.0)
    for j in range(x.shape[1]):
        total += exp(x[i, j] - level)
    return total


@inline
def log(x: np.float32) -> np.float32:
    """ln x of a sum of powers, which is finite: two steps of Halley's method from the exponent's bits."""
    y = F(to_bits(x) - I(0x3F800000)) * (_LN2 / F(1 << 23))
    for _ in range(2):
        power = exp(y)
        y += F(2.0) * (x - power) / (x + power)
    return -_INFINITY if x == F(0.0) else y
