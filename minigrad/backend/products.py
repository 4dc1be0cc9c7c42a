"""Products of matrices on all cores.

OpenBLAS has threads of its own, but after a product they go on looking for work for a while, and
take the cores from the threads that do the rest of a step (``parallel.py``). So its threads are never woken:
large products are cut here, a part for each of our threads.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from . import blas
from .dtype import Array
from .parallel import BYTES_A_SECOND, PRODUCTS_A_SECOND, SERIAL_BYTES, each, get_num_threads, shares

LARGE = 8_000_000  # multiplications: below this waking a thread takes longer than it saves
SMALL = 1 << 18  # below this OpenBLAS wakes no threads
FEW = 32  # rows of float32 for which OpenBLAS is slow where the other matrix is transposed, as a layer's weight is
LARGE_OF_FEW, FEW_A_SECOND = 4_000_000, 2.5e10  # as LARGE and PRODUCTS_A_SECOND, for few rows
COLUMNS = 32  # of that matrix that are multiplied at a time
LARGE_OF_PANELS, PANELS_A_SECOND = 12_000_000, 4e10  # the same for ``Panels``


def matmul(a: Array, b: Array, bias: Array | None = None) -> Array:
    """a b (+ bias), matrices in the last two axes.

    Args:
        bias: of two matrices: added to each row of the result while that is in cache.
    """
    size = a.size * b.shape[-1]
    if size < SMALL or type(a) is not np.ndarray:
        out = a @ b
    elif size >= (LARGE_OF_FEW if (few := _are_few_rows(a, b)) else LARGE) and _can_cut(a, b):
        return _cut(a, b, bias) if a.ndim == 2 else _cut_batch(a, b)
    else:
        with blas.one_thread():
            out = _few_rows(a, b) if few else a @ b
    if bias is not None:
        out += bias
    return out


def _can_cut(a: Array, b: Array) -> bool:
    """Whether to share a product among threads: of two matrices, or of two batches of the same length."""
    if type(b) is not np.ndarray or a.dtype != b.dtype or a.dtype.char not in "fd":
        return False
    fits = (a.ndim == b.ndim == 2) or (a.ndim == b.ndim > 2 and len(a) == len(b) > 1)
    return fits and get_num_threads() > 1 and bool(blas.calls())


def _cut(a: Array, b: Array, bias: Array | None) -> Array:
    """A part of the longer side of the result for each thread: the operand that all of them read, and that
    BLAS puts in order for each, is then the smaller one."""
    out: Any = np.empty((a.shape[0], b.shape[1]), a.dtype)
    by_rows = a.shape[0] >= b.shape[1]
    if bias is not None:  # of length 1 too
        bias = np.broadcast_to(bias, (1, b.shape[1]))[0]
    few = _are_few_rows(a, b)

    def work(i: int, j: int) -> None:
        part = out[i:j] if by_rows else out[:, i:j]
        if few:
            part[...] = _few_rows(a[i:j] if by_rows else a, b if by_rows else b[:, i:j])
        else:
            np.matmul(a[i:j] if by_rows else a, b if by_rows else b[:, i:j], out=part)
        if bias is not None:
            part += bias if by_rows else bias[i:j]

    a_second = FEW_A_SECOND if few else PRODUCTS_A_SECOND
    each(work, shares(max(out.shape), a.size * b.shape[1] / a_second))
    return out


def _are_few_rows(a: Array, b: Array) -> bool:
    """Whether ``_few_rows`` is faster: for 1 to 16 rows in a half to two thirds of the time."""
    return (
        a.ndim == b.ndim == 2
        and len(a) <= FEW
        and a.dtype == b.dtype == np.float32
        and b.strides[0] == b.itemsize < b.strides[1]
    )


def _few_rows(a: Array, b: Array) -> Array:
    """a b where bᵀ lies row by row: BLAS reads it once, as it lies, in blocks that stay in cache from when it puts them
    in order until it has multiplied them."""
    weight, columns = b.T, b.shape[1]
    if len(a) < 3:
        out: Array = np.vecdot(weight, a[:, None])
        return out
    result = np.empty((columns, len(a)), a.dtype)
    whole = columns - columns % COLUMNS
    blocks = result[:whole].reshape(whole // COLUMNS, COLUMNS, len(a))
    np.matmul(weight[:whole].reshape(whole // COLUMNS, COLUMNS, len(b)), a.T, out=blocks)
    np.matmul(weight[whole:], a.T, out=result[whole:])
    return np.ascontiguousarray(result.T)


class Panels:
    """A copy of a matrix (K, N) for many products with few rows, as those with a layer's weight in decoding.

    COLUMNS columns make a panel, which lies row by row. So BLAS need not put the matrix in order first: with 3 to 16
    rows a product takes a third to a half of the time of ``matmul``. The copy takes as long as about ten products.
    """

    def __init__(self, matrix: Array) -> None:
        self.rows, self.columns = matrix.shape
        self.whole = self.columns - self.columns % COLUMNS
        panels = matrix[:, : self.whole].reshape(self.rows, self.whole // COLUMNS, COLUMNS)
        self.panels = np.ascontiguousarray(panels.transpose(1, 0, 2))
        self.rest = np.ascontiguousarray(matrix[:, self.whole :])

    def product(self, a: Array, bias: Array | None = None) -> Array:
        """a (M, K) times the matrix (+ bias (N,)), (M, N)."""
        out: Any = np.empty((len(a), self.columns), a.dtype)
        parts = out[:, : self.whole].reshape(len(a), len(self.panels), COLUMNS).transpose(1, 0, 2)

        def work(i: int, j: int) -> None:
            np.matmul(a, self.panels[i:j], out=parts[i:j])

        size = a.size * self.whole
        if size >= LARGE_OF_PANELS and get_num_threads() > 1 and blas.calls():
            each(work, shares(len(parts), size / PANELS_A_SECOND))
        else:
            with blas.one_thread():
                work(0, len(parts))
        np.matmul(a, self.rest, out=out[:, self.whole :])
        if bias is not None:
            out += bias
        return out


def _cut_batch(a: Array, b: Array) -> Array:
    """Some of a batch's products for each thread."""
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    out: Any = np.empty((*lead, a.shape[-2], b.shape[-1]), a.dtype)
    seconds = a.size * b.shape[-1] / PRODUCTS_A_SECOND
    each(lambda i, j: np.matmul(a[i:j], b[i:j], out=out[i:j]), shares(len(a), seconds))
    return out


def column_sums(x: Array) -> Array:
    """The sums of a matrix's columns as 1ᵀx: BLAS adds columns several times faster than NumPy."""
    ones = np.ones(len(x), x.dtype)
    if x.nbytes < SERIAL_BYTES or prod(x.shape) == 0:
        with blas.one_thread():
            return ones @ x
    out = np.empty(x.shape[1], x.dtype)
    seconds = x.nbytes / BYTES_A_SECOND
    each(lambda i, j: np.matmul(ones, x[:, i:j], out=out[i:j]), shares(x.shape[1], seconds))
    return out
