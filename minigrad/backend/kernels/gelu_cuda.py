"""gelu, exact or by tanh: see gelu.cu."""

from __future__ import annotations

from ..dtype import Array
from ..registry import xp
from . import Gradients, Needs
from ._launch import contiguous, over_elements

_NAMES = {"none": "gelu", "tanh": "gelu_tanh"}


def forward(needs: Needs, x: Array, approximate: str) -> tuple[Array, None]:
    x = contiguous(x)
    out = xp(x).empty_like(x)
    over_elements(x, "gelu", _NAMES[approximate], x, out)
    return out, None


def backward(needs: Needs, saved: None, g: Array, x: Array, approximate: str) -> Gradients:
    x = contiguous(x)
    dx = xp(x).empty_like(x)
    over_elements(x, "gelu", f"{_NAMES[approximate]}_gradient", contiguous(g), x, dx)
    return dx, None
