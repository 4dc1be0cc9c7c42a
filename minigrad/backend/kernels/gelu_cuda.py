"""gelu, exact or by tanh: see gelu.cu."""

from __future__ import annotations

from ..dtype import Array
from . import Gradients, Needs
from ._launch import contiguous, over_elements, unset_like


def forward(needs: Needs, x: Array, approximate: str) -> tuple[Array, None]:
    x = contiguous(x)
    out = unset_like(x)
    over_elements(x, "gelu", "gelu", x, out, int(approximate == "tanh"))
    return out, None


def backward(needs: Needs, saved: None, g: Array, x: Array, approximate: str) -> Gradients:
    x = contiguous(x)
    dx = unset_like(x)
    over_elements(x, "gelu", "gelu_gradient", contiguous(g), x, dx, int(approximate == "tanh"))
    return dx, None
