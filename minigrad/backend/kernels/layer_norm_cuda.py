"""Layer normalization over the last axis: see layer_norm.cu."""

from __future__ import annotations

from ..dtype import Array
from ..registry import xp
from . import Gradients, Needs, wanted
from ._launch import address, column_stripes, contiguous, launch, over_rows, row_count, wide

Kept = tuple[Array, Array]  # the mean of each row, and 1 / √(variance + eps)


def forward(needs: Needs, x: Array, weight: Array | None, bias: Array | None, eps: float) -> tuple[Array, Kept]:
    x = contiguous(x)
    out = xp(x).empty_like(x)
    mean, inverse_std = xp(x).empty((2, row_count(x)), wide(x))
    scale_and_shift = address(weight, x.dtype), address(bias, x.dtype)
    over_rows(x, "layer_norm", "layer_norm", x, *scale_and_shift, out, mean, inverse_std, float(eps))
    return out, (mean, inverse_std)


def backward(
    needs: Needs, saved: Kept, g: Array, x: Array, weight: Array | None, bias: Array | None, eps: float
) -> Gradients:
    g, x = contiguous(g, x.dtype), contiguous(x)
    dx = dweight = dbias = None
    if needs[0]:
        dx = xp(x).empty_like(x)
        over_rows(x, "layer_norm", "layer_norm_gradient", g, x, address(weight, x.dtype), *saved, dx)
    if needs[1] or needs[2]:
        rows, n = row_count(x), x.shape[-1]
        grid, block = column_stripes(rows, n)
        partial = xp(x).zeros((2, grid[1], n), wide(x))
        args = (g, x, *saved, partial[0], partial[1], rows, n)
        launch(x, "layer_norm", "layer_norm_parameter_gradients", grid, block, args)
        dweight, dbias = partial.sum(axis=1).astype(x.dtype, copy=False)
    return wanted(needs, dx, dweight, dbias)
