"""The logarithm of softmax in blocks of rows that stay in cache, and its gradient from the result."""

from __future__ import annotations

import numpy as np

from ..dtype import Array
from ..parallel import over_rows
from ._rows import as_rows, from_rows, row_max, row_sum


def forward(needs: tuple[bool, ...], x: Array, dim: int) -> tuple[Array, Array]:
    if x.size == 0 or x.ndim == 0:
        out = np.zeros_like(x)
        return out, out
    rows = as_rows(x, dim)
    result = np.empty_like(rows)

    def work(a: int, b: int) -> None:
        np.subtract(rows[a:b], row_max(rows[a:b])[:, None], out=result[a:b])
        with np.errstate(divide="ignore", invalid="ignore"):
            result[a:b] -= np.log(row_sum(np.exp(result[a:b])))[:, None]

    over_rows(work, len(rows), 3 * rows.strides[0])
    out = from_rows(result, x.shape, dim)
    return out, out


def backward(needs: tuple[bool, ...], out: Array, g: Array, x: None, dim: int) -> tuple[Array | None, ...]:
    if out.size == 0 or out.ndim == 0:
        return np.zeros_like(out), None
    g_rows, out_rows = as_rows(g, dim), as_rows(out, dim)
    result = np.empty_like(out_rows)

    def work(a: int, b: int) -> None:
        np.exp(out_rows[a:b], out=result[a:b])
        result[a:b] *= -row_sum(g_rows[a:b])[:, None]
        result[a:b] += g_rows[a:b]

    over_rows(work, len(result), 3 * result.strides[0])
    return from_rows(result, out.shape, dim), None
