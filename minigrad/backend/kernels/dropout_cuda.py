"""x * keep * scale: see dropout.cu."""

from __future__ import annotations

from ..dtype import Array
from ..registry import xp
from . import Needs
from ._launch import contiguous, over_elements


def forward(needs: Needs, x: Array, keep: Array, scale: float) -> tuple[Array, None]:
    x = contiguous(x)
    out = xp(x).empty_like(x)
    over_elements(x, "dropout", "dropout", x, contiguous(keep, bool), out, float(scale))
    return out, None
