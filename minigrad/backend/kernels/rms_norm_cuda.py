"""Root-mean-square normalization over the last axis: see rms_norm.cu."""

from __future__ import annotations

from ..dtype import Array
from ..registry import xp
from . import Gradients, Needs
from ._launch import address, column_stripes, contiguous, launch, over_rows, row_count, wide


def forward(needs: Needs, x: Array, weight: Array | None, eps: float) -> tuple[Array, Array]:
    x = contiguous(x)
    out, inverse_rms = xp(x).empty_like(x), xp(x).empty(row_count(x), wide(x))
    over_rows(x, "rms_norm", "rms_norm", x, address(weight, x.dtype), out, inverse_rms, float(eps))
    return out, inverse_rms


def backward(needs: Needs, saved: Array, g: Array, x: Array, weight: Array | None, eps: float) -> Gradients:
    g, x = contiguous(g, x.dtype), contiguous(x)
    dx = dweight = None
    if needs[0]:
        dx = xp(x).empty_like(x)
        over_rows(x, "rms_norm", "rms_norm_gradient", g, x, address(weight, x.dtype), saved, dx)
    if needs[1]:
        rows, n = row_count(x), x.shape[-1]
        grid, block = column_stripes(rows, n)
        partial = xp(x).zeros((grid[1], n), wide(x))
        launch(x, "rms_norm", "rms_norm_weight_gradient", grid, block, (g, x, saved, partial, rows, n))
        dweight = partial.sum(axis=0).astype(x.dtype, copy=False)
    return dx, dweight, None
