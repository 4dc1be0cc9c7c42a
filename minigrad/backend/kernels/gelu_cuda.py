"""gelu, exact or by tanh: see gelu.cu."""

from __future__ import annotations

from ..dtype import Array
from ..registry import xp
from ._launch import contiguous, each_element, launch

_NAMES = {"none": "gelu", "tanh": "gelu_tanh"}


def forward(needs: tuple[bool, ...], x: Array, approximate: str) -> tuple[Array, None]:
    x = contiguous(x)
    out = xp(x).empty_like(x)
    launch(x, "gelu", _NAMES[approximate], *each_element(x.size), (x, out, x.size))
    return out, None


def backward(needs: tuple[bool, ...], saved: None, g: Array, x: Array, approximate: str) -> tuple[Array | None, None]:
    x = contiguous(x)
    dx = xp(x).empty_like(x)
    args = (contiguous(g), x, dx, x.size)
    launch(x, "gelu", f"{_NAMES[approximate]}_gradient", *each_element(x.size), args)
    return dx, None
