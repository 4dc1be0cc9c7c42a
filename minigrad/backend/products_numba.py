"""Parts of matrix products for the threads of compiled loops, each of which calls BLAS for its own; sums of columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from .compiled.layout import at, length, step
from .compiled.loops import Flat, Rows, Strided, inline, loop
from .compiled.native import row, sgemm

F = np.float32
ROWS = 256  # whose numbers are added up one by one


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


@inline
def add_rows(x: Any, sums: Any) -> None:
    """The sums of the columns, to sums[0]: those of some rows at a time, as sums of sums round less."""
    count, width = x.shape[0], x.shape[1]
    for j in range(width):
        sums[0, j] = F(0.0)
    for start in range(0, count, ROWS):
        for j in range(width):
            sums[1, j] = F(0.0)
        for i in range(start, min(start + ROWS, count)):
            for j in range(width):
                sums[1, j] += x[i, j]
        for j in range(width):
            sums[0, j] += sums[1, j]


@loop
def slopes_of_linear(
    start: int,
    stop: int,
    blas: int,
    g: Rows,
    weight: Rows,
    x: Rows,
    tall: int,
    wide: int,
    dx: Rows,
    dweight: Rows,
    sums: Rows,
) -> None:
    """Parts number [start, stop) of the gradients of x Wᵀ + b: db = Σ g if there is room for ``sums``; dx = g W,
    ``tall`` rows a part; dW = gᵀ x, ``wide`` rows a part, or columns where there are more of these."""
    rows, outer, inner = g.shape[0], g.shape[1], x.shape[1]
    one = 1 if sums.size else 0
    for part in range(start, stop):
        if part < one:
            add_rows(g, sums)
            continue
        i = (part - one) * tall
        if i < rows:
            count, a, to = min(tall, rows - i), g.ctypes.data + 4 * i * outer, dx.ctypes.data + 4 * i * inner
            b = weight.ctypes.data
            sgemm(blas, False, False, count, inner, outer, F(1.0), a, outer, b, inner, F(0.0), to, inner)
            continue
        a, b, to = g.ctypes.data, x.ctypes.data, dweight.ctypes.data
        j = (part - one - (rows + tall - 1) // tall) * wide
        if outer >= inner:
            count, a, to = min(wide, outer - j), a + 4 * j, to + 4 * j * inner
            sgemm(blas, True, False, count, inner, rows, F(1.0), a, outer, b, inner, F(0.0), to, inner)
        else:
            count, b, to = min(wide, inner - j), b + 4 * j, to + 4 * j
            sgemm(blas, True, False, outer, count, rows, F(1.0), a, outer, b, inner, F(0.0), to, inner)


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


@loop
def panels(start: int, stop: int, blas: int, a: Rows, matrix: Rows, width: int, out: Rows) -> None:
    """Columns of panels number [start, stop) of a times a matrix whose panels of ``width`` columns lie in a row
    (``products.Panels``)."""
    rows, inner = a.shape[0], a.shape[1]
    for panel in range(start, stop):
        second = matrix.ctypes.data + 4 * panel * inner * width
        place = out.ctypes.data + 4 * panel * width
        sgemm(
            blas,
            False,
            False,
            rows,
            width,
            inner,
            F(1.0),
            a.ctypes.data,
            inner,
            second,
            width,
            F(0.0),
            place,
            out.shape[1],
        )


@loop
def sums_of_columns(start: int, stop: int, grain: int, x: Rows, sums: Rows) -> None:
    """The sums of the columns of rows [start, stop), to row number start / grain of ``sums``."""
    block, width = start // grain, x.shape[1]
    for j in range(width):
        sums[block, j] = F(0.0)
    for i in range(start, stop):
        for j in range(width):
            sums[block, j] += x[i, j]
