"""Optimizer updates and clipping of many arrays in one compiled loop. A row consists of arrays that belong together,
such as a parameter and its gradient: contiguous float32 of one size. Loops get a table of the array objects' addresses
and a list of parts into which all rows are cut. ``optim`` has the plain rules."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from types import SimpleNamespace
from typing import Any

import numpy as np

from .. import blas
from ..compiled.functions import HEAD, at, volume
from ..compiled.loops import FLOAT32, Flat, Indices, Rows, inline, loop, scratch
from ..compiled.native import row, sgemm, word
from ..compiled.thread_pool import DTYPE, FLAGS
from ..dtype import Array

F = np.float32
PART = 4096  # elements
GRAIN = 8  # parts that a thread takes at a time: many arrays are small
SMALL = 1 << 26  # multiplications: up to this size, one core computes all products for a Muon matrix
_LEAST = 1e-15  # from this total norm on, no relevant square underflows in float32
_CONTIGUOUS, _WRITEABLE = 0x1, 0x400  # NumPy's flags
_FITTING = _CONTIGUOUS | _WRITEABLE
_KIND = HEAD - 8  # the offset of an object's type


@loop
def look(start: int, stop: int, table: Indices, kind: int, dtype: int, sizes: Indices, places: Indices) -> None:
    """For each row, the array size (-1 if loops do not support the row) and the address of the first array's data."""
    columns = table.size // sizes.size
    for i in range(start, stop):
        size, places[i] = -1, -i
        for j in range(columns):
            a = table[i * columns + j]
            if word(a + _KIND) != kind or word(a + DTYPE) != dtype or (word(a + FLAGS) & _FITTING) != _FITTING:
                size = -1
            elif j == 0:
                size = volume(a, 0)
                places[i] = at(a) if size else -i
            elif size != volume(a, 0):
                size = -1
        sizes[i] = size


class Many:
    """Rows with the same number of arrays each. ``table`` (rows, arrays per row) has the addresses of array objects.
    ``fits`` has a bool per row: whether loops support it (none if two share memory). A part is (row, first, size)."""

    def __init__(self, rows: Sequence[tuple[Array, ...]]) -> None:
        sizes = self._look(rows)
        if min(sizes) < 0:
            rows = [tuple(map(_known, row)) for row in rows]
            sizes = self._look(rows)
        self.rows = rows  # kept alive while their addresses are in use
        self.fits = [size >= 0 for size in sizes]
        self.parts = _parts(tuple(sizes))

    def each(self, update: Any, *args: Any) -> None:
        """Run a loop ``(start, stop, parts, table, arrays of a row, args...)`` over all parts."""
        update(len(self.parts), GRAIN, self.parts, self.table, len(self.rows[0]), *args)

    def _look(self, rows: Sequence[tuple[Array, ...]]) -> list[int]:
        """The size of each row, or -1 if loops do not support the row."""
        count = len(rows)
        self.table = np.fromiter(map(id, chain.from_iterable(rows)), np.int64, count * len(rows[0]))
        sizes, places = np.empty((2, count), np.int64)
        look(count, count, self.table, id(np.ndarray), id(FLOAT32), sizes, places)
        return [-1] * count if len({*places.tolist()}) < count else sizes.tolist()


def _known(array: Array) -> Array:
    """The array with NumPy's dtype object, as loops do not recognize the dtype object of an unpickled array."""
    return array.view(FLOAT32) if type(array) is np.ndarray and array.dtype == FLOAT32 else array


@lru_cache(64)
def _parts(sizes: tuple[int, ...]) -> Array:
    """The parts into which rows of these sizes are cut."""
    cut = [(i, k, min(PART, n - k)) for i, n in enumerate(sizes) for k in range(0, n, PART)]
    return np.array(cut, np.int64).reshape(-1, 3)


