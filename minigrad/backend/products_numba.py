"""Matrix products in parts. Each thread of the compiled loops calls BLAS for its parts."""

from __future__ import annotations

import numpy as np

from .compiled.functions import at, length, step
from .compiled.loops import Flat, Rows, Strided, inline, loop
from .compiled.native import row, sgemm

F = np.float32


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


@inline
def add_product(
    blas: int, a: int, first: int, b: int, second: int, bias: Flat, rows: int, columns: int, out: int, width: int
) -> None:
    """Write a part of a b + bias to the address ``out``, in rows of ``width``. ``first`` and ``second`` are the
    addresses of the part's first row of a and first column of b."""
    keep = F(1.0) if bias.size else F(0.0)
    for i in range(rows if bias.size else 0):
        line = row(out + 4 * i * width, columns)
        for j in range(columns):
            line[j] = bias[j]
    lda, ldb, turns_a, turns_b = leading(a), leading(b), turned(a), turned(b)
    inner = length(a, -1)
    sgemm(blas, turns_a, turns_b, rows, columns, inner, F(1.0), first, lda, second, ldb, keep, out, width)


@loop
def rows_of_product(start: int, stop: int, blas: int, a: Strided, b: Strided, bias: Flat, out: Rows) -> None:
    """Rows [start, stop) of a b + bias. Both a and b may be row-major or column-major."""
    columns = out.shape[1]
    first, place = at(a) + start * step(a, -2), out.ctypes.data + 4 * start * columns
    add_product(blas, a, first, b, at(b), bias, stop - start, columns, place, columns)


@loop
def columns_of_product(start: int, stop: int, blas: int, a: Strided, b: Strided, bias: Flat, out: Rows) -> None:
    """Columns [start, stop) of a b + bias."""
    some = bias[start:stop] if bias.size else bias
    second, place = at(b) + start * step(b, -1), out.ctypes.data + 4 * start
    add_product(blas, a, at(a), b, second, some, out.shape[0], stop - start, place, out.shape[1])


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
def few_rows(start: int, stop: int, thread: int, blas: int, a: Rows, weight: Rows, scratch: Rows, out: Rows) -> None:
    """Panels [start, stop) of a weightᵀ for few rows of a. ``scratch`` fits one panel of columns. BLAS reads the weight
    once, in memory order, and the result of a panel stays in cache until it is transposed."""
    rows, inner, columns = a.shape[0], a.shape[1], weight.shape[0]
    width = scratch.shape[1] // rows
    for panel in range(start, stop):
        first = panel * width
        count = min(width, columns - first)
        if rows == 1:
            for j in range(first, first + count):
                total = F(0.0)
                for k in range(inner):
                    total += a[0, k] * weight[j, k]
                out[0, j] = total
            continue
        place = scratch.ctypes.data + 4 * thread * scratch.shape[1]
        lines, x = weight.ctypes.data + 4 * first * inner, a.ctypes.data
        sgemm(blas, False, True, count, rows, inner, F(1.0), lines, inner, x, inner, F(0.0), place, rows)
        part = row(place, count * rows)
        for i in range(rows):
            for j in range(count):
                out[i, first + j] = part[j * rows + i]
