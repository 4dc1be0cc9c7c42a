"""Dropout behind max(x, 0), in one pass."""

from __future__ import annotations

import numpy as np

from ..compiled.loops import FLOAT32, Flags, Flat, grain, in_memory_order, laid, loop
from ..dtype import Array
from . import Gradients, Needs
from .dropout_numba import takes

ZERO = np.float32(0.0)


@loop
def rectified(start: int, stop: int, x: Flat, keep: Flags, scale: float, out: Flat) -> None:
    """max(x, 0) · scale where it is kept, and NaN where x is, else 0"""
    x, keep, out = x[start:stop], keep[start:stop], out[start:stop]
    factor = np.float32(scale)
    for i in range(stop - start):
        scaled = (ZERO if x[i] <= ZERO else x[i]) * factor
        out[i] = scaled if keep[i] else ZERO


@loop
def rectified_slope(start: int, stop: int, g: Flat, y: Flat, scale: float, dx: Flat) -> None:
    """0 where y = 0, else g · scale"""
    g, y, dx = g[start:stop], y[start:stop], dx[start:stop]
    factor = np.float32(scale)
    for i in range(stop - start):
        scaled = g[i] * factor
        dx[i] = ZERO if y[i] == ZERO else scaled


@in_memory_order
def forward(needs: Needs, x: Array, keep: Array, scale: float) -> tuple[Array, Array]:
    if not takes(x, keep):
        return NotImplemented
    x, out = laid(x), np.empty(x.shape, FLOAT32)
    rectified(x.size, grain(x.size, 9), x, np.ascontiguousarray(keep), scale, out)
    return out, out


def backward(needs: Needs, y: Array, g: Array, x: None, keep: None, scale: float) -> Gradients:
    g, y, dx = laid(g), laid(y), np.empty(g.shape, FLOAT32)
    rectified_slope(g.size, grain(g.size, 12), g, y, scale, dx)
    return dx, None, None
