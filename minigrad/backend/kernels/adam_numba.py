"""Adam's and AdamW's update of many parameters at once: a pass over memory. See ``plain_step`` in ``optim/adam.py``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..compiled.layout import at
from ..compiled.loops import FLOAT32, Flat, Indices, Rows, loop
from ..compiled.native import row
from ..many_numba import Many

F = np.float32


@loop
def update(start: int, stop: int, parts: Indices, table: Indices, columns: int, rates: Rows, numbers: Flat) -> None:
    """m += (1 - β₁)(g - m), v = β₂ v + (1 - β₂) g², θ -= rate · m / (√v + ε), of parts of parameters."""
    a, c, s, r1, b2, r2 = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5]
    decays = c != F(0.0)
    for k in range(start, stop):
        i, first, n = parts[3 * k], 4 * parts[3 * k + 1], parts[3 * k + 2]
        objects = columns * i
        p, g = row(at(table[objects]) + first, n), row(at(table[objects + 1]) + first, n)
        m, v = row(at(table[objects + 2]) + first, n), row(at(table[objects + 3]) + first, n)
        eps, rate = rates[i, 0], rates[i, 1]
        if columns == 5:
            most = row(at(table[objects + 4]) + first, n)
            for j in range(n):
                x = a * g[j] + c * p[j] if decays else a * g[j]
                m[j] += r1 * (x - m[j])
                v[j] = b2 * v[j] + r2 * (x * x)
            for j in range(n):
                largest = most[j] if most[j] >= v[j] else v[j]
                most[j] = largest
                p[j] = s * p[j] - rate * (m[j] / (np.sqrt(largest) + eps))
        else:
            for j in range(n):
                x = a * g[j] + c * p[j] if decays else a * g[j]
                mean = m[j] + r1 * (x - m[j])
                squares = b2 * v[j] + r2 * (x * x)
                m[j], v[j] = mean, squares
                p[j] = s * p[j] - rate * (mean / (np.sqrt(squares) + eps))


def step_all(many: Many, rates: Sequence[tuple[float, float]], *numbers: float) -> None:
    """Update the parameters of rows (θ, g, m, v) or (θ, g, m, v, largest v), and the averages, in place."""
    many.each(update, np.array(rates, FLOAT32), np.array(numbers, FLOAT32))
