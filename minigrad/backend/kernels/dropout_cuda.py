"""x * keep * scale, and the operations beside it in the same pass: see dropout.cu."""

from __future__ import annotations

from typing import Any

from ..dtype import Array
from ..registry import xp
from . import Needs
from ._launch import NULL, contiguous, drawn, over_elements


def forward(needs: Needs, x: Array, keep: Any, scale: float) -> tuple[Array, None]:
    if keep.shape != x.shape:  # a gradient of more axes than were dropped
        return NotImplemented
    return dropped(x, keep, scale), None


def dropped(x: Array, keep: Any, scale: float, base: Array | None = None, rectify: bool = False) -> Array:
    """base + dropout(x), or that of max(x, 0), in one launch."""
    x = contiguous(x)
    out = xp(x).empty_like(x)
    added = NULL if base is None else contiguous(base)
    over_elements(x, "dropout", "dropout", x, added, out, int(rectify), *drawn(keep), float(scale))
    return out
