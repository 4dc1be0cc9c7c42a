"""Layer norm over the last axis in blocks of rows; sums along short rows and columns are left to BLAS."""

from __future__ import annotations

import numpy as np

from ..dtype import Array
from ..parallel import over_rows
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
    out, width = np.empty_like(rows), rows.shape[1]
    mean, scale = np.empty(len(rows), x.dtype) if centred else None, np.empty(len(rows), x.dtype)

    def work(a: int, b: int) -> None:
        block = rows[a:b]
        if mean is not None:
            mean[a:b] = row_sum(block) / width
            block = np.subtract(block, mean[a:b, None], out=out[a:b])
        scale[a:b] = _inverse_rms(block, eps)
        block = np.multiply(block, scale[a:b, None], out=out[a:b])
        if weight is not None:
            block *= weight
        if bias is not None:
            block += bias

    over_rows(work, len(rows), 2 * rows.itemsize * width)
    return out.reshape(x.shape), (mean, scale)


def _inverse_rms(block: Array, eps: float) -> Array:
    """1 / √(mean of x² + eps) of each row, of x over its largest where the squares overflow."""
    out: Array = 1 / np.sqrt(row_dot(block, block) / block.shape[1] + eps)
    if not out.all():
        high = out == 0
        top = np.abs(block[high]).max(axis=1)
        part = block[high] / np.where(np.isinf(top), 1, top)[:, None]
        out[high] = 1 / np.sqrt(row_dot(part, part) / block.shape[1]) / top
    return out


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
            tilt = row_sum(product, weight)
            normal *= (tilt / width)[:, None]
            if mean is not None:
                level = row_sum(slope, weight)
                normal += (level / width)[:, None]
            block = out[a:b]
            np.subtract(slope if weight is None else np.multiply(slope, weight, out=block), normal, out=block)
            block *= scale[a:b, None]

    sums = column_sums(work, rows, 4 * rows.itemsize * width)
    return wanted(needs, out.reshape(x.shape), sums[0], sums[1])
