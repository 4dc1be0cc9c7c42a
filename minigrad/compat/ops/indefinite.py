"""L D Lᴴ of symmetric matrices that need not be positive definite, in LAPACK's packed form (Bunch and Kaufman 1977)."""

from __future__ import annotations

import math

import numpy as np

from ...backend.dtype import Array
from ...ops.complex import IN_PLACE_OF
from ...ops.op import op
from .decompositions import conjugate, pivot_size
from .lapack import on_cpu

_GROWTH = (1 + math.sqrt(17)) / 8  # a diagonal element this much smaller than its column is no pivot


@on_cpu
def ldl_factor(x: Array, hermitian: bool) -> tuple[Array, Array, Array]:
    """(L and D in one lower triangle, pivots, info) of the lower triangle of x; D has blocks of 1 or 2 rows.

    A block's pivot is that of LAPACK, from 1: the row that changed places with the block's last; of a block of two rows
    it is negative and stands twice. info is the place of the first zero of D.
    """
    batch, n = x.shape[:-2], x.shape[-1]
    results = [_factor(x[place], hermitian) for place in np.ndindex(batch)]
    if not results:
        return np.zeros_like(x), np.zeros((*batch, n), np.int32), np.zeros(batch, np.int32)
    LD, pivots, info = (np.stack(parts).reshape(batch + parts[0].shape) for parts in zip(*results, strict=True))
    return LD, pivots, info


def _factor(x: Array, hermitian: bool) -> tuple[Array, Array, Array]:
    n = len(x)
    turned = np.conj if hermitian else np.asarray
    a = np.tril(x) + turned(np.tril(x, -1)).T
    pivots, info, k = np.empty(n, np.int32), 0, 0
    while k < n:
        if hermitian:
            np.fill_diagonal(a, a.diagonal().real)  # what rounding has left of an imaginary part
        other, rows = _pivot(a, k)
        last, end = k + rows - 1, k + rows
        a[[last, other], k:] = a[[other, last], k:]
        a[k:, [last, other]] = a[k:, [other, last]]
        pivots[k:end] = other + 1 if rows == 1 else -(other + 1)
        if rows == 1 and a[k, k] == 0:
            info = info or k + 1
        else:
            below = a[end:, k:end].copy()
            a[end:, k:end] = np.linalg.solve(a[k:end, k:end].T, below.T).T
            a[end:, end:] -= a[end:, k:end] @ turned(below).T
        k = end
    return np.tril(a), pivots, np.asarray(info, np.int32)


def _pivot(a: Array, k: int) -> tuple[int, int]:
    """The row to exchange with the last of the block that begins at k, and how many rows the block has."""
    column, size = pivot_size(a[k + 1 :, k]), pivot_size(a[k, k])
    largest = column.max(initial=0)
    if size >= _GROWTH * largest or math.isnan(size):
        return k, 1
    i = k + 1 + int(column.argmax())
    across = np.maximum(pivot_size(a[i, k:i]).max(), pivot_size(a[i + 1 :, i]).max(initial=0))
    if size >= _GROWTH * largest * (largest / across):
        return k, 1
    return i, 1 if pivot_size(a[i, i]) >= _GROWTH * across else 2


@op(
    "db = a⁻ᴴ g",
    b=lambda g, ld, pivots, hermitian: (
        ldl_solve(ld, pivots, g, True) if hermitian else conjugate(ldl_solve(ld, pivots, conjugate(g), False))
    ),
)
@on_cpu
def ldl_solve(ld: Array, pivots: Array, b: Array, hermitian: bool) -> Array:
    """x of a x = b, for what ``ldl_factor`` gives of a; the leading axes are the same"""
    out, turned = b.copy(), np.conj if hermitian else np.asarray
    for place in np.ndindex(b.shape[:-2]):
        a, x, blocks, k = ld[place], out[place], [], 0
        while k < len(a):
            pivot = int(pivots[place][k])
            end = k + (1 if pivot > 0 else 2)
            blocks.append((k, end, [end - 1, abs(pivot) - 1]))
            k = end
        for k, end, rows in blocks:  # down with the blocks of L and D
            x[rows] = x[rows[::-1]]
            x[end:] -= a[end:, k:end] @ x[k:end]
            block = np.tril(a[k:end, k:end])
            x[k:end] = np.linalg.solve(block + turned(np.tril(block, -1)).T, x[k:end])
        for k, end, rows in reversed(blocks):  # and up again with those of Lᴴ
            x[k:end] -= turned(a[end:, k:end]).T @ x[end:]
            x[rows] = x[rows[::-1]]
    return out


IN_PLACE_OF[ldl_solve] = ldl_solve
