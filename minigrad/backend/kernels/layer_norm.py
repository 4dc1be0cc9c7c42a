"""Layer norm over the last axis in blocks of rows; sums along short rows and columns are left to BLAS."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from ..dtype import Array
from ..parallel import TINY_BYTES, over_rows
from . import Gradients, Needs, wanted
from ._rows import as_rows, column_sum, column_sums, row_dot, row_sum, wide

Kept = tuple[Array | None, Array]  # the mean of each row (None of an RMS norm), and 1 / √(variance + eps)


def forward(
    needs: Needs, x: Array, weight: Array | None, bias: Array | None, eps: float, centred: bool = True
) -> tuple[Array, Kept]:
    """Without ``centred`` the mean is not subtracted: RMS norm. float16 is computed in float32."""
    if x.dtype == np.float16:
        out, kept = forward(needs, wide(x), wide(weight), wide(bias), eps, centred)
        return out.astype(x.dtype), kept
    rows = as_rows(x)
    out = np.empty_like(rows)
    if 0 < rows.nbytes <= TINY_BYTES:
        return out.reshape(x.shape), _normalise(rows, out, weight, bias, eps, centred)
    mean, scale = np.empty(len(rows), x.dtype) if centred else None, np.empty(len(rows), x.dtype)

    def work(a: int, b: int) -> None:
        some, scale[a:b] = _normalise(rows[a:b], out[a:b], weight, bias, eps, centred)
        if mean is not None:
            mean[a:b] = some

    over_rows(work, len(rows), 2 * rows.itemsize * rows.shape[1])
    return out.reshape(x.shape), (mean, scale)


def _normalise(rows: Array, out: Array, weight: Array | None, bias: Array | None, eps: float, centred: bool) -> Kept:
    """Write the result for these rows to ``out``."""
    width, dtype, mean = rows.shape[1], rows.dtype, None
    if centred:
        mean = rows @ _shares(width, dtype) if dtype.char in "fd" else rows.mean(axis=1)
        rows = np.subtract(rows, mean[:, None], out=out)
    scale = row_dot(rows, rows)
    scale += width * eps
    np.divide(math.sqrt(width), np.sqrt(scale, out=scale), out=scale)
    np.multiply(rows, scale[:, None], out=out)
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
    needs: Needs, saved: Kept, g: Array, x: Array, weight: Array | None, bias: Array | None, eps: float
) -> Gradients:
    if x.dtype == np.float16:  # the walk brings gradients back to the inputs' dtypes
        return backward(needs, saved, wide(g), wide(x), wide(weight), wide(bias), eps)
    mean, scale = saved
    rows, g_rows = as_rows(x), as_rows(g)
    out, width = np.empty_like(rows), rows.shape[1]

    def work(a: int, b: int, sums: Array) -> None:
        slope, centred = g_rows[a:b], rows[a:b] if mean is None else rows[a:b] - mean[a:b, None]
        normal = np.multiply(centred, scale[a:b, None], out=None if mean is None else centred)
        product = slope * normal
        if needs[1]:
            sums[0] = column_sum(product)
        if needs[2]:
            sums[1] = column_sum(slope)
        if needs[0]:
            # the sums over a row of slope · weight · normal, and of slope · weight
            tilt = row_sum(product) if weight is None else product @ weight
            normal *= (tilt / width)[:, None]
            if mean is not None:
                level = row_sum(slope) if weight is None else slope @ weight
                normal += (level / width)[:, None]
            block = out[a:b]
            np.subtract(slope if weight is None else np.multiply(slope, weight, out=block), normal, out=block)
            block *= scale[a:b, None]

    sums = column_sums(work, rows, 4 * rows.itemsize * width)
    return wanted(needs, out.reshape(x.shape), sums[0], sums[1])
