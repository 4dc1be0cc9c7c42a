"""Root-mean-square norm over the last axis in blocks of rows."""

from __future__ import annotations

import numpy as np

from ..dtype import Array
from ..parallel import over_rows
from ._rows import as_rows, column_sums, row_dot


def forward(needs: tuple[bool, ...], x: Array, weight: Array | None, eps: float) -> tuple[Array, Array]:
    rows = as_rows(x, -1)
    out, width = np.empty_like(rows), rows.shape[1]
    scale = np.empty(len(rows), x.dtype)

    def work(a: int, b: int) -> None:
        scale[a:b] = 1 / np.sqrt(row_dot(rows[a:b], rows[a:b]) / width + eps)
        np.multiply(rows[a:b], scale[a:b, None], out=out[a:b])
        if weight is not None:
            out[a:b] *= weight

    over_rows(work, len(rows), 2 * rows.itemsize * width)
    return out.reshape(x.shape), scale


def backward(
    needs: tuple[bool, ...], saved: Array, g: Array, x: Array, weight: Array | None, eps: float
) -> tuple[Array | None, ...]:
    scale, rows, g_rows = saved, as_rows(x, -1), as_rows(g, -1)
    out, width = np.empty_like(rows), rows.shape[1]

    def work(a: int, b: int, sums: Array) -> None:
        normal = rows[a:b] * scale[a:b, None]
        block = g_rows[a:b]
        if needs[1]:
            sums[...] = np.einsum("ij,ij->j", block, normal)
        if needs[0]:
            slope = np.multiply(block, weight, out=out[a:b]) if weight is not None else block
            normal *= (row_dot(slope, normal) / width)[:, None]
            np.subtract(slope, normal, out=out[a:b])
            out[a:b] *= scale[a:b, None]

    sums = column_sums(work, len(rows), 4 * rows.itemsize * width, (width,), x.dtype)
    return out.reshape(x.shape) if needs[0] else None, sums if needs[1] else None, None
