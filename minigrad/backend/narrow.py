"""Products with a weight in int8 or bfloat16, without a copy of it in float32: compiled loops widen some rows at a time
in the processor's cache. A weight is (N, K), and its row j is multiplied by ``scale[j]``, (N,) in float32."""

from __future__ import annotations

import numpy as np

from . import blas, products
from .compiled import store
from .compiled.loops import FLOAT32, fits, grain, laid, scratch
from .dtype import Array, bfloat16
from .parallel import get_num_threads
from .registry import xp

FEW = 48  # rows of x: for more, widening a panel of the weight once for all rows takes little time
CACHE = 1 << 16  # float32 values of a panel
WIDE = 1 << 22  # float32 values of a weight to widen at once


def widened(weight: Array, scale: Array) -> Array:
    """The weight in float32."""
    return weight.astype(np.float32) * scale[:, None]


def multiply(x: Array, weight: Array, scale: Array) -> Array:
    """x Wᵀ for x (M, K) in float32: (M, N)."""
    (rows, inner), columns = x.shape, len(weight)
    size = weight.dtype.itemsize
    is_half, laid_out = int(size == 2), size <= 2 and inner % 16 == 0 and weight.flags.c_contiguous
    if not (laid_out and rows and columns and fits(x, scale) and store.library() and blas.sgemm()):
        return products.matmul(x, widened(weight, scale).T)
    from . import narrow_numba as loops

    if rows > FEW:
        step, parts = max(1, WIDE // inner), []
        for start in range(0, columns, step):
            some, factors = weight[start : start + step], scale[start : start + step]
            wide = np.empty(some.shape, FLOAT32)
            loops.widen(len(some), grain(len(some), 5 * inner), is_half, some.ctypes.data, factors, wide)
            parts.append(products.matmul(x, wide.T))
        return parts[0] if len(parts) == 1 else np.concatenate(parts, 1)
    out = np.empty((rows, columns), FLOAT32)
    width = max(16, min(64, CACHE // inner // 16 * 16))
    panels = -(-columns // width)
    with blas.one_thread() as one, one:
        memory = scratch(width * (inner + rows))
        at_once = max(1, panels // (4 * get_num_threads()))
        loops.few_rows(panels, at_once, blas.sgemm(), is_half, weight.ctypes.data, scale, width, laid(x), memory, out)
    return out


def narrowed(weight: Array, is_half: bool) -> tuple[Array, Array]:
    """A weight in float32 as int8 or bfloat16, and its scale. In int8, the largest number of each row is ±127."""
    if is_half:
        return weight.astype(bfloat16.numpy), xp(weight).ones(len(weight), FLOAT32)
    m = xp(weight)
    largest = m.maximum(weight.max(1, initial=0.0), -weight.min(1, initial=0.0))
    scale = m.where(largest > 0, largest / np.float32(127), np.float32(1)).astype(np.float32)
    return m.rint(weight / scale[:, None]).astype(np.int8), scale
