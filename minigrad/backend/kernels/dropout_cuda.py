"""x * keep * scale: see dropout.cu."""

from __future__ import annotations

from ..dtype import Array
from ..registry import xp
from ._launch import contiguous, each_element, launch


def forward(needs: tuple[bool, ...], x: Array, keep: Array, scale: float) -> tuple[Array, None]:
    x = contiguous(x)
    out = xp(x).empty_like(x)
    args = (x, contiguous(keep, bool), out, float(scale), x.size)
    launch(x, "dropout", "dropout", *each_element(x.size), args)
    return out, None
