"""The logarithm of softmax, along rows or columns as in softmax_numba.py, and its gradient from the result."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled.functions import exp
from ..compiled.loops import Cube, Rows, loop
from ..dtype import Array
from . import Gradients, Needs
from ._softmax_numba import COLUMNS, along, column_tops, column_totals, exp_sum, log, top

F = np.float32


@loop
def rows(start: int, stop: int, x: Rows, out: Rows) -> None:
    """y = x - max - ln Σ e^(x - max)."""
    width = x.shape[1]
    for i in range(start, stop):
        most = top(x, i)
        level = log(exp_sum(x, i, most))
        for j in range(width):
            out[i, j] = (x[i, j] - most) - level


@loop
def columns(start: int, stop: int, thread: int, pieces: int, x: Cube, out: Cube, memory: Rows) -> None:
    """The same along the second of three axes."""
    for piece in range(start, stop):
        i, a = piece // pieces, piece % pieces * COLUMNS
        n = min(COLUMNS, x.shape[2] - a)
        column_tops(x, i, a, n, memory, thread)
        for j in range(x.shape[1]):
            for k in range(n):
                out[i, j, a + k] = x[i, j, a + k] - memory[thread, k]
        for k in range(n):
            memory[thread, k] = F(0.0)
        for j in range(x.shape[1]):
            for k in range(n):
                memory[thread, k] += exp(out[i, j, a + k])
        for k in range(n):
            memory[thread, k] = log(memory[thread, k])
        for j in range(x.shape[1]):
            for k in range(n):
                out[i, j, a + k] -= memory[thread, k]


def forward(needs: Needs, x: Array, dim: int) -> tuple[Array, Any]:
    out = along(dim, rows, columns, x)
    return NotImplemented if out is NotImplemented else (out, out)


@loop
def slope(start: int, stop: int, g: Rows, y: Rows, out: Rows) -> None:
    """dx = g - e^y Σ g."""
    width = y.shape[1]
    for i in range(start, stop):
        total = F(0.0)
        for j in range(width):
            total += g[i, j]
        for j in range(width):
            out[i, j] = g[i, j] - exp(y[i, j]) * total


@loop
def column_slope(start: int, stop: int, thread: int, pieces: int, g: Cube, y: Cube, out: Cube, memory: Rows) -> None:
    """The same along the second of three axes."""
    for piece in range(start, stop):
        i, a = piece // pieces, piece % pieces * COLUMNS
        n = min(COLUMNS, y.shape[2] - a)
        column_totals(g, i, a, n, memory, thread)
        for j in range(y.shape[1]):
            for k in range(n):
                out[i, j, a + k] = g[i, j, a + k] - exp(y[i, j, a + k]) * memory[thread, k]


def backward(needs: Needs, out: Array, g: Array, x: None, dim: int) -> Gradients:
    return along(dim, slope, column_slope, g, out), None
