"""Products of small matrices in compiled loops. For about ten rows and columns, they take less time than a BLAS call.
A matrix is passed as an address and the number of elements from row to row."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .loops import inline
from .native import load16, row, spread16, store16, turn16

F = np.float32
TILE = 16  # columns


def _multiply(is_turned: bool) -> Callable[..., None]:
    """C = A B, or C += A B. Four rows and TILE columns of C stay in registers. B's rows are ``b_row`` bytes apart, its
    tiles ``b_tile``. The last tile's columns must exist in B and C. If A ``is_turned``, it is stored as its transpose,
    with up to three more columns. Results for surplus rows are written to the last row, and then overwritten."""

    def product(
        m: int, n: int, k: int, a: int, lda: int, b: int, b_row: int, b_tile: int, add: bool, c: int, ldc: int
    ) -> None:
        a_row, a_step = (4, 4 * lda) if is_turned else (4 * lda, 4)
        for j in range(0, n, TILE):
            tile = b + j // TILE * b_tile
            for i in range(0, m, 4):
                i1, i2, i3 = min(i + 1, m - 1), min(i + 2, m - 1), min(i + 3, m - 1)
                r1, r2, r3 = (i + 1, i + 2, i + 3) if is_turned else (i1, i2, i3)
                a0, a1, a2, a3 = a + i * a_row, a + r1 * a_row, a + r2 * a_row, a + r3 * a_row
                c0, c1, c2 = c + 4 * (i * ldc + j), c + 4 * (i1 * ldc + j), c + 4 * (i2 * ldc + j)
                c3, zero = c + 4 * (i3 * ldc + j), spread16(F(0.0))
                s0, s1, s2, s3 = zero, zero, zero, zero
                if add:
                    s0, s1, s2, s3 = load16(c0), load16(c1), load16(c2), load16(c3)
                for d in range(k):
                    lanes, place = load16(tile + d * b_row), d * a_step
                    s0 += spread16(row(a0 + place, 1)[0]) * lanes
                    s1 += spread16(row(a1 + place, 1)[0]) * lanes
                    s2 += spread16(row(a2 + place, 1)[0]) * lanes
                    s3 += spread16(row(a3 + place, 1)[0]) * lanes
                store16(c3, s3)
                store16(c2, s2)
                store16(c1, s1)
                store16(c0, s0)

    return inline(product)


multiply, multiply_turned = _multiply(False), _multiply(True)


@inline
def pack(x: int, ldx: int, rows: int, width: int, out: int) -> None:
    """Copy x (rows, width) tile by tile, to (tiles, rows, TILE). The width is a multiple of TILE."""
    for j in range(0, width, TILE):
        for i in range(rows):
            store16(out + 4 * (j * rows + TILE * i), load16(x + 4 * (i * ldx + j)))


@inline
def pack_turned(x: int, ldx: int, count: int, width: int, out: int) -> None:
    """Pack the transpose of x (count, width) likewise. The last column is repeated until its tile is full."""
    for s in range(0, count, TILE):
        for d in range(0, width, TILE):
            turn16(x + 4 * (s * ldx + d), 4 * ldx, count - 1 - s, out + 4 * (s * width + TILE * d))
