"""Matrix products in parts. Each thread of the compiled loops calls BLAS for its parts."""

from __future__ import annotations

import numpy as np

from .compiled.functions import at, length, step
from .compiled.loops import Flat, Rows, Strided, inline, loop
from .compiled.native import row, sgemm, sgemv

F = np.float32
ROWS = 256  # rows that are added one by one


@inline
def turned(matrix: int) -> bool:
    """Whether a matrix is column-major."""
    return step(matrix, -1) != 4


@inline
def leading(matrix: int) -> int:
    """The number of elements from one row (or column, if column-major) to the next, at least its length."""
    if turned(matrix):
        return max(step(matrix, -1) // 4, length(matrix, -2), 1)
    return max(step(matrix, -2) // 4, length(matrix, -1), 1)


@loop
def part_of_product(
    start: int, stop: int, blas: int, a: Strided, b: Strided, bias: Flat, by_columns: int, out: Rows
) -> None:  # fmt: skip
    """Rows (or columns) [start, stop) of a b + bias. Both a and b may be row-major or column-major."""
    count, width, inner = out.shape[0], out.shape[1], length(a, -1)
    i, rows = (0, count) if by_columns else (start, stop - start)
    j, columns = (start, stop - start) if by_columns else (0, width)
    first, second, place = at(a) + i * step(a, -2), at(b) + j * step(b, -1), out.ctypes.data + 4 * (i * width + j)
    for r in range(rows if bias.size else 0):
        line, some = row(place + 4 * r * width, columns), bias[j : j + columns]
        for c in range(columns):
            line[c] = some[c]
    lda, ldb, turns_a, turns_b, add = leading(a), leading(b), turned(a), turned(b), F(1.0) if bias.size else F(0.0)
    sgemm(blas, turns_a, turns_b, rows, columns, inner, F(1.0), first, lda, second, ldb, add, place, width)


@inline
def add_rows(g: Rows, first: int, stop: int, sums: Rows) -> None:
    """The sums of columns [first, stop) in sums[0]. ROWS rows at a time are summed in sums[1], to reduce rounding."""
    total, some, count = sums[0, first:stop], sums[1, first:stop], g.shape[0]
    total[:] = F(0.0)
    for start in range(0, count, ROWS):
        some[:] = F(0.0)
        for i in range(start, min(start + ROWS, count)):
            line = g[i, first:stop]
            for j in range(len(some)):
                some[j] += line[j]
        for j in range(len(total)):
            total[j] += some[j]


@loop
def linear_gradients(
    start: int, stop: int, blas: int, g: Rows, x: Rows, weight: Rows, tall: int, wide: int, dx: Rows, dweight: Rows,
    sums: Rows,
) -> None:  # fmt: skip
    """Parts [start, stop) of the gradients of x Wᵀ + b: first g W, ``tall`` rows each, then gᵀ x, ``wide`` rows each,
    together with the sums of the same columns of g if ``sums`` is not empty."""
    rows, outer, inner = g.shape[0], g.shape[1], x.shape[1]
    of_dx = -(-rows // tall)
    for part in range(start, stop):
        i, j = part * tall, (part - of_dx) * wide
        if part < of_dx:
            count, a, to = min(tall, rows - i), g.ctypes.data + 4 * i * outer, dx.ctypes.data + 4 * i * inner
            b = weight.ctypes.data
            sgemm(blas, False, False, count, inner, outer, F(1.0), a, outer, b, inner, F(0.0), to, inner)
            continue
        if sums.size:
            add_rows(g, j, min(j + wide, outer), sums)
        count, a, to = min(wide, outer - j), g.ctypes.data + 4 * j, dweight.ctypes.data + 4 * j * inner
        sgemm(blas, True, False, count, inner, rows, F(1.0), a, outer, x.ctypes.data, inner, F(0.0), to, inner)


@loop
def products(start: int, stop: int, blas: int, a: Strided, b: Strided, heads: int, out: Strided) -> None:
    """Products [start, stop) of a batch: (B, heads, M, K) and (B, heads, K, N) give (B, heads, M, N)."""
    m, k, n = length(a, -2), length(a, -1), length(b, -1)
    for i in range(start, stop):
        batch, head = i // heads, i % heads
        first = at(a) + batch * step(a, 0) + head * step(a, 1)
        second = at(b) + batch * step(b, 0) + head * step(b, 1)
        place = at(out) + 4 * i * m * n
        sgemm(blas, turned(a), turned(b), m, n, k, F(1.0), first, leading(a), second, leading(b), F(0.0), place, n)


@loop
def one_row(start: int, stop: int, blas: int, a: Flat, b: Strided, bias: Flat, out: Flat) -> None:
    """Columns [start, stop) of a b + bias for one row of a. ``blas`` is ``blas.sgemv()``."""
    count, inner, x, to = stop - start, length(b, -2), a.ctypes.data, out.ctypes.data + 4 * start
    for j in range(start, stop if bias.size else start):
        out[j] = bias[j]
    add, first = F(1.0) if bias.size else F(0.0), at(b) + start * step(b, -1)
    if turned(b):
        sgemv(blas, False, count, inner, first, leading(b), x, add, to)
    else:
        sgemv(blas, True, inner, count, first, leading(b), x, add, to)


@loop
def few_rows(start: int, stop: int, thread: int, blas: int, a: Rows, weight: Rows, scratch: Rows, out: Rows) -> None:
    """Panels [start, stop) of a weightᵀ for few rows of a. ``scratch`` fits one panel of columns. BLAS reads the weight
    once, in memory order, and the result of a panel stays in cache until it is transposed."""
    rows, inner, columns = a.shape[0], a.shape[1], weight.shape[0]
    width = scratch.shape[1] // rows
    for panel in range(start, stop):
        first = panel * width
        count = min(width, columns - first)
        place = scratch.ctypes.data + 4 * thread * scratch.shape[1]
        lines, x = weight.ctypes.data + 4 * first * inner, a.ctypes.data
        sgemm(blas, False, True, count, rows, inner, F(1.0), lines, inner, x, inner, F(0.0), place, rows)
        part = row(place, count * rows)
        for i in range(rows):
            for j in range(count):
                out[i, first + j] = part[j * rows + i]
