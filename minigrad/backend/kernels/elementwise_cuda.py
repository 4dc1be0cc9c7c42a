"""Elementwise functions: dropout (optionally after ReLU in the same pass), GELU, rotary position embeddings."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from ..dtype import Array, kind_of
from ..registry import xp
from . import Gradients, Needs
from ._launch import contiguous, drawn, each_element, launch, over_elements, strided, unset_like, wide


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


def gelu_forward(needs: Needs, x: Array, approximate: str) -> tuple[Array, None]:
    x = contiguous(x)
    out = unset_like(x)
    over_elements(x, "gelu", "gelu", x, out, int(approximate == "tanh"))
    return out, None


def gelu_backward(needs: Needs, saved: None, g: Array, x: Array, approximate: str) -> Gradients:
    x = contiguous(x)
    dx = unset_like(x)
    over_elements(x, "gelu", "gelu_gradient", contiguous(g), x, dx, int(approximate == "tanh"))
    return dx, None


def rotate_forward(needs: Needs, x: Array, turns: Array, back: bool) -> tuple[Array, None]:
    """Rotate x, with a result in the memory layout of x (for heads split from rows, the order of the rows)."""
    pairs = x.shape[-1] // 2
    if x.ndim > 4 or kind_of(x) != "f" or x.shape[-1] % 2 or turns.shape != (x.shape[-2], pairs, 2):
        return NotImplemented
    inputs = strided((contiguous(x) if 0 in x.strides else x)[(None,) * (4 - x.ndim)])
    out = xp(x).empty_like(inputs[0])
    sizes = out.shape[1], out.shape[2], pairs, out.size // 2
    args = (*inputs, contiguous(turns, wide(x)), *strided(out), int(back), *sizes)
    launch(x, "rotate", "rotate", *each_element(out.size // 2), args)
    return out.reshape(x.shape), None


_RELU = SimpleNamespace(forward=relu_forward, backward=relu_backward)
KERNELS = {
    "dropout": SimpleNamespace(forward=forward),
    "gelu": SimpleNamespace(forward=gelu_forward, backward=gelu_backward),
    "relu": _RELU,
    "relu_dropout": _RELU,
    "rotate": SimpleNamespace(forward=rotate_forward),
}
