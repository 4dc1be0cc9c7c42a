"""Muon's update of many matrices at once, one for each thread at a time. See ``muon_step`` in ``optim/muon.py``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .. import blas
from ..compiled.layout import at
from ..compiled.loops import FLOAT32, Indices, Rows, inline, loop, scratch
from ..compiled.native import row, sgemm
from ..many_numba import Many

F = np.float32


@inline
def orthogonal(
    gemm: int, x: int, other: int, gram: int, factor: int, rows: int, columns: int, a: float, b: float, c: float
) -> None:
    """A step of Newton's and Schulz's iteration, from ``x`` to ``other``: by XXᵀ or XᵀX, whichever is smaller."""
    n, wide = min(rows, columns), rows <= columns
    depth = max(rows, columns)
    sgemm(gemm, not wide, wide, n, n, depth, F(1.0), x, columns, x, columns, F(0.0), gram, n)
    g, f = row(gram, n * n), row(factor, n * n)
    for i in range(n * n):
        f[i] = g[i]
    sgemm(gemm, False, False, n, n, n, F(c), gram, n, gram, n, F(b), factor, n)
    for i in range(n):
        f[i * (n + 1)] += F(a)
    left, right = (factor, x) if wide else (x, factor)
    sgemm(gemm, False, False, rows, columns, n, F(1.0), left, n, right, columns, F(0.0), other, columns)


@loop
def update(
    start: int,
    stop: int,
    thread: int,
    gemm: int,
    table: Indices,
    shapes: Indices,
    rates: Rows,
    shrink: float,
    rest: float,
    momentum: float,
    a: float,
    b: float,
    c: float,
    eps: float,
    steps: int,
    space: Rows,
) -> None:
    """m += (1 - momentum)(g - m), θ -= rate · O, O being next to g + momentum (m - g): matrices [start, stop)."""
    s, r1, share = F(shrink), F(rest), F(momentum)
    for k in range(start, stop):
        i, rows, columns = shapes[3 * k], shapes[3 * k + 1], shapes[3 * k + 2]
        size, n = rows * columns, min(rows, columns)
        p, g, m = row(at(table[3 * i]), size), row(at(table[3 * i + 1]), size), row(at(table[3 * i + 2]), size)
        place = space.ctypes.data + 4 * thread * space.shape[1]
        other, gram = place + 4 * size, place + 8 * size
        factor = gram + 4 * n * n
        x = row(place, size)
        total = F(0.0)
        for j in range(size):
            mean = m[j] + r1 * (g[j] - m[j])
            m[j] = mean
            value = share * mean + (F(1.0) - share) * g[j]
            x[j] = value
            total += value * value
        scale = F(1.0) / max(np.sqrt(total), F(eps))
        for j in range(size):
            x[j] *= scale
        for _ in range(steps):
            orthogonal(gemm, place, other, gram, factor, rows, columns, a, b, c)
            place, other = other, place
        found, rate = row(place, size), rates[i, 0]
        for j in range(size):
            p[j] = s * p[j] - rate * found[j]


def step_all(
    many: Many,
    shapes: Sequence[tuple[int, int]],
    rates: Sequence[float],
    shrink: float,
    momentum: float,
    nesterov: bool,
    coefficients: tuple[float, float, float],
    eps: float,
    steps: int,
) -> None:
    """Update the matrices of rows (θ, g, m) that are taken, in place; those that take longest come first.

    Args:
        shapes, rates: of each matrix. shrink: what θ is multiplied by. The others are ``muon_step``'s options.
    """
    todo = [(i, *shape) for i, (shape, taken) in enumerate(zip(shapes, many.taken, strict=True)) if taken]
    a, b, c = coefficients
    if not todo:
        return
    todo.sort(key=lambda one: one[1] * one[2] * min(one[1:]), reverse=True)
    most = max(2 * rows * columns + 2 * min(rows, columns) ** 2 for _, rows, columns in todo)
    given = np.array(todo, np.int64).reshape(-1, 3), np.array(rates, FLOAT32).reshape(-1, 1)
    numbers = shrink, 1 - momentum, momentum if nesterov else 1.0, a, b, c, eps
    with blas.one_thread():
        update(len(todo), 1, blas.sgemm(), many.table, *given, *numbers, steps, scratch(most))
