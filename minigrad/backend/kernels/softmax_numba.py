"""Softmax a row at a time, or some columns where the axis is not the last, and its gradient from the result."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled.functions import exp
from ..compiled.loops import Cube, Rows, loop
from ..dtype import Array
from . import Gradients, Needs
from ._softmax_numba import COLUMNS, INFINITY, along, column_tops, column_totals, top

F = np.float32


@loop
def rows(start: int, stop: int, x: Rows, out: Rows) -> None:
    """y = e^(x - max) / Σ e^(x - max); zeros for a row that is all -inf."""
    width = x.shape[1]
    for i in range(start, stop):
        level, total = top(x, i), F(0.0)
        for j in range(width):
            power = exp(x[i, j] - level)
            out[i, j] = power
            total += power
        share = F(1.0) / (F(1.0) if total == F(0.0) else total)
        for j in range(width):
            out[i, j] *= share


@loop
def columns(start: int, stop: int, thread: int, pieces: int, x: Cube, out: Cube, memory: Rows) -> None:
    """The same along the second of three axes."""
    height = x.shape[1]
    for piece in range(start, stop):
        i, a = piece // pieces, piece % pieces * COLUMNS
        n = min(COLUMNS, x.shape[2] - a)
        column_tops(x, i, a, n, memory, thread)
        for j in range(height):
            for k in range(n):
                out[i, j, a + k] = exp(x[i, j, a + k] - memory[thread, k])
        column_totals(out, i, a, n, memory, thread)
        for k in range(n):
            total = memory[thread, k]
            memory[thread, k] = F(1.0) / (F(1.0) if total == F(0.0) else total)
        for j in range(height):
            for k in range(n):
                out[i, j, a + k] *= memory[thread, k]


def forward(needs: Needs, x: Array, dim: int) -> tuple[Array, Any]:
    out = along(dim, rows, columns, x)
    return NotImplemented if out is NotImplemented else (out, out)


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


@loop
def column_slope(start: int, stop: int, thread: int, pieces: int, g: Cube, y: Cube, out: Cube, memory: Rows) -> None:
    """The same along the second of three axes."""
    height = y.shape[1]
    for piece in range(start, stop):
        i, a = piece // pieces, piece % pieces * COLUMNS
        n = min(COLUMNS, y.shape[2] - a)
        for k in range(n):
            memory[thread, k] = F(0.0)
        for j in range(height):
            for k in range(n):
                memory[thread, k] += g[i, j, a + k] * y[i, j, a + k]
        for j in range(height):
            for k in range(n):
                out[i, j, a + k] = g[i, j, a + k] - memory[thread, k]
        for k in range(n):
            memory[thread, k] = F(0.0)
        for j in range(height):
            for k in range(n):
                memory[thread, k] += out[i, j, a + k] * y[i, j, a + k]
        for k in range(n):
            again = memory[thread, k]
            memory[thread, k] = again if abs(again) < INFINITY else F(0.0)
        for j in range(height):
            for k in range(n):
                out[i, j, a + k] = y[i, j, a + k] * (out[i, j, a + k] - memory[thread, k])


def backward(needs: Needs, out: Array, g: Array, x: None, dim: int) -> Gradients:
    return along(dim, slope, column_slope, g, out), None
