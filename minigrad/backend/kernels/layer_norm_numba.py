"""Layer norm over the last axis, a row at a time."""

from __future__ import annotations

import numpy as np

from ..compiled.loops import FLOAT32, Flat, Rows, fits, grain, laid, laid_or_none, loop
from ..dtype import Array
from . import Gradients, Needs, wanted

F = np.float32


@loop
def normalise(
    start: int, stop: int, x: Rows, weight: Flat, bias: Flat, eps: float, out: Rows, mean: Flat, scale: Flat
) -> None:
    """y = (x - mean) · scale · weight + bias, where scale = 1 / √(variance + eps)."""
    width = x.shape[1]
    share = F(1.0) / F(width)
    for i in range(start, stop):
        total = F(0.0)
        for j in range(width):
            total += x[i, j]
        middle = total * share
        squares = F(0.0)
        for j in range(width):
            squares += (x[i, j] - middle) * (x[i, j] - middle)
        factor = F(1.0) / np.sqrt(squares * share + F(eps))
        mean[i], scale[i] = middle, factor
        if weight.size == 0:
            for j in range(width):
                out[i, j] = (x[i, j] - middle) * factor
        elif bias.size == 0:
            for j in range(width):
                out[i, j] = (x[i, j] - middle) * factor * weight[j]
        else:
            for j in range(width):
                out[i, j] = (x[i, j] - middle) * factor * weight[j] + bias[j]


def forward(needs: Needs, x: Array, weight: Array | None, bias: Array | None, eps: float) -> tuple[Array, tuple[Array, Array]]:
    if not fits(x, weight, bias) or (weight is None and bias is not None):
        return NotImplemented
    x, out = laid(x), np.empty(x.shape, FLOAT32)
    mean, scale = np.empty((2, x.size // x.shape[-1]), FLOAT32)
    normalise(len(mean), grain(len(mean), 8 * x.shape[-1]), x, laid_or_none(weight), laid_or_none(bias), eps, out, mean, scale)
    return out, (mean, scale)
