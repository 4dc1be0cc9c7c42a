"""Products of matrices on all cores.

OpenBLAS has threads of its own, but after a product they go on looking for work for a tenth of a second, and
take the cores from the threads that do the rest of a step (``parallel.py``). So its threads are never woken:
large products are cut here, a part for each of our threads.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from . import blas
from .dtype import Array
from .parallel import BYTES_A_SECOND, PRODUCTS_A_SECOND, SERIAL_BYTES, each, get_num_threads, shares

LARGE = 2_000_000  # multiplications: below this waking a thread takes longer than it saves
SMALL = 1 << 18  # below this OpenBLAS wakes no threads


def matmul(a: Array, b: Array, then: Callable[[Array], object] | None = None) -> Array:
    """a b, matrices in the last two axes.

    Args:
        then: of two matrices: done with rows of the result (in place) as soon as they are there, while they
            are in cache.
    """
    size = a.size * b.shape[-1]
    if size < SMALL or type(a) is not np.ndarray:
        out = a @ b
    elif size >= LARGE and _can_cut(a, b):
        return _cut(a, b, then) if a.ndim == 2 else _cut_batch(a, b)
    else:
        with blas.one_thread():
            out = a @ b
    if then is not None:
        then(out)
    return out


def _can_cut(a: Array, b: Array) -> bool:
    """Whether to share a product among threads: of two matrices, or of two batches of the same length."""
    if type(b) is not np.ndarray or a.dtype != b.dtype or a.dtype.char not in "fd":
        return False
    fits = (a.ndim == b.ndim == 2) or (a.ndim == b.ndim > 2 and len(a) == len(b) > 1)
    return fits and get_num_threads() > 1 and bool(blas.calls())


def _cut(a: Array, b: Array, then: Callable[[Array], object] | None) -> Array:
    """A part of the longer side of the result for each thread."""
    out: Any = np.empty((a.shape[0], b.shape[1]), a.dtype)
    by_rows = then is not None or a.shape[0] >= b.shape[1]

    def work(i: int, j: int) -> None:
        if by_rows:
            np.matmul(a[i:j], b, out=out[i:j])
            if then is not None:
                then(out[i:j])
        else:
            np.matmul(a, b[:, i:j], out=out[:, i:j])

    each(work, shares(out.shape[0 if by_rows else 1], a.size * b.shape[1] / PRODUCTS_A_SECOND))
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
