"""Products of small matrices in compiled loops: of some ten rows and columns, they take less time than a call of BLAS.
A matrix is an address, and the number of elements from row to row."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .loops import inline
from .native import fma16, load16, row, sgemm, spread16, store16, transpose16

F = np.float32
TILE = 16  # columns


def _product(is_turned: bool) -> Callable[..., None]:
    """C = A B, or C += A B: six rows and TILE columns of C stay in registers. If A ``is_turned``, it is stored as its
    transpose. B is packed, with ``rows`` rows. The columns of the last tile must exist in C. The last row is repeated
    if fewer than six are left. The compiler needs ``is_turned`` as a constant."""

    def product(m: int, n: int, k: int, a: int, lda: int, b: int, rows: int, add: bool, c: int, ldc: int) -> None:
        a_row, a_step = (4, 4 * lda) if is_turned else (4 * lda, 4)
        for j in range(0, n, TILE):
            tile = b + 4 * j * rows
            for i in range(0, m, 6):
                i1, i2, i3 = min(i + 1, m - 1), min(i + 2, m - 1), min(i + 3, m - 1)
                i4, i5 = min(i + 4, m - 1), min(i + 5, m - 1)
                a0, a1, a2, a3 = a + i * a_row, a + i1 * a_row, a + i2 * a_row, a + i3 * a_row
                a4, a5 = a + i4 * a_row, a + i5 * a_row
                c0, c1, c2 = c + 4 * (i * ldc + j), c + 4 * (i1 * ldc + j), c + 4 * (i2 * ldc + j)
                c3, c4, c5 = c + 4 * (i3 * ldc + j), c + 4 * (i4 * ldc + j), c + 4 * (i5 * ldc + j)
                zero = spread16(F(0.0))
                s0, s1, s2, s3, s4, s5 = zero, zero, zero, zero, zero, zero
                if add:
                    s0, s1, s2, s3, s4, s5 = load16(c0), load16(c1), load16(c2), load16(c3), load16(c4), load16(c5)
                for d in range(k):
                    lanes, place = load16(tile + 4 * TILE * d), d * a_step
                    s0 = fma16(row(a0 + place, 1)[0], lanes, s0)
                    s1 = fma16(row(a1 + place, 1)[0], lanes, s1)
                    s2 = fma16(row(a2 + place, 1)[0], lanes, s2)
                    s3 = fma16(row(a3 + place, 1)[0], lanes, s3)
                    s4 = fma16(row(a4 + place, 1)[0], lanes, s4)
                    s5 = fma16(row(a5 + place, 1)[0], lanes, s5)
                store16(c0, s0)
                store16(c1, s1)
                store16(c2, s2)
                store16(c3, s3)
                store16(c4, s4)
                store16(c5, s5)

    return inline(product)


_plain, _turned = _product(False), _product(True)


@inline
def pack(x: int, ldx: int, rows: int, width: int, out: int) -> None:
    """Copy x (rows, width) tile after tile, (tiles, rows, TILE). The width is a multiple of TILE."""
    for j in range(0, width, TILE):
        for i in range(rows):
            store16(out + 4 * (j * rows + TILE * i), load16(x + 4 * (i * ldx + j)))


@inline
def pack_turned(x: int, ldx: int, count: int, width: int, out: int) -> None:
    """The same for the transpose of x (count, width). The last column is repeated until its tile is full."""
    for s in range(0, count, TILE):
        for d in range(0, width, TILE):
            transpose16(x + 4 * (s * ldx + d), ldx, count - 1 - s, out + 4 * (s * width + TILE * d))


@inline
def multiply(
    gemm: int, packed: int, rows: int, turn_a: bool, turn_b: bool, m: int, n: int, k: int, a: int, lda: int, b: int,
    ldb: int, add: bool, c: int, ldc: int,
) -> None:  # fmt: skip
    """C = A B, or C += A B, in tiles if B (after ``turn_b``) is also ``packed``, with ``rows`` rows, or else by BLAS:
    see ``sgemm``."""
    if packed and turn_a:
        _turned(m, n, k, a, lda, packed, rows, add, c, ldc)
    elif packed:
        _plain(m, n, k, a, lda, packed, rows, add, c, ldc)
    else:
        sgemm(gemm, turn_a, turn_b, m, n, k, F(1.0), a, lda, b, ldb, F(1.0) if add else F(0.0), c, ldc)
