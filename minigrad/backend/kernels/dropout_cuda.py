"""x * keep * scale, and ReLU before it in the same pass: see dropout.cu."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from ..dtype import Array, kind_of
from . import Gradients, Needs
from ._launch import contiguous, drawn, over_elements, unset_like


def forward(needs: Needs, x: Array, keep: Any, scale: float) -> tuple[Array, None]:
    if keep.shape != x.shape:  # whole channels are dropped
        return NotImplemented
    return _dropped(x, keep, scale, 0), None


def _dropped(x: Array, keep: Any, scale: float, rectify: int) -> Array:
    """dropout(x) or dropout(max(x, 0)), in one launch."""
    x = contiguous(x)
    out = unset_like(x)
    over_elements(x, "dropout", "dropout", x, out, rectify, *drawn(keep), float(scale))
    return out


def relu_forward(needs: Needs, x: Array, keep: Any = None, scale: float = 1.0) -> tuple[Array, Array]:
    if kind_of(x) != "f":
        return NotImplemented
    out = _dropped(x, keep, scale, 1)
    return out, out


def relu_backward(needs: Needs, y: Array, g: Array, x: None, keep: None = None, scale: float = 1.0) -> Gradients:
    g = contiguous(g)
    dx = unset_like(g)
    over_elements(g, "dropout", "rectified_gradient", g, y, dx, float(scale))
    return dx, *(None for _ in needs[1:])


_RELU = SimpleNamespace(forward=relu_forward, backward=relu_backward)
KERNELS = {"dropout": SimpleNamespace(forward=forward), "relu": _RELU, "relu_dropout": _RELU}
