"""Softmax a row at a time, and its gradient from the result."""

from __future__ import annotations

import numpy as np

from ..compiled.functions import exp
from ..compiled.loops import Rows, loop
from ._softmax_numba import INFINITY, along, top

F = np.float32


@loop
def rows(start: int, stop: int, x: Rows, out: Rows) -> None:
    """y = e^(x - max) / Σ e^(x - max); zeros for a row that is all -inf. The sum has a loop of its own: one that also
    writes adds in another order where x and y lie close together."""
    width = x.shape[1]
    for i in range(start, stop):
        level, total = top(x[i]), F(0.0)
        for j in range(width):
            out[i, j] = exp(x[i, j] - level)
        for j in range(width):
            total += out[i, j]
        share = F(1.0) / (F(1.0) if total == F(0.0) else total)
        for j in range(width):
            out[i, j] *= share


@loop
def slope(start: int, stop: int, g: Rows, y: Rows, out: Rows) -> None:
    """dx = y (d - Σ d y), d = g - Σ g y. It is kept in ``out``, as the compiler may add in any order; an infinite
    Σ d y counts as 0, as in the op's rule."""
    width = y.shape[1]
    for i in range(start, stop):
        total = F(0.0)
        for j in range(width):
            total += g[i, j] * y[i, j]
        again = F(0.0)
        for j in range(width):
            out[i, j] = g[i, j] - total
        for j in range(width):
            again += out[i, j] * y[i, j]
        again = again if abs(again) < INFINITY else F(0.0)
        for j in range(width):
            out[i, j] = y[i, j] * (out[i, j] - again)


forward, backward = along(rows, slope)
