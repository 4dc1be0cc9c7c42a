"""Layer normalization over the last axis: see layer_norm.cu."""

from __future__ import annotations

from typing import Any

from ..dtype import Array
from ..registry import xp
from ._launch import address, column_stripes, contiguous, each_row, launch, row_count, wide


def forward(
    needs: tuple[bool, ...], x: Array, weight: Array | None, bias: Array | None, eps: float
) -> tuple[Array, tuple[Array, Array]]:
    x = contiguous(x)
    rows, n = row_count(x), x.shape[-1]
    out = xp(x).empty_like(x)
    mean, inverse_std = xp(x).empty((2, rows), wide(x))
    args = (x, address(weight, x.dtype), address(bias, x.dtype), out, mean, inverse_std, float(eps), rows, n)
    launch(x, "layer_norm", "layer_norm", *each_row(rows, n), args)
    return out, (mean, inverse_std)


def backward(
    needs: tuple[bool, ...],
    saved: tuple[Array, Array],
    g: Array,
    x: Array,
    weight: Array | None,
    bias: Array | None,
    eps: float,
) -> tuple[Any, ...]:
    g, x = contiguous(g, x.dtype), contiguous(x)
    rows, n = row_count(x), x.shape[-1]
    dx = dweight = dbias = None
    if needs[0]:
        dx = xp(x).empty_like(x)
        args = (g, x, address(weight, x.dtype), *saved, dx, rows, n)
        launch(x, "layer_norm", "layer_norm_gradient", *each_row(rows, n), args)
    if needs[1] or needs[2]:
        grid, block = column_stripes(rows, n)
        partial = xp(x).zeros((2, grid[1], n), wide(x))
        args = (g, x, *saved, partial[0], partial[1], rows, n)
        launch(x, "layer_norm", "layer_norm_parameter_gradients", grid, block, args)
        dweight, dbias = partial.sum(axis=1).astype(x.dtype, copy=False)
    return dx, dweight if needs[1] else None, dbias if needs[2] else None, None
