"""SGD's update of many parameters at once: a pass over memory. See ``optim/sgd.py``."""

from __future__ import annotations

import numpy as np

from ..compiled.layout import at
from ..compiled.loops import FLOAT32, Flat, Indices, loop
from ..compiled.native import row
from ..many_numba import Many

F = np.float32


@loop
def update(start: int, stop: int, parts: Indices, table: Indices, columns: int, numbers: Flat) -> None:
    """b = momentum · b + rest · x, where x is the gradient; θ -= lr · b, or lr (x + momentum · b), or lr · x alone."""
    a, c, mu, r, rate = numbers[0], numbers[1], numbers[2], numbers[3], numbers[5]
    decays, looks_ahead = c != F(0.0), numbers[4] != F(0.0)
    for k in range(start, stop):
        first, n = 4 * parts[3 * k + 1], parts[3 * k + 2]
        objects = columns * parts[3 * k]
        p, g = row(at(table[objects]) + first, n), row(at(table[objects + 1]) + first, n)
        if columns == 2:
            for j in range(n):
                x = a * g[j] + c * p[j] if decays else a * g[j]
                p[j] -= rate * x
            continue
        b = row(at(table[objects + 2]) + first, n)
        for j in range(n):
            x = a * g[j] + c * p[j] if decays else a * g[j]
            mean = mu * b[j] + r * x
            b[j] = mean
            p[j] -= rate * (x + mu * mean if looks_ahead else mean)


def step_all(many: Many, *numbers: float) -> None:
    """Update the parameters of rows (θ, g) or (θ, g, b), and b, in place."""
    many.each(update, np.array(numbers, FLOAT32))
