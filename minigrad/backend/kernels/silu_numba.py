"""x σ(x) and its gradient."""

from __future__ import annotations

import numpy as np

from ..compiled.functions import sigmoid
from ..compiled.loops import Flat, loop
from ._elementwise_numba import elementwise

ONE = np.float32(1.0)


@loop
def function(start: int, stop: int, x: Flat, y: Flat) -> None:
    """x σ(x)"""
    x, y = x[start:stop], y[start:stop]
    for i in range(stop - start):
        y[i] = x[i] * sigmoid(x[i])


@loop
def gradient(start: int, stop: int, g: Flat, x: Flat, dx: Flat) -> None:
    """g s (1 + x (1 - s)), s = σ(x)"""
    g, x, dx = g[start:stop], x[start:stop], dx[start:stop]
    for i in range(stop - start):
        s = sigmoid(x[i])
        dx[i] = g[i] * (s * (ONE + x[i] * (ONE - s)))


forward, backward = elementwise(function, gradient, from_result=False)
