"""What the NumPy kernels share: arrays as rows, and reductions of short rows (where NumPy is weakest)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..dtype import Array
from ..parallel import each, row_blocks

_SHORT = 64  # below this a transposed copy is reduced faster than the rows themselves
_MEDIUM = 256  # below this einsum adds a row faster than sum


def as_rows(x: Array, dim: int) -> Array:
    """(..., n, ...) -> (rows, n), contiguous, the axis ``dim`` last."""
    if dim % x.ndim != x.ndim - 1:
        x = np.moveaxis(x, dim, -1)
    return np.ascontiguousarray(x).reshape(-1, x.shape[-1])


def from_rows(rows: Array, shape: tuple[int, ...], dim: int) -> Array:
    """(rows, n) back in the shape that ``as_rows`` was given."""
    axis = dim % len(shape)
    if axis == len(shape) - 1:
        return rows.reshape(shape)
    moved = shape[:axis] + shape[axis + 1 :] + shape[axis : axis + 1]
    return np.ascontiguousarray(np.moveaxis(rows.reshape(moved), -1, axis))


def row_max(block: Array) -> Array:
    """The largest of each row, (rows,); 0 for a row that is all -inf (then x - max stays -inf, not NaN)."""
    if block.shape[1] <= _SHORT:
        top = np.maximum.reduce(np.ascontiguousarray(block.T), axis=0)
    else:
        top = np.maximum.reduce(block, axis=1)
    return np.where(np.isneginf(top), top.dtype.type(0), top)


def row_sum(block: Array) -> Array:
    """The sum of each row, (rows,)."""
    total: Array = np.einsum("ij->i", block) if block.shape[1] <= _MEDIUM else block.sum(axis=1)
    return total


def row_dot(a: Array, b: Array) -> Array:
    """Σ aᵢⱼ bᵢⱼ over each row, (rows,)."""
    dots: Array = np.einsum("ij,ij->i", a, b)
    return dots


def softmax_rows(block: Array, out: Array) -> None:
    """Softmax of each row, written to ``out`` (which may be ``block``)."""
    np.subtract(block, row_max(block)[:, None], out=out)
    np.exp(out, out=out)
    total = row_sum(out)
    out /= np.where(total == 0, total.dtype.type(1), total)[:, None]


def column_sums(
    work: Callable[[int, int, Array], object],
    rows: int,
    row_bytes: int,
    shape: tuple[int, ...],
    dtype: np.dtype[np.float64],
) -> Array:
    """Run ``work(start, stop, sums)`` over blocks of rows, each with sums of its own; returns their total.

    The blocks, and the order in which their sums are added, do not depend on the number of threads.
    """
    blocks = row_blocks(rows, row_bytes)
    sums = np.zeros((len(blocks), *shape), dtype)
    step = blocks[0][1] if blocks else 1
    each(lambda start, stop: work(start, stop, sums[start // step]), blocks)
    total: Array = sums.sum(axis=0)
    return total
