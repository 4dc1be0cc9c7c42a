"""The joint norm of many arrays, and all of them scaled, each in one pass over memory."""

from __future__ import annotations

import math

import numpy as np

from ..compiled.layout import at
from ..compiled.loops import FLOAT32, Flat, Indices, loop
from ..compiled.native import row
from ..many_numba import GRAIN, Many

F = np.float32


@loop
def squares(start: int, stop: int, parts: Indices, table: Indices, sums: Flat) -> None:
    """Of each part the sum of its squares."""
    for k in range(start, stop):
        n = parts[3 * k + 2]
        x = row(at(table[parts[3 * k]]) + 4 * parts[3 * k + 1], n)
        total = F(0.0)
        for j in range(n):
            total += x[j] * x[j]
        sums[k] = total


@loop
def multiply(start: int, stop: int, parts: Indices, table: Indices, factor: float) -> None:
    """x = factor · x in place."""
    f = F(factor)
    for k in range(start, stop):
        n = parts[3 * k + 2]
        x = row(at(table[parts[3 * k]]) + 4 * parts[3 * k + 1], n)
        for j in range(n):
            x[j] *= f


def norm(many: Many) -> float:
    """√ of the sum of all squares. 0 and infinity may be those of squares that float32 cannot hold."""
    sums = np.empty(len(many.parts), FLOAT32)
    squares(len(sums), GRAIN, many.parts, many.table, sums)
    return math.sqrt(sums.sum(dtype=np.float64))


def scale(many: Many, factor: float) -> None:
    """All times a factor, in place."""
    multiply(len(many.parts), GRAIN, many.parts, many.table, factor)
