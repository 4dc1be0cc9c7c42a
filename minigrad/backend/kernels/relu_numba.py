"""max(x, 0) and its gradient."""

from __future__ import annotations

import numpy as np

from ..compiled.loops import Flat, loop
from ._elementwise_numba import elementwise

ZERO = np.float32(0.0)


@loop
def function(start: int, stop: int, x: Flat, y: Flat) -> None:
    """max(x, 0), and NaN where x is"""
    x, y = x[start:stop], y[start:stop]
    for i in range(stop - start):
        y[i] = ZERO if x[i] <= ZERO else x[i]


@loop
def gradient(start: int, stop: int, g: Flat, y: Flat, dx: Flat) -> None:
    """0 where y = 0, else g"""
    g, y, dx = g[start:stop], y[start:stop], dx[start:stop]
    for i in range(stop - start):
        slope = g[i]
        dx[i] = ZERO if y[i] == ZERO else slope


forward, backward = elementwise(function, gradient, from_result=True)
