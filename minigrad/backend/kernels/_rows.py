"""What the NumPy kernels share: arrays as rows, and reductions of short rows (where NumPy is weakest)."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from ..dtype import Array
from ..parallel import TINY_BYTES, Work, each, over_rows, row_blocks

_SHORT = 64  # below this a transposed copy is reduced faster than the rows themselves
_LONG = 4096  # up to this many elements are added one after the other
LARGE = 40.0  # exp of this leaves float32 room, upwards for sums, downwards for a gradient over them
SMALL = 1e-20  # a sum from which on what counts is far above float32's smallest numbers


def as_rows(x: Array) -> Array:
    """(..., n) -> (rows, n), contiguous."""
    x = np.ascontiguousarray(x)
    return x.reshape(math.prod(x.shape[:-1]), x.shape[-1])


def wide(x: Array | None) -> Array | None:
    """float16 as float32; anything else as it is."""
    return x.astype(np.float32) if x is not None and x.dtype == np.float16 else x


def along(work: Work, dim: int, *inputs: Array) -> Array:
    """``work(*blocks, out)`` on blocks of the rows along ``dim``; returns what ``out`` is a block of."""
    if inputs[0].size == 0:
        return np.empty_like(inputs[0])
    turned = [x.swapaxes(dim, -1) if x.ndim else x for x in inputs]
    rows = [as_rows(x) for x in turned]
    result = np.empty_like(rows[0])
    row_bytes = (len(rows) + 1) * result.strides[0]
    if len(result) * row_bytes <= TINY_BYTES:
        work(*rows, result)
    else:
        over_rows(lambda a, b: work(*[r[a:b] for r in rows], result[a:b]), len(result), row_bytes)
    out = result.reshape(turned[0].shape)
    return np.ascontiguousarray(out.swapaxes(dim, -1)) if out.ndim else out


def row_max(block: Array) -> Array:
    """The largest of each row, (rows,); 0 for a row that is all -inf (then x - max stays -inf, not NaN)."""
    if block.shape[1] <= _SHORT:
        top = np.maximum.reduce(np.ascontiguousarray(block.T), axis=0)
    else:
        top = np.maximum.reduce(block, axis=1)
    return np.where(np.isneginf(top), top.dtype.type(0), top)


def row_sum(block: Array, weight: Array | None = None) -> Array:
    """The sum of each row, (rows,), or Σⱼ blockᵢⱼ weightⱼ: of short rows a product, as BLAS is faster than ``sum``,
    which keeps more digits of long ones."""
    if block.dtype.char in "fd" and block.shape[-1] <= _LONG:
        return block @ (_ones(block.shape[-1], block.dtype) if weight is None else weight)
    return (block if weight is None else block * weight).sum(axis=-1)


def column_sum(block: Array) -> Array:
    """The sum of each column, (columns,)."""
    if block.dtype.char in "fd":
        return _ones(len(block), block.dtype) @ block
    return block.sum(axis=0)


@lru_cache(64)
def _ones(count: int, dtype: np.dtype[np.float64]) -> Array:
    ones = np.ones(count, dtype)
    ones.flags.writeable = False
    return ones


def row_dot(a: Array, b: Array) -> Array:
    """Σ aᵢⱼ bᵢⱼ over each row, (rows,)."""
    if a.shape[1] > _LONG:
        return row_sum(a * b)
    dots: Array = np.vecdot(a, b) if a.shape[1] > _SHORT else np.einsum("ij,ij->i", a, b)
    return dots


def exp_rows(block: Array, again: Callable[[], object] | None = None) -> tuple[Array, Any]:
    """exp(x - c) in place, c a number for each row.

    c is 0 where no exp overflows and no sum underflows: that saves two passes.

    Args:
        block: (..., n).
        again: fills ``block`` again where the quick way has failed; None if it cannot be tried.

    Returns:
        The sum of each row (...), 1 for a row of -inf alone; and c (...), or 0 for all.
    """
    if again and block.dtype.char in "fd" and block.max(initial=0) <= LARGE:
        np.exp(block, out=block)
        total = row_sum(block)
        if total.min(initial=1) >= SMALL:
            return total, 0
        again()
    rows = block.reshape(-1, block.shape[-1])  # a view
    top = row_max(rows)
    rows -= top[:, None]
    np.exp(rows, out=rows)
    total = row_sum(block)
    return np.where(total == 0, total.dtype.type(1), total), top.reshape(total.shape)


def column_sums(work: Work, rows: Array, row_bytes: int) -> Array:
    """Run ``work(start, stop, sums)`` over blocks of rows, each with two sums down the columns; returns their totals.

    The blocks, and the order in which their sums are added, do not depend on the number of threads.
    """
    blocks = row_blocks(len(rows), row_bytes)
    sums = np.zeros((len(blocks), 2, rows.shape[1]), rows.dtype)
    step = blocks[0][1] if blocks else 1
    each(lambda start, stop: work(start, stop, sums[start // step]), blocks)
    total: Array = sums.sum(axis=0)
    return total
