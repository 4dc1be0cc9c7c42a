"""GELU in blocks. Where a gradient is wanted the slope is made from what is in cache then, and kept."""

from __future__ import annotations

import math

import numpy as np

from ..dtype import Array
from ..parallel import over_rows
from ..special import complementary_error_function, error_function
from . import Gradients, Needs

_ROOT = math.sqrt(2 / math.pi)
# P, the highest power first: least squares of Φ up to 6, weighted until its largest errors are alike, 3e-8. From there
# on x P(x²) only grows, and tanh is 1.
_P = (1.7562759e-9, -1.3226623e-7, 3.9647726e-6, -5.5306314e-5, -3.259475e-5, 0.036333084, 0.79788494)


def forward(needs: Needs, x: Array, approximate: str) -> tuple[Array, Array | None]:
    if x.dtype == np.float16:  # its squares end at 255²
        out, slope = forward(needs, x.astype(np.float32), approximate)
        return out.astype(np.float16), None if slope is None else slope.astype(np.float16)
    flat = np.ascontiguousarray(x).reshape(-1)
    out, slope = np.empty_like(flat), np.empty_like(flat) if needs[0] else None

    def work(a: int, b: int) -> None:
        block = flat[a:b]
        share = _share(block, approximate)
        low = np.nonzero(block < (-3 if block.dtype == np.float32 else -0.5))
        if len(low[0]):  # 1 + tanh u has lost digits there
            share[low] = _tail(block[low], approximate)
        np.multiply(block, share, out=out[a:b])
        if slope is not None:
            slope[a:b] = share + block * _density(block, share, approximate)

    over_rows(work, flat.size, 5 * flat.itemsize)
    return out.reshape(x.shape), None if slope is None else slope.reshape(x.shape)


def backward(needs: Needs, slope: Array, g: Array, x: Array, approximate: str) -> Gradients:
    return g * slope, None


def _share(x: Array, approximate: str) -> Array:
    """Φ(x), in float32 (1 + tanh(x P(x²))) / 2; or (1 + tanh u) / 2, u = √(2/π) (x + 0.0447 x³)"""
    if approximate == "tanh":
        return 0.5 + 0.5 * np.tanh(_ROOT * x * (1 + 0.044715 * (x * x)))
    if x.dtype != np.float32:
        return 0.5 + 0.5 * error_function(x * math.sqrt(0.5))
    square, p = x * x, np.full_like(x, _P[0])
    for coefficient in _P[1:]:
        p *= square
        p += coefficient
    return 0.5 + 0.5 * np.tanh(x * p)


def _tail(x: Array, approximate: str) -> Array:
    """``_share`` of x < 0, to the last digits where it is tiny."""
    if approximate == "tanh":
        with np.errstate(over="ignore"):
            return 1 / (1 + np.exp(-2 * _ROOT * x * (1 + 0.044715 * (x * x))))
    return 0.5 * complementary_error_function(x * -math.sqrt(0.5))


def _density(x: Array, share: Array, approximate: str) -> Array:
    """The derivative of ``_share``."""
    if approximate == "tanh":
        return 2 * _ROOT * share * (1 - share) * (1 + 3 * 0.044715 * (x * x))
    return 0.5 * _ROOT * np.exp(-0.5 * (x * x))
