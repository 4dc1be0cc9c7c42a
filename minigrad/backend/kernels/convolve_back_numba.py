"""The transposed convolution: a convolution's gradient (convolve_numba.py), whose gradients are convolutions."""

from __future__ import annotations

from typing import Any

from ..dtype import Array
from ..window import Ints, Window
from . import Gradients, Needs, wanted
from .convolve_numba import apply, apply_back, apply_weight, takes


def forward(needs: Needs, y: Array, weight: Array, window: Window, groups: int, lengths: Ints) -> tuple[Array, None]:
    return (apply_back(y, weight, window, groups, lengths), None) if takes(window, y, weight) else NotImplemented


def backward(needs: Needs, saved: None, g: Array, *args: Any) -> Gradients:
    y, weight, window, groups, _ = args
    dy = apply(g, weight, None, window, groups) if needs[0] else None
    return wanted(needs, dy, apply_weight(g, y, window, groups) if needs[1] else None)
