"""Dropout by a mask that was drawn before, in one pass."""

from __future__ import annotations

import numpy as np

from ..compiled.loops import FLOAT32, Flags, Flat, fits, grain, in_memory_order, laid, loop
from ..dtype import Array
from . import Gradients, Needs


@loop
def masked(start: int, stop: int, x: Flat, keep: Flags, scale: float, out: Flat) -> None:
    """x · scale where it is kept, else 0 with the sign of x"""
    x, keep, out = x[start:stop], keep[start:stop], out[start:stop]
    factor = np.float32(scale)
    for i in range(stop - start):
        scaled = x[i] * factor
        out[i] = scaled if keep[i] else np.copysign(np.float32(0.0), x[i])


def _masked(x: Array, keep: Array, scale: float) -> Array:
    x, out = laid(x), np.empty(x.shape, FLOAT32)
    masked(x.size, grain(x.size, 9), x, np.ascontiguousarray(keep), scale, out)
    return out


def takes(x: Array, keep: Array) -> bool:
    """Whether the loops take these."""
    return fits(x) and keep.dtype == np.bool_ and keep.shape == x.shape


@in_memory_order
def forward(needs: Needs, x: Array, keep: Array, scale: float) -> tuple[Array, None]:
    if not takes(x, keep):
        return NotImplemented
    return _masked(x, keep, scale), None


def backward(needs: Needs, saved: None, g: Array, x: None, keep: Array, scale: float) -> Gradients:
    return _masked(g, keep, scale), None, None
