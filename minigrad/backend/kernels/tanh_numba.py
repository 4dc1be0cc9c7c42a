"""tanh x and its gradient."""

from __future__ import annotations

import numpy as np

from ..compiled.functions import exp, tanh
from ..compiled.loops import Flat, loop
from ._elementwise_numba import elementwise

ONE = np.float32(1.0)


@loop
def function(start: int, stop: int, x: Flat, y: Flat) -> None:
    """tanh x"""
    x, y = x[start:stop], y[start:stop]
    for i in range(stop - start):
        y[i] = tanh(x[i])


@loop
def gradient(start: int, stop: int, g: Flat, x: Flat, dx: Flat) -> None:
    """g / cosh² x = g 4e / (1 + e)², e = e^-2|x|"""
    g, x, dx = g[start:stop], x[start:stop], dx[start:stop]
    for i in range(stop - start):
        e = exp(np.float32(-2.0) * abs(x[i]))
        dx[i] = g[i] * (np.float32(4.0) * e / ((ONE + e) * (ONE + e)))


forward, backward = elementwise(function, gradient, from_result=False)
