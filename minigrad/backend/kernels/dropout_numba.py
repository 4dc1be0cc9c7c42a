"""Dropout by a mask that was drawn before, in one pass; also behind max(x, 0)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from ..compiled.loops import FLOAT32, Flags, Flat, fits, grain, in_memory_order, laid, loop
from ..dtype import Array
from . import Gradients, Needs

ZERO = np.float32(0.0)


@loop
def masked(start: int, stop: int, x: Flat, keep: Flags, scale: float, rectify: int, out: Flat) -> None:
    """x · scale where it is kept, else 0 with the sign of x; or max(x, 0) in the place of x, and NaN where x is."""
    x, keep, out = x[start:stop], keep[start:stop], out[start:stop]
    factor = np.float32(scale)
    for i in range(stop - start):
        rectified = ZERO if x[i] <= ZERO else x[i]
        value = rectified if rectify else x[i]
        scaled = value * factor
        out[i] = scaled if keep[i] else np.copysign(ZERO, value)


def dropped(x: Array, keep: Array, scale: float, rectify: bool = False) -> Array:
    """dropout(x) or dropout(max(x, 0)) of what ``forward`` takes."""
    x, out = laid(x), np.empty(x.shape, FLOAT32)
    masked(x.size, grain(x.size, 9), x, np.ascontiguousarray(keep), scale, rectify, out)
    return out


@in_memory_order
def forward(needs: Needs, x: Array, keep: Array, scale: float, rectify: bool = False) -> Any:
    if not fits(x) or keep.dtype != np.bool_ or keep.shape != x.shape:
        return NotImplemented
    out = dropped(x, keep, scale, rectify)
    return out, out if rectify else None


def backward(needs: Needs, saved: None, g: Array, x: None, keep: Array, scale: float) -> Gradients:
    return dropped(g, keep, scale), None, None


@loop
def slope(start: int, stop: int, g: Flat, y: Flat, scale: float, dx: Flat) -> None:
    """0 where y = 0, else g · scale"""
    g, y, dx = g[start:stop], y[start:stop], dx[start:stop]
    factor = np.float32(scale)
    for i in range(stop - start):
        scaled = g[i] * factor
        dx[i] = ZERO if y[i] == ZERO else scaled


def relu_forward(needs: Needs, x: Array, keep: Array, scale: float) -> Any:
    return forward(needs, x, keep, scale, True)


def relu_backward(needs: Needs, y: Array, g: Array, x: None, keep: None, scale: float) -> Gradients:
    g, y, dx = laid(g), laid(y), np.empty(g.shape, FLOAT32)
    slope(g.size, grain(g.size, 12), g, y, scale, dx)
    return dx, None, None


KERNELS = {
    "dropout": SimpleNamespace(forward=forward, backward=backward),
    "relu_dropout": SimpleNamespace(forward=relu_forward, backward=relu_backward),
}
