"""Products with weights in int8 or bfloat16 (``is_half``), which are widened to float32 in cache. The number of columns
of a weight is a multiple of 16. Row j is multiplied by ``scale[j]``."""

from __future__ import annotations

import numpy as np

from .compiled.loops import Flat, Rows, inline, loop
from .compiled.native import bytes16, halves16, load16, row, sgemm, spread16, store16, sum16

F = np.float32


@inline
def widen_row(is_half: int, source: int, count: int, scale: np.float32, out: int) -> None:
    """Write one row of a weight in float32."""
    factor = spread16(scale)
    if is_half:
        for k in range(0, count, 16):
            store16(out + 4 * k, halves16(source + 2 * k) * factor)
    else:
        for k in range(0, count, 16):
            store16(out + 4 * k, bytes16(source + k) * factor)


@inline
def dot(is_half: int, source: int, count: int, x: int) -> np.float32:
    """The product of one row of a weight, without its scale, and a vector at address ``x``."""
    total = spread16(F(0.0))
    if is_half:
        for k in range(0, count, 16):
            total += halves16(source + 2 * k) * load16(x + 4 * k)
    else:
        for k in range(0, count, 16):
            total += bytes16(source + k) * load16(x + 4 * k)
    return sum16(total)


@loop
def widen(start: int, stop: int, is_half: int, weight: int, scale: Flat, out: Rows) -> None:
    """Rows [start, stop) of a weight in float32."""
    count = out.shape[1]
    for j in range(start, stop):
        place = weight + j * count * (2 if is_half else 1)
        widen_row(is_half, place, count, scale[j], out.ctypes.data + 4 * j * count)


@loop
def few_rows(
    start: int, stop: int, thread: int, blas: int, is_half: int, weight: int, scale: Flat, width: int, x: Rows,
    scratch: Rows, out: Rows,
) -> None:  # fmt: skip
    """Panels [start, stop), each of ``width`` columns, of x weightᵀ for few rows of x. ``scratch`` fits a panel of the
    weight and of the result."""
    rows, inner, columns, size = x.shape[0], x.shape[1], out.shape[1], 2 if is_half else 1
    for panel in range(start, stop):
        first = panel * width
        count = min(width, columns - first)
        source = weight + first * inner * size
        if rows == 1:
            for j in range(count):
                out[0, first + j] = scale[first + j] * dot(is_half, source + j * inner * size, inner, x.ctypes.data)
            continue
        place = scratch.ctypes.data + 4 * thread * scratch.shape[1]
        result = place + 4 * width * inner
        for j in range(count):
            widen_row(is_half, source + j * inner * size, inner, scale[first + j], place + 4 * j * inner)
        sgemm(blas, False, True, count, rows, inner, F(1.0), place, inner, x.ctypes.data, inner, F(0.0), result, rows)
        part = row(result, count * rows)
        for i in range(rows):
            for j in range(count):
                out[i, first + j] = part[j * rows + i]
