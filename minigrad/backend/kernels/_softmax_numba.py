"""What softmax, its logarithm and cross-entropy share: maxima, sums, and along which axis their loops run."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..compiled.functions import exp
from ..compiled.loops import FLOAT32, Loop, fits, grain, inline, laid, scratch
from ..compiled.native import fma, from_bits, to_bits
from ..dtype import Array

F, I = np.float32, np.int32
INFINITY, _LN2 = F(np.inf), F(0.6931471805599453)
_LONG = 1 << 16  # sums of longer columns, one number after the other, lose digits
COLUMNS = 256  # worked on at once where rows lie across: as many of each row are in cache


def along(dim: int, by_rows: Loop, by_columns: Loop, *inputs: Array) -> Any:
    """One of the loops on (rows, n) or on (count, n, after), as the axis is the last or not; returns what it wrote.

    Args:
        by_rows: called with the inputs and the result.
        by_columns: called with the number of pieces of ``COLUMNS`` columns, the inputs, the result, and memory.
    """
    x = inputs[0]
    if not x.ndim or not fits(*inputs):
        return NotImplemented
    axis = dim % x.ndim
    length, after = x.shape[axis], math.prod(x.shape[axis + 1 :])
    if after > 1 and length > _LONG:
        return NotImplemented
    out = np.empty(x.shape, FLOAT32)
    given = [laid(a) for a in inputs]
    each = (len(given) + 1) * 4 * length
    if after == 1:
        rows = x.size // length
        shaped = [a.reshape(rows, length) for a in (*given, out)]
        by_rows(rows, grain(rows, each), *shaped)
    else:
        shaped = [a.reshape(-1, length, after) for a in (*given, out)]
        pieces = -(-after // COLUMNS)
        count = len(shaped[0]) * pieces
        by_columns(count, grain(count, each * min(after, COLUMNS)), pieces, *shaped, scratch(2 * COLUMNS))
    return out


@inline
def top(x: Any, i: int) -> np.float32:
    """The largest of row i; 0 if all are -inf (then x - top stays -inf, not NaN).

    It is found among whole numbers of the same order, as a maximum of float32 becomes no vector code.
    """
    best = I(-0x80000000)
    for j in range(x.shape[1]):
        key = _ordered(to_bits(x[i, j]))
        best = key if key > best else best
    found = from_bits(_ordered(best))
    return F(0.0) if found == -INFINITY else found


@inline
def _ordered(bits: np.int32) -> np.int32:
    """Bits of a float32 as a number that is ordered as the float32 is; and back."""
    return I(bits ^ ((bits >> I(31)) & I(0x7FFFFFFF)))


@inline
def exp_sum(x: Any, i: int, level: np.float32, first: int, last: int) -> np.float32:
    """Σ e^(x - level) of row i, of columns [first, last)."""
    part, total = x[i, first:last], F(0.0)
    for j in range(last - first):
        total += exp(part[j] - level)
    return total


@inline
def column_tops(x: Any, i: int, a: int, n: int, memory: Any, thread: int) -> None:
    """As ``top``, for n columns from a on of x[i], into the thread's memory."""
    for k in range(n):
        memory[thread, k] = -INFINITY
    for j in range(x.shape[1]):
        for k in range(n):
            best, value = memory[thread, k], x[i, j, a + k]
            memory[thread, k] = value if value > best else best
    for k in range(n):
        best = memory[thread, k]
        memory[thread, k] = F(0.0) if best == -INFINITY else best


@inline
def column_totals(x: Any, i: int, a: int, n: int, memory: Any, thread: int) -> None:
    """The sums of n columns from a on of x[i], into the thread's memory."""
    for k in range(n):
        memory[thread, k] = F(0.0)
    for j in range(x.shape[1]):
        for k in range(n):
            memory[thread, k] += x[i, j, a + k]


@inline
def log(x: np.float32) -> np.float32:
    """ln x of a sum of powers: 0, a normal number or NaN. x = 2ⁿ m, and ln m = 2 artanh((m - 1) / (m + 1))."""
    bits = to_bits(x)
    n = I((bits - I(0x3F3504F3)) >> I(23))  # √½ ≤ m < √2
    m = from_bits(I(bits - (n << I(23))))
    y = fma(F(n), _LN2, _twice_artanh((m - F(1.0)) / (m + F(1.0))))
    return -INFINITY if x == F(0.0) else (y if x > F(0.0) else x)


@inline
def log1p(x: np.float32) -> np.float32:
    """ln(1 + x) of x ≥ 0 or NaN."""
    return _twice_artanh(x / (F(2.0) + x)) if x < F(0.4) else log(F(1.0) + x)


@inline
def _twice_artanh(z: np.float32) -> np.float32:
    """2 artanh z of a |z| up to 0.172, by its power series."""
    square = z * z
    p = fma(square, F(1 / 9), F(1 / 7))
    p = fma(square, p, F(1 / 5))
    p = fma(square, p, F(1 / 3))
    return F(2.0) * z * fma(square, p, F(1.0))
