"""Root-mean-square normalization over the last axis: see rms_norm.cu."""

from __future__ import annotations

from typing import Any

from ..dtype import Array
from ..registry import xp
from ._launch import address, column_stripes, contiguous, each_row, launch, row_count, wide


def forward(needs: tuple[bool, ...], x: Array, weight: Array | None, eps: float) -> tuple[Array, Array]:
    x = contiguous(x)
    rows, n = row_count(x), x.shape[-1]
    out = xp(x).empty_like(x)
    inverse_rms = xp(x).empty(rows, wide(x))
    args = (x, address(weight, x.dtype), out, inverse_rms, float(eps), rows, n)
    launch(x, "rms_norm", "rms_norm", *each_row(rows, n), args)
    return out, inverse_rms


def backward(
    needs: tuple[bool, ...], saved: Array, g: Array, x: Array, weight: Array | None, eps: float
) -> tuple[Any, ...]:
    g, x = contiguous(g, x.dtype), contiguous(x)
    rows, n = row_count(x), x.shape[-1]
    dx = dweight = None
    if needs[0]:
        dx = xp(x).empty_like(x)
        args = (g, x, address(weight, x.dtype), saved, dx, rows, n)
        launch(x, "rms_norm", "rms_norm_gradient", *each_row(rows, n), args)
    if needs[1]:
        grid, block = column_stripes(rows, n)
        partial = xp(x).zeros((grid[1], n), wide(x))
        launch(x, "rms_norm", "rms_norm_weight_gradient", grid, block, (g, x, saved, partial, rows, n))
        dweight = partial.sum(axis=0).astype(x.dtype, copy=False)
    return dx, dweight, None
