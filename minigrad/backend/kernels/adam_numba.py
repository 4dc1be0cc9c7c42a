"""Adam's and AdamW's update of many parameters at once: a pass over memory. See ``plain_step`` in ``optim/adam.py``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..compiled.layout import at
from ..compiled.loops import FLOAT32, Indices, Rows, loop
from ..compiled.native import row
from ..many_numba import GRAIN, Many

F = np.float32


@loop
def update(
    start: int,
    stop: int,
    parts: Indices,
    table: Indices,
    columns: int,
    rates: Rows,
    sign: float,
    decay: float,
    shrink: float,
    rest1: float,
    beta2: float,
    rest2: float,
) -> None:
    """m += (1 - β₁)(g - m), v = β₂ v + (1 - β₂) g², θ -= rate · m / (√v + ε), of parts of parameters."""
    a, c, s, r1, b2, r2 = F(sign), F(decay), F(shrink), F(rest1), F(beta2), F(rest2)
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


def step_all(many: Many, steps: Sequence[int], *options: Any) -> None:
    """Update the parameters of rows (θ, g, m, v) or (θ, g, m, v, largest v), and the averages, in place.

    Args:
        steps: the number of each one's step.
        options: those of ``plain_step``, but for ``step``.
    """
    lr, beta1, beta2, eps, weight_decay, decoupled, maximize = options
    # m / bias1 / (√v / √bias2 + ε) = √bias2 / bias1 · m / (√v + ε √bias2)
    rates = {}
    for t in {*steps} - {0}:
        root = math.sqrt(1 - beta2**t)
        rates[t] = eps * root, lr * root / (1 - beta1**t)
    decay, shrink = (0.0, 1 - lr * weight_decay) if decoupled else (weight_decay, 1.0)
    numbers = -1.0 if maximize else 1.0, decay, shrink, 1 - beta1, beta2, 1 - beta2
    columns = many.table.size // len(steps)
    update(
        len(many.parts),
        GRAIN,
        many.parts,
        many.table,
        columns,
        np.array([rates.get(t, (0, 0)) for t in steps], FLOAT32),
        *numbers,
    )