@loop
def adam(start: int, stop: int, parts: Indices, table: Indices, columns: int, rates: Rows, numbers: Flat) -> None:
    """m += (1 - β₁)(g - m), v = β₂ v + (1 - β₂) g², θ -= rate · m / (√v + ε), for parts of parameters."""
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


def adam_all(many: Many, rates: Sequence[tuple[float, float]], *numbers: float) -> None:
    """Update the parameters and averages of rows (θ, g, m, v) or (θ, g, m, v, largest v) in place."""
    many.each(adam, np.array(rates, FLOAT32), np.array(numbers, FLOAT32))


@loop
def sgd(start: int, stop: int, parts: Indices, table: Indices, columns: int, numbers: Flat) -> None:
    """b = momentum · b + rest · x, where x is the gradient; θ -= lr · b, lr (x + momentum · b) or lr · x."""
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


def sgd_all(many: Many, *numbers: float) -> None:
    """Update the parameters, and b if there is one, of rows (θ, g) or (θ, g, b) in place."""
    many.each(sgd, np.array(numbers, FLOAT32))


@loop
def squares(start: int, stop: int, parts: Indices, table: Indices, columns: int, sums: Flat) -> None:
    """The sum of squares of each part."""
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
    """The square root of the sum of all squares, or NotImplemented if they may underflow or overflow in float32."""
    sums = np.empty(len(many.parts), FLOAT32)
    many.each(squares, sums)
    length = math.sqrt(sums.sum(dtype=np.float64))
    return np.array(length, FLOAT32) if _LEAST < length < math.inf else NotImplemented


def clip(many: Many, most: float, total: Array) -> None:
    """Scale all arrays, whose norm is ``total``, in place, so that their norm is at most ``most``."""
    scale(many, np.minimum(most / (total + 1e-6), 1.0))


def scale(many: Many, factor: float | Array) -> None:
    """Multiply all arrays by a factor, in place."""
    many.each(multiply, float(factor))


@inline
def orthogonal(
    gemm: int, x: int, other: int, gram: int, factor: int, rows: int, columns: int, a: float, b: float, c: float
) -> None:
    """A Newton-Schulz iteration step from ``x`` to ``other``, with the smaller of XXᵀ and XᵀX."""
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
def muon(
    start: int, stop: int, thread: int, gemm: int, table: Indices, shapes: Indices, rates: Flat, numbers: Flat,
    steps: int, space: Rows,
) -> None:  # fmt: skip
    """m += (1 - momentum)(g - m), θ -= rate · O for matrices [start, stop); O orthogonalizes g + momentum (m - g)."""
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
        for j in range(size):  # a separate loop: one that also writes would add in an order that depends on addresses
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


def muon_all(many: Many, rates: Sequence[float], numbers: Sequence[float], steps: int) -> list[bool]:
    """``Muon._update_together`` for rows (θ, g, m), slowest first. Returns for each row whether it is supported."""
    works = [p.size * min(p.shape) for p, *_ in many.rows]
    gemm = blas.sgemm()
    small = [fits and work <= SMALL and bool(gemm) for fits, work in zip(many.fits, works, strict=True)]
    order = sorted((i for i, fits in enumerate(small) if fits), key=works.__getitem__, reverse=True)
    todo = [(i, *many.rows[i][0].shape) for i in order]
    if todo:
        most = max(2 * rows * columns + 2 * min(rows, columns) ** 2 for _, rows, columns in todo)
        arrays = np.array(todo, np.int64), np.array(rates, FLOAT32), np.array(numbers, FLOAT32)
        with blas.one_thread() as one, one:
            muon(len(todo), 1, gemm, many.table, *arrays, steps, scratch(most))
    return small


KERNELS = {
    "adam": SimpleNamespace(Many=Many, step_all=adam_all),
    "sgd": SimpleNamespace(Many=Many, step_all=sgd_all),
    "muon": SimpleNamespace(Many=Many, step_all=muon_all),
    "clip_grad_norm": SimpleNamespace(Many=Many, norm=norm, clip=clip, scale=scale),
}
