"""Products of small matrices in compiled loops: of some ten rows and columns, they take a tenth of what a BLAS takes.

A tile of 4 rows and 16 columns of the result stays in registers while the products are summed. That needs vectors as
values (``native.py``): no compiler makes it from a loop over columns, as it cannot know that matrices do not overlap.
"""

from __future__ import annotations

from collections.abc import Callable

from .loops import inline
from .native import fma16, load16, row, store16, zeros16

TILE = 16  # columns


def _columns(whole: bool) -> Callable[..., None]:
    """``product`` for sixteen columns, or for fewer. Where less than four rows are left, the last is done again."""

    def columns(
        a: int, a_row: int, a_step: int, b: int, b_row: int, c: int, c_row: int, m: int, k: int, n: int, add: bool
    ) -> None:
        width = TILE if whole else n  # a number that the compiler knows: no masks then
        for i in range(0, m, 4):
            second, third, fourth = min(i + 1, m - 1), min(i + 2, m - 1), min(i + 3, m - 1)
            a0, a1, a2, a3 = a + i * a_row, a + second * a_row, a + third * a_row, a + fourth * a_row
            c0, c1, c2, c3 = c + i * c_row, c + second * c_row, c + third * c_row, c + fourth * c_row
            s0, s1, s2, s3 = zeros16(), zeros16(), zeros16(), zeros16()
            if add:
                s0, s1, s2, s3 = load16(c0, width), load16(c1, width), load16(c2, width), load16(c3, width)
            for d in range(k):
                lanes = load16(b + d * b_row, width)
                s0 = fma16(row(a0 + d * a_step, 1)[0], lanes, s0)
                s1 = fma16(row(a1 + d * a_step, 1)[0], lanes, s1)
                s2 = fma16(row(a2 + d * a_step, 1)[0], lanes, s2)
                s3 = fma16(row(a3 + d * a_step, 1)[0], lanes, s3)
            store16(c0, s0, width)
            store16(c1, s1, width)
            store16(c2, s2, width)
            store16(c3, s3, width)

    return inline(columns)


_tile, _rest = _columns(True), _columns(False)


@inline
def product(
    a: int,
    a_row: int,
    a_step: int,
    b: int,
    b_row: int,
    b_tile: int,
    c: int,
    c_row: int,
    m: int,
    k: int,
    n: int,
    add: bool,
) -> None:
    """C = A B, or C += A B, of A (m, k), B (k, n) and C (m, n). Numbers in a row of B, and of C, are side by side.

    Args:
        a, b, c: addresses.
        a_row, b_row, c_row: bytes from row to row.
        a_step: bytes from one number of A's row to the next; A may lie as its transpose.
        b_tile: bytes from sixteen columns of B to the next: 64 if its rows are whole.
        add: whether the product is added to C.
    """
    for j in range(0, n - TILE + 1, TILE):
        _tile(a, a_row, a_step, b + j // TILE * b_tile, b_row, c + 4 * j, c_row, m, k, TILE, add)
    if n % TILE:
        j = n - n % TILE
        _rest(a, a_row, a_step, b + j // TILE * b_tile, b_row, c + 4 * j, c_row, m, k, n % TILE, add)
