"""x * keep * scale, and ReLU before it in the same pass: see dropout.cu."""

from __future__ import annotations

from typing import Any

from ..dtype import Array
from . import Needs
from ._launch import contiguous, drawn, over_elements, unset_like


def forward(needs: Needs, x: Array, keep: Any, scale: float) -> tuple[Array, None]:
    if keep.shape != x.shape:  # whole channels are dropped
        return NotImplemented
    return dropped(x, keep, scale), None


def dropped(x: Array, keep: Any, scale: float, rectify: bool = False) -> Array:
    """dropout(x) or dropout(max(x, 0)), in one launch."""
    x = contiguous(x)
    out = unset_like(x)
    over_elements(x, "dropout", "dropout", x, out, int(rectify), *drawn(keep), float(scale))
    return out
