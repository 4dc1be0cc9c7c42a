"""Matrix products on all cores. OpenBLAS's own threads spin for a while after a product, and take cores from the
threads of compiled loops, which do the rest of a step (``parallel.py``). So the latter threads also compute large
float32 products. OpenBLAS computes all other products, and all products if there are no compiled loops."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from . import blas
from .compiled import store
from .dtype import Array
from .parallel import get_num_threads

SMALL = 1 << 18  # multiplications: up to this, OpenBLAS wakes no threads
LARGE = 1 << 20  # below this, one thread is as fast as two
PART = 3_000_000  # multiplications in a part that is worth a BLAS call
LEAST = 128  # rows or columns in a part, if there are enough
FEW = 32  # up to this many rows, OpenBLAS is slow in float32 if the other matrix is transposed, like a layer's weight
COLUMNS = 32  # columns of that matrix to multiply at a time
FLOAT32 = np.dtype(np.float32)


def matmul(a: Array, b: Array, bias: Array | None = None) -> Array:
    """a b, with matrices in the last two axes. For two matrices, ``bias`` is added to each row."""
    if type(a) is np.ndarray and a.size * b.shape[-1] <= SMALL:
        out = a @ b
    elif type(a) is not np.ndarray:
        from . import cublas  # not needed on the CPU

        out = cublas.matmul(a, b)
    else:
        return _large(a, b, bias)
    if bias is not None:
        out += bias
    return out


def _large(a: Array, b: Array, bias: Array | None) -> Array:
    """A product on the CPU by compiled loops or by OpenBLAS, which uses one thread for smaller products."""
    work = a.size * b.shape[-1]
    if (work >= LARGE or _are_few_rows(a, b)) and (shared := _shared(a, b, bias)) is not None:
        return shared
    elif work < LARGE:
        with blas.one_thread() as one, one:
            out = a @ b
    else:
        out = a @ b
    if bias is not None:
        out += bias
    return out


def _shared(a: Array, b: Array, bias: Array | None) -> Array | None:
    """The product by compiled loops, or None if they do not support it."""
    if not (_is_float32(a) and _is_float32(b) and (bias is None or _is_float32(bias)) and _has_loops()):
        return None
    if min(a.ndim, b.ndim) < 2 or not (_lies_in_order(a) and _lies_in_order(b)):
        return None
    if a.ndim == b.ndim == 2:
        return _shared_rows(a, b, bias)
    if a.ndim == b.ndim and a.ndim in (3, 4) and a.shape[:-2] == b.shape[:-2] and bias is None:
        return _shared_batch(a, b)
    return None


def _is_float32(x: Array) -> bool:
    return type(x) is np.ndarray and x.dtype == FLOAT32


def _has_loops() -> bool:
    return bool(store.library() and blas.sgemm())


def _lies_in_order(x: Array) -> bool:
    """Whether BLAS can read the matrices in the last two axes by rows or by columns."""
    (*_, rows, columns), (*_, by_row, by_column) = x.shape, x.strides
    by_rows = by_column == 4 and by_row % 4 == 0 and by_row >= 4 * columns
    return by_rows or (by_row == 4 and by_column % 4 == 0 and by_column >= 4 * rows)


def _shared_rows(a: Array, b: Array, bias: Array | None) -> Array:
    """The product of two matrices, cut along its longer side, so that BLAS packs the smaller operand for each part."""
    from . import products_numba as loops

    (rows, inner), columns = a.shape, b.shape[1]
    out = np.empty((rows, columns), FLOAT32)
    if bias is not None and (bias.shape != (columns,) or bias.dtype is not FLOAT32 or not bias.flags.c_contiguous):
        bias = np.array(np.broadcast_to(bias, (1, columns))[0], FLOAT32)
    with blas.one_thread() as one, one:
        if rows == 1 and a.flags.c_contiguous and blas.sgemv():
            loops.one_row(columns, _grain(columns, 8 * inner), blas.sgemv(), a, b, bias, out)
        elif _are_few_rows(a, b) and a.flags.c_contiguous and b.T.flags.c_contiguous:
            scratch = np.empty((get_num_threads(), COLUMNS * rows), FLOAT32)
            panels = -(-columns // COLUMNS)
            at_once = max(1, PART // (4 * COLUMNS * a.size))
            loops.few_rows(panels, at_once, blas.sgemm(), a, b.T, scratch, out)
            if bias is not None:
                out += bias
        else:
            longer, work = max(rows, columns), inner * min(rows, columns)
            loops.part_of_product(longer, _grain(longer, work), blas.sgemm(), a, b, bias, columns > rows, out)
    return out


def _grain(length: int, multiplications: int) -> int:
    """The number of rows (or columns) in a part: a multiple of 16, as BLAS processes 16 at a time. There are two parts
    per thread, as one may be delayed, but each has at least ``LEAST`` rows, as BLAS packs the other operand for it."""
    threads = get_num_threads()
    parts = 2 * threads if length >= 2 * threads * LEAST else threads
    parts = max(1, min(parts, length * multiplications // PART))
    return max(16, -(-length // (16 * parts)) * 16)


def _shared_batch(a: Array, b: Array) -> Array:
    """The products of a batch, split among the threads."""
    from . import products_numba as loops

    shape = (*a.shape[:-1], b.shape[-1])
    if a.ndim == 3:
        a, b = a[None], b[None]
    out = np.empty((*a.shape[:-1], b.shape[-1]), FLOAT32)
    count = prod(a.shape[:2])
    size = max(1, a.size * b.shape[-1] // max(1, count))
    with blas.one_thread() as one, one:
        loops.products(count, max(1, PART // (4 * size)), blas.sgemm(), a, b, a.shape[1], out)
    return out.reshape(shape)


def linear_gradients(
    needs: Sequence[bool], g: Array, x: Array, weight: Array
) -> tuple[Array | None, Array | None, Array | None]:
    """The gradients of x Wᵀ + b for x, W and b: g W, gᵀ x and the column sums of g. A gradient that is not needed is
    None. A single compiled loop is faster, as threads wait for each other only once."""
    arrays, (rows, outer), inner = (g, x, weight), g.shape, x.shape[1]
    if not (needs[0] and needs[1] and g.size * inner >= LARGE and all(map(_is_float32, arrays)) and _has_loops()):
        return (
            matmul(g, weight) if needs[0] else None,
            matmul(g.T, x) if needs[1] else None,
            column_sums(g) if needs[2] else None,
        )
    from . import products_numba as loops
    from .compiled.loops import laid

    dx, dweight = np.empty((rows, inner), FLOAT32), np.empty((outer, inner), FLOAT32)
    sums = np.empty((2, outer), FLOAT32) if needs[2] else None
    tall, wide = _grain(rows, outer * inner), _grain(outer, rows * inner)
    parts = -(-rows // tall) - (-outer // wide)
    with blas.one_thread() as one, one:
        loops.linear_gradients(parts, 1, blas.sgemm(), *map(laid, arrays), tall, wide, dx, dweight, sums)
    return dx, dweight, None if sums is None else sums[0]


def _are_few_rows(a: Array, b: Array) -> bool:
    """Whether the ``one_row`` or the ``few_rows`` loop is faster than OpenBLAS. For 2 to 16 rows, the latter takes a
    fifth to a half of the time."""
    if not (a.ndim == b.ndim == 2 and len(a) <= FEW and a.dtype == b.dtype == np.float32):
        return False
    return len(a) == 1 or b.strides[0] == b.itemsize < b.strides[1]


_FEW_ELEMENTS = 1024  # up to this size, NumPy's sums are as fast
_ADDED = 4096  # rows that are added one by one (more would lose digits)


def column_sums(x: Array) -> Array:
    """The sums of a matrix's columns."""
    if type(x) is np.ndarray and x.size < _FEW_ELEMENTS:
        return np.add.reduce(x)
    return _sums_of_columns(x)


def _sums_of_columns(x: Array) -> Array:
    """The column sums by a GPU kernel, or as 1ᵀx, since BLAS is several times faster than NumPy."""
    if type(x) is not np.ndarray:
        from .kernels import layer_norm_cuda  # not needed on the CPU

        return layer_norm_cuda.column_sums(x)
    with blas.one_thread() as one, one:
        parts = [x[start : start + _ADDED] for start in range(0, len(x), _ADDED)]
        sums = [np.ones(len(part), x.dtype) @ part for part in parts]
    return sums[0] if len(sums) == 1 else np.add.reduce(sums)
