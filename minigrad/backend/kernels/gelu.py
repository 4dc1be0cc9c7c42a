"""GELU in blocks, with products in place (``x ** 3`` would cost thirty times as much).

Where a gradient is wanted the slope is made together with the result, while what both need is in cache, and
kept for the backward pass, which is then one product.
"""

from __future__ import annotations

import math

import numpy as np

from ..dtype import Array
from ..parallel import over_rows, spread
from ..special import error_function
from . import Gradients, Needs

_ROOT = math.sqrt(2 / math.pi)
_BELL = 1 / math.sqrt(2 * math.pi)  # φ(0)
# P, the highest power first: least squares of Φ up to 6, weighted until its largest errors are alike, 3e-8. From there
# on x P(x²) only grows, and tanh is 1.
_P = (1.7562759e-9, -1.3226623e-7, 3.9647726e-6, -5.5306314e-5, -3.259475e-5, 0.036333084, 0.79788494)


def forward(needs: Needs, x: Array, approximate: str) -> tuple[Array, Array | None]:
    if x.dtype == np.float16:  # its squares end at 255²
        out, slope = forward(needs, x.astype(np.float32), approximate)
        return out.astype(np.float16), None if slope is None else slope.astype(np.float16)
    flat = np.ascontiguousarray(x).reshape(-1)
    out, slope = np.empty_like(flat), np.empty_like(flat) if needs[0] else None
    run = _tanh if approximate == "tanh" else _exact

    def work(a: int, b: int) -> None:
        run(flat[a:b], out[a:b], None if slope is None else slope[a:b])

    over_rows(work, flat.size, 5 * flat.itemsize)
    return out.reshape(x.shape), slope


def backward(needs: Needs, slope: Array, g: Array, x: Array, approximate: str) -> Gradients:
    return spread(np.multiply, g, slope), None


def _tanh(x: Array, out: Array, slope: Array | None) -> None:
    """x h and its slope h + 2 x h (1 - h) u', where h = (1 + tanh u) / 2, u = √(2/π) (x + 0.044715 x³)"""
    half, square = np.empty_like(x), np.multiply(x, x)
    np.multiply(square, 0.044715 * _ROOT, out=half)
    half += _ROOT
    half *= x
    np.tanh(half, out=half)
    half *= 0.5
    half += 0.5
    np.multiply(x, half, out=out)
    if slope is not None:
        square *= 6 * 0.044715 * _ROOT
        square += 2 * _ROOT
        np.subtract(1, half, out=slope)
        slope *= out
        slope *= square
        slope += half


def _exact(x: Array, out: Array, slope: Array | None) -> None:
    """x Φ(x) and its slope Φ(x) + x φ(x)"""
    phi = _normal(x)
    np.multiply(x, phi, out=out)
    if slope is not None:
        np.multiply(x, x, out=slope)
        slope *= -0.5
        np.exp(slope, out=slope)
        slope *= x
        slope *= _BELL
        slope += phi


def _normal(x: Array) -> Array:
    """The normal distribution Φ(x); in float32 (1 + tanh(x P(x²))) / 2, with NumPy's fast tanh."""
    if x.dtype != np.float32:
        return 0.5 + 0.5 * error_function(x * math.sqrt(0.5))
    square = np.multiply(x, x)
    phi = np.multiply(square, _P[0])
    for coefficient in _P[1:-1]:
        phi += coefficient
        phi *= square
    phi += _P[-1]
    phi *= x
    np.tanh(phi, out=phi)
    phi *= 0.5
    phi += 0.5
    return phi
