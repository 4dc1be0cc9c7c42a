"""Layer norm over the last axis in blocks of rows; sums along short rows and columns are left to BLAS."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from ..dtype import Array
from ..parallel import TINY_BYTES, over_rows
from ._rows import as_rows, column_sum, column_sums, row_dot, row_sum


def forward(
    needs: tuple[bool, ...], x: Array, weight: Array | None, bias: Array | None, eps: float
) -> tuple[Array, tuple[Array, Array]]:
    rows = as_rows(x, -1)
    out = np.empty_like(rows)
    if 0 < rows.nbytes <= TINY_BYTES:
        return out.reshape(x.shape), _normalise(rows, out, weight, bias, eps)
    mean, scale = np.empty(len(rows), x.dtype), np.empty(len(rows), x.dtype)

    def work(a: int, b: int) -> None:
        mean[a:b], scale[a:b] = _normalise(rows[a:b], out[a:b], weight, bias, eps)

    over_rows(work, len(rows), 2 * rows.itemsize * rows.shape[1])
    return out.reshape(x.shape), (mean, scale)


def _normalise(rows: Array, out: Array, weight: Array | None, bias: Array | None, eps: float) -> tuple[Array, Array]:
    """Write the result for these rows to ``out``; return the mean of each, and 1 / √(variance + eps)."""
    width, dtype = rows.shape[1], rows.dtype
    mean = rows @ _shares(width, dtype) if dtype.char in "fd" else rows.mean(axis=1)
    np.subtract(rows, mean[:, None], out=out)
    scale = row_dot(out, out)
    scale += width * eps
    np.divide(math.sqrt(width), np.sqrt(scale, out=scale), out=scale)
    out *= scale[:, None]
    if weight is not None:
        out *= weight
    if bias is not None:
        out += bias
    return mean, scale


@lru_cache(16)
def _shares(width: int, dtype: np.dtype[np.float64]) -> Array:
    """1 / width, ``width`` times: the product with it is the mean of a row."""
    shares = np.full(width, 1 / max(1, width), dtype)
    shares.flags.writeable = False
    return shares


def backward(
    needs: tuple[bool, ...],
    saved: tuple[Array, Array],
    g: Array,
    x: Array,
    weight: Array | None,
    bias: Array | None,
    eps: float,
) -> tuple[Array | None, ...]:
    mean, scale = saved
    rows, g_rows = as_rows(x, -1), as_rows(g, -1)
    out, width = np.empty_like(rows), rows.shape[1]

    def work(a: int, b: int, sums: Array) -> None:
        slope, normal = g_rows[a:b], np.subtract(rows[a:b], mean[a:b, None])
        normal *= scale[a:b, None]
        product = slope * normal
        if needs[1]:
            sums[0] = column_sum(product)
        if needs[2]:
            sums[1] = column_sum(slope)
        if needs[0]:
            # the sums over a row of slope · weight, and of slope · weight · normal
            level = row_sum(slope) if weight is None else slope @ weight
            tilt = row_sum(product) if weight is None else product @ weight
            normal *= (tilt / width)[:, None]
            normal += (level / width)[:, None]
            block = out[a:b]
            np.subtract(slope if weight is None else np.multiply(slope, weight, out=block), normal, out=block)
            block *= scale[a:b, None]

    sums = column_sums(work, len(rows), 4 * rows.itemsize * width, (2, width), x.dtype)
    gradients = (out.reshape(x.shape), sums[0], sums[1])
    return (*(f if need else None for f, need in zip(gradients, needs, strict=False)), None)
