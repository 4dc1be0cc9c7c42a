"""max(x, 0), and dropout behind it: see dropout.cu."""

from __future__ import annotations

from typing import Any

from ..dtype import Array, kind_of
from . import Gradients, Needs
from ._launch import contiguous, over_elements, unset_like
from .dropout_cuda import dropped


def forward(needs: Needs, x: Array, keep: Any = None, scale: float = 1.0) -> tuple[Array, Array]:
    if kind_of(x) != "f":
        return NotImplemented
    out = dropped(x, keep, scale, rectify=True)
    return out, out


def backward(needs: Needs, y: Array, g: Array, x: None, keep: None = None, scale: float = 1.0) -> Gradients:
    g = contiguous(g)
    dx = unset_like(g)
    over_elements(g, "dropout", "rectified_gradient", g, y, dx, float(scale))
    return dx, *(None for _ in needs[1:])
