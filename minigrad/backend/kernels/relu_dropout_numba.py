"""Dropout behind max(x, 0), in one pass."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled.loops import FLOAT32, Flat, grain, laid, loop
from ..dtype import Array
from . import Gradients, Needs, dropout_numba

ZERO = np.float32(0.0)


@loop
def slope(start: int, stop: int, g: Flat, y: Flat, scale: float, dx: Flat) -> None:
    """0 where y = 0, else g · scale"""
    g, y, dx = g[start:stop], y[start:stop], dx[start:stop]
    factor = np.float32(scale)
    for i in range(stop - start):
        scaled = g[i] * factor
        dx[i] = ZERO if y[i] == ZERO else scaled


def forward(needs: Needs, x: Array, keep: Array, scale: float) -> Any:
    return dropout_numba.forward(needs, x, keep, scale, True)


def backward(needs: Needs, y: Array, g: Array, x: None, keep: None, scale: float) -> Gradients:
    g, y, dx = laid(g), laid(y), np.empty(g.shape, FLOAT32)
    slope(g.size, grain(g.size, 12), g, y, scale, dx)
    return dx, None, None
