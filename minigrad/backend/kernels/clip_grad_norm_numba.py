"""The joint norm of many arrays, and all of them scaled, each in one pass over memory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..compiled.layout import at
from ..compiled.loops import FLOAT32, Flat, Indices, loop
from ..compiled.native import row
from ..dtype import Array
from ..many_numba import Many

F = np.float32
_SMALL = 1e-15  # the joint norm from which on no square that counts is below float32's smallest numbers


@loop
def squares(start: int, stop: int, parts: Indices, table: Indices, columns: int, sums: Flat) -> None:
    """Of each part the sum of its squares."""
    for k in range(start, stop):
        n = parts[3 * k + 2]
        x = row(at(table[columns * parts[3 * k]]) + 4 * parts[3 * k + 1], n)
        total = F(0.0)
        for j in range(n):
            total += x[j] * x[j]
        sums[k] = total


@loop
def multiply(start: int, stop: int, parts: Indices, table: Indices, columns: int, factor: float) -> None:
    """x = factor · x in place."""
    f = F(factor)
    for k in range(start, stop):
        n = parts[3 * k + 2]
        x = row(at(table[columns * parts[3 * k]]) + 4 * parts[3 * k + 1], n)
        for j in range(n):
            x[j] *= f


def norm(many: Many) -> Any:
    """√ of the sum of all squares; NotImplemented where float32 may not hold them."""
    sums = np.empty(len(many.parts), FLOAT32)
    many.each(squares, sums)
    length = math.sqrt(sums.sum(dtype=np.float64))
    return np.array(length, FLOAT32) if _SMALL < length < math.inf else NotImplemented


def clip(many: Many, most: float, total: Array) -> None:
    """Scale all, whose norm is ``total``, to a norm of at most ``most``, in place."""
    scale(many, np.minimum(most / (total + 1e-6), 1.0))


def scale(many: Many, factor: float | Array) -> None:
    """All times a factor, in place."""
    many.each(multiply, float(factor))
