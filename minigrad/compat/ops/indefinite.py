"""Factors symmetric, possibly indefinite matrices into L D Lᴴ, in LAPACK's packed format (Bunch and Kaufman 1977)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...backend.dtype import Array
from ...ops.complex import IN_PLACE_OF
from ...ops.op import op
from .decompositions import conjugate, on_cpu, pivot_size

_GROWTH = (1 + math.sqrt(17)) / 8  # a diagonal element this much smaller than its column is not used as a pivot


@on_cpu
def ldl_factor(x: Array, hermitian: bool) -> tuple[Array, Array, Array]:
    """(L and D in one lower triangle, pivots, info) for the lower triangle of x. D has blocks of 1 or 2 rows.

    As in LAPACK, a pivot is the number, from 1, of the row that was swapped with the last row of the block. For a block
    of two rows, the pivot is negative and appears twice. ``info`` is the position of the first zero of D.
    """
    turned = np.conj if hermitian else np.asarray
    out = np.tril(x) + np.swapaxes(turned(np.tril(x, -1)), -1, -2)
    pivots, info = np.empty(x.shape[:-1], np.int32), np.zeros(x.shape[:-2], np.int32)
    for place in np.ndindex(info.shape):
        info[place] = _factor(out[place], pivots[place], turned)
    return np.tril(out), pivots, info


def _factor(a: Array, pivots: Array, turned: Any) -> int:
    """Factor a symmetric matrix in place, and return the position of the first zero of D."""
    info, k = 0, 0
    while k < len(a):
        if turned is np.conj:
            np.fill_diagonal(a, a.diagonal().real)  # rounding may have left an imaginary part
        other, rows = k, 1  # the row to swap with the last row of the block, and the block's number of rows
        column, size = pivot_size(a[k + 1 :, k]), pivot_size(a[k, k])
        largest = column.max(initial=0)
        if not (size >= _GROWTH * largest or math.isnan(size)):
            i = k + 1 + int(column.argmax())
            across = np.maximum(pivot_size(a[i, k:i]).max(), pivot_size(a[i + 1 :, i]).max(initial=0))
            if not size >= _GROWTH * largest * (largest / across):
                other, rows = i, 1 if pivot_size(a[i, i]) >= _GROWTH * across else 2
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
    return info


@op(
    "db = a⁻ᴴ g",
    b=lambda g, ld, pivots, hermitian: (
        ldl_solve(ld, pivots, g, True) if hermitian else conjugate(ldl_solve(ld, pivots, conjugate(g), False))
    ),
)
@on_cpu
def ldl_solve(ld: Array, pivots: Array, b: Array, hermitian: bool) -> Array:
    """x in a x = b, given the results of ``ldl_factor`` for a, with the same leading axes"""
    out, turned = b.copy(), np.conj if hermitian else np.asarray
    for place in np.ndindex(b.shape[:-2]):
        a, x, blocks, k = ld[place], out[place], [], 0
        while k < len(a):
            pivot = int(pivots[place][k])
            end = k + (1 if pivot > 0 else 2)
            blocks.append((k, end, [end - 1, abs(pivot) - 1]))
            k = end
        for k, end, rows in blocks:  # forward substitution with the blocks of L and D
            x[rows] = x[rows[::-1]]
            x[end:] -= a[end:, k:end] @ x[k:end]
            block = np.tril(a[k:end, k:end])
            x[k:end] = np.linalg.solve(block + turned(np.tril(block, -1)).T, x[k:end])
        for k, end, rows in reversed(blocks):  # backward substitution with the blocks of Lᴴ
            x[k:end] -= turned(a[end:, k:end]).T @ x[end:]
            x[rows] = x[rows[::-1]]
    return out


IN_PLACE_OF[ldl_solve] = ldl_solve
