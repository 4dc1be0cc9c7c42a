"""Parts of matrix products for the threads of compiled loops, each of which calls BLAS for its own."""

from __future__ import annotations

import numpy as np

from .compiled.layout import at, length, step
from .compiled.loops import Flat, Rows, Strided, inline, loop
from .compiled.native import row, sgemm

F = np.float32


@inline
def turned(matrix: int) -> bool:
    """Whether a matrix lies column by column."""
    return step(matrix, -1) != 4


@inline
def leading(matrix: int) -> int:
    """Elements from one row (or column, if it lies so) to the next; at least as many as it has."""
    if turned(matrix):
        return max(step(matrix, -1) // 4, length(matrix, -2), 1)
    return max(step(matrix, -2) // 4, length(matrix, -1), 1)


@loop
def rows_of_product(start: int, stop: int, blas: int, a: Strided, b: Strided, bias: Flat, out: Rows) -> None:
    """Rows [start, stop) of a b + bias; a and b each lie by rows or by columns."""
    count, inner, columns = stop - start, length(a, -1), out.shape[1]
    if bias.size:
        for i in range(start, stop):
            for j in range(columns):
                out[i, j] = bias[j]
    first, place = at(a) + start * step(a, -2), out.ctypes.data + 4 * start * columns
    keep = F(1.0) if bias.size else F(0.0)
    sgemm(
        blas,
        turned(a),
        turned(b),
        count,
        columns,
        inner,
        F(1.0),
        first,
        leading(a),
        at(b),
        leading(b),
        keep,
        place,
        columns,
    )


@loop
def columns_of_product(start: int, stop: int, blas: int, a: Strided, b: Strided, bias: Flat, out: Rows) -> None:
    """Columns [start, stop) of a b + bias."""
    rows, inner, width = out.shape[0], length(a, -1), out.shape[1]
    if bias.size:
        for i in range(rows):
            for j in range(start, stop):
                out[i, j] = bias[j]
    second, place = at(b) + start * step(b, -1), out.ctypes.data + 4 * start
    keep = F(1.0) if bias.size else F(0.0)
    sgemm(
        blas,
        turned(a),
        turned(b),
        rows,
        stop - start,
        inner,
        F(1.0),
        at(a),
        leading(a),
        second,
        leading(b),
        keep,
        place,
        width,
    )


@loop
def products(start: int, stop: int, blas: int, a: Strided, b: Strided, heads: int, out: Strided) -> None:
    """Products number [start, stop) of a batch: (B, heads, M, K) and (B, heads, K, N) give (B, heads, M, N)."""
    m, k, n = length(a, -2), length(a, -1), length(b, -1)
    for i in range(start, stop):
        batch, head = i // heads, i % heads
        first = at(a) + batch * step(a, 0) + head * step(a, 1)
        second = at(b) + batch * step(b, 0) + head * step(b, 1)
        place = at(out) + 4 * i * m * n
        sgemm(blas, turned(a), turned(b), m, n, k, F(1.0), first, leading(a), second, leading(b), F(0.0), place, n)


@loop
def few_rows(start: int, stop: int, thread: int, blas: int, a: Rows, weight: Rows, scratch: Rows, out: Rows) -> None:
    """Panels number [start, stop) of a weightᵀ, each of as many columns as ``scratch`` has room for, for few rows of a.

    BLAS reads the weight once, as it lies, and the result of a panel stays in cache until it is turned."""
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
        sgemm(
            blas,
            False,
            True,
            count,
            rows,
            inner,
            F(1.0),
            weight.ctypes.data + 4 * first * inner,
            inner,
            a.ctypes.data,
            inner,
            F(0.0),
            place,
            rows,
        )
        part = row(place, count * rows)
        for i in range(rows):
            for j in range(count):
                out[i, first + j] = part[j * rows + i]
