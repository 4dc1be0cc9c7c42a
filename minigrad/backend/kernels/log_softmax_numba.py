"""The logarithm of softmax a row at a time, and its gradient from the result."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled.functions import exp
from ..compiled.loops import Rows, inline, loop
from ..compiled.native import fma
from ._softmax_numba import INFINITY, along, log, log1p, top

F = np.float32


@loop
def rows(start: int, stop: int, x: Rows, out: Rows) -> None:
    """y = x - max - ln Σ e^(x - max). x - max is kept in ``out``, as the compiler may add in any order."""
    width = x.shape[1]
    for i in range(start, stop):
        most, total, others = top(x[i]), F(0.0), F(0.0)
        for j in range(width):
            out[i, j] = x[i, j] - most
        for j in range(width):  # apart, as in softmax
            total += exp(out[i, j])
        if is_one(total):
            for j in range(width):
                others += exp(out[i, j]) if out[i, j] < F(0.0) else F(0.0)
        level = log1p(others) if is_one(total) else log(total)
        for j in range(width):
            out[i, j] -= level


@inline
def is_one(total: np.float32) -> Any:
    """Whether a sum of powers is so near 1, which is the largest of them, that the others' digits are lost."""
    return F(0.9) < total < F(1.4)


@inline
def element_slope(g: np.float32, y: np.float32, total: np.float32) -> np.float32:
    """g - e^y Σ g, by 1 - e^y where e^y is more than a half, as the op's rule is."""
    large = y > F(-0.6931)
    half = F(0.5) * y if large else F(0.0)
    p = fma(half, F(1 / 5040), F(1 / 720))
    p = fma(p, half, F(1 / 120))
    p = fma(p, half, F(1 / 24))
    p = fma(p, half, F(1 / 6))
    p = fma(p, half, F(0.5))
    root = fma(p, half * half, half)  # e^(y/2) - 1
    return fma(-root * (root + F(2.0)), total, g - total) if large else g - exp(y) * total


@inline
def infinite_slope(g: np.float32, y: np.float32, total: np.float32) -> np.float32:
    """The same where Σ g is infinite or NaN, which parts of e^y must not meet: (e^y - 1) Σ g + Σ g is NaN."""
    return g - (exp(y) if y > F(-104.0) else F(0.0)) * total


@loop
def slope(start: int, stop: int, g: Rows, y: Rows, out: Rows) -> None:
    """dx = g - e^y Σ g."""
    width = y.shape[1]
    for i in range(start, stop):
        total = F(0.0)
        for j in range(width):
            total += g[i, j]
        for j in range(width):
            out[i, j] = element_slope(g[i, j], y[i, j], total)
        if not abs(total) < INFINITY:
            for j in range(width):
                out[i, j] = infinite_slope(g[i, j], y[i, j], total)


forward, backward = along(rows, slope)
