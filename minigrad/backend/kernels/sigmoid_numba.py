"""σ(x) and its gradient."""

from __future__ import annotations

import numpy as np

from ..compiled.functions import exp, sigmoid
from ..compiled.loops import Flat, loop
from ._elementwise_numba import elementwise

ONE = np.float32(1.0)


@loop
def function(start: int, stop: int, x: Flat, y: Flat) -> None:
    """σ(x)"""
    x, y = x[start:stop], y[start:stop]
    for i in range(stop - start):
        y[i] = sigmoid(x[i])


@loop
def gradient(start: int, stop: int, g: Flat, x: Flat, dx: Flat) -> None:
    """g σ(x) σ(-x) = g e / (1 + e)², e = e^-|x|"""
    g, x, dx = g[start:stop], x[start:stop], dx[start:stop]
    for i in range(stop - start):
        e = exp(-abs(x[i]))
        dx[i] = g[i] * (e / ((ONE + e) * (ONE + e)))


forward, backward = elementwise(function, gradient, from_result=False)
