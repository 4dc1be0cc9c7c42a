"""GELU in one pass; the backward pass computes the slope again from x, so that nothing more is kept."""

from __future__ import annotations

import math

import numpy as np

from ..compiled.functions import normal, normal_and_bell, sigmoid
from ..compiled.loops import FLOAT32, Flat, fits, grain, in_memory_order, inline, laid, loop
from ..dtype import Array
from . import Gradients, Needs

F = np.float32
_ROOT, _CUBE = F(math.sqrt(2 / math.pi)), F(0.044715)
_BELL = F(1 / math.sqrt(2 * math.pi))  # φ(0)


@inline
def logistic(x: np.float32, square: np.float32) -> np.float32:
    """(1 + tanh u) / 2, where u = √(2/π) (x + 0.044715 x³)"""
    return sigmoid(F(2.0) * _ROOT * x * (F(1.0) + _CUBE * square))


@loop
def exact(start: int, stop: int, x: Flat, out: Flat) -> None:
    """x Φ(x)"""
    x, out = x[start:stop], out[start:stop]
    for i in range(stop - start):
        out[i] = x[i] * normal(x[i])


@loop
def exact_slope(start: int, stop: int, g: Flat, x: Flat, dx: Flat) -> None:
    """g (Φ(x) + x φ(x))"""
    g, x, dx = g[start:stop], x[start:stop], dx[start:stop]
    for i in range(stop - start):
        share, bell = normal_and_bell(x[i])
        dx[i] = g[i] * (share + x[i] * _BELL * bell)


@loop
def by_tanh(start: int, stop: int, x: Flat, out: Flat) -> None:
    """x h, where h = (1 + tanh u) / 2"""
    x, out = x[start:stop], out[start:stop]
    for i in range(stop - start):
        out[i] = x[i] * logistic(x[i], x[i] * x[i])


@loop
def by_tanh_slope(start: int, stop: int, g: Flat, x: Flat, dx: Flat) -> None:
    """g (h + 2 x h (1 - h) u')"""
    g, x, dx = g[start:stop], x[start:stop], dx[start:stop]
    for i in range(stop - start):
        c = F(100.0) if x[i] > F(100.0) else x[i]  # 1 - h is 0 there, and infinity times 0 no number
        c = F(-100.0) if c < F(-100.0) else c
        square = c * c
        h = logistic(c, square)
        dx[i] = g[i] * (h + F(2.0) * c * h * (F(1.0) - h) * _ROOT * (F(1.0) + F(3.0) * _CUBE * square))


@in_memory_order
def forward(needs: Needs, x: Array, approximate: str) -> tuple[Array, None]:
    if not fits(x):
        return NotImplemented
    x, out = laid(x), np.empty(x.shape, FLOAT32)
    (by_tanh if approximate == "tanh" else exact)(x.size, grain(x.size, 8), x, out)
    return out, None


def backward(needs: Needs, saved: None, g: Array, x: Array, approximate: str) -> Gradients:
    g, x, dx = laid(g), laid(x), np.empty(x.shape, FLOAT32)
    (by_tanh_slope if approximate == "tanh" else exact_slope)(x.size, grain(x.size, 12), g, x, dx)
    return dx, None
