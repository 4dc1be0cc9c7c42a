"""Muon's update of many matrices at once, one for each thread at a time. See ``muon_step`` in ``optim/muon.py``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .. import blas
from ..compiled.layout import at
from ..compiled.loops import FLOAT32, Flat, Indices, Rows, inline, loop, scratch
from ..compiled.native import row, sgemm
from ..many_numba import Many

F = np.float32
SMALL = 1 << 26  # multiplications: of products up to this a core computes all for a matrix by itself


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
    rates: Flat,
    numbers: Flat,
    steps: int,
    space: Rows,
) -> None:
    """m += (1 - momentum)(g - m), θ -= rate · O, O being next to g + momentum (m - g): matrices [start, stop)."""
    s, r1, share, eps = numbers[0], numbers[1], numbers[2], numbers[6]
    a, b, c = numbers[3], numbers[4], numbers[5]
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
            x[j] = share * mean + (F(1.0) - share) * g[j]
        for j in range(size):  # apart: a loop that also writes adds in an order that depends on places in memory
            total += x[j] * x[j]
        scale = F(1.0) / max(np.sqrt(total), eps)
        for j in range(size):
            x[j] *= scale
        for _ in range(steps):
            orthogonal(gemm, place, other, gram, factor, rows, columns, a, b, c)
            place, other = other, place
        x, rate = row(place, size), rates[i]
        for j in range(size):
            p[j] = s * p[j] - rate * x[j]


def step_all(many: Many, rates: Sequence[float], numbers: Sequence[float], steps: int) -> list[bool]:
    """Update the matrices of rows (θ, g, m) in place, those that take longest first; whether it took each.

    The numbers are those of ``Muon._update_together``.
    """
    works = [p.size * min(p.shape) for p, *_ in many.rows]
    gemm = blas.sgemm()
    small = [fits and work <= SMALL and bool(gemm) for fits, work in zip(many.fits, works, strict=True)]
    order = sorted((i for i, fits in enumerate(small) if fits), key=works.__getitem__, reverse=True)
    todo = [(i, *many.rows[i][0].shape) for i in order]
    if todo:
        most = max(2 * rows * columns + 2 * min(rows, columns) ** 2 for _, rows, columns in todo)
        arrays = np.array(todo, np.int64), np.array(rates, FLOAT32), np.array(numbers, FLOAT32)
        with blas.one_thread() as one, one:
            update(len(todo), 1, gemm, many.table, *arrays, steps, scratch(most))
    return small
