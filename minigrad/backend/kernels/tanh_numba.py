"""tanh x and its gradient."""

from __future__ import annotations

from ..compiled.functions import tanh
from ..compiled.loops import Flat, loop
from ._elementwise_numba import elementwise


@loop
def function(start: int, stop: int, x: Flat, y: Flat) -> None:
    """tanh x"""
    x, y = x[start:stop], y[start:stop]
    for i in range(stop - start):
        y[i] = tanh(x[i])


@loop
def gradient(start: int, stop: int, g: Flat, y: Flat, dx: Flat) -> None:
    """g (1 - y²)"""
    g, y, dx = g[start:stop], y[start:stop], dx[start:stop]
    for i in range(stop - start):
        dx[i] = g[i] - g[i] * y[i] * y[i]


forward, backward = elementwise(function, gradient, from_result=True)
