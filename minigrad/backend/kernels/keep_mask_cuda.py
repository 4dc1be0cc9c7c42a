"""Dropout's draw on the GPU: see keep_mask.cu. Not an op's kernel, but what ``Backend.keep_mask`` calls."""

from __future__ import annotations

from typing import Any

from ..dtype import Array
from ._launch import each_element, launch


def draw(xp: Any, shape: tuple[int, ...], p: float, seed: int) -> Array:
    """A bool array of ``shape`` on the current device, each element False with probability ``p``.

    Args:
        seed: a number of 64 bits; equal seeds give equal masks, on every GPU.
    """
    keep = xp.empty(shape, bool)
    signed = (seed + 2**63) % 2**64 - 2**63
    args = (keep, signed, round(p * 2**32), keep.size)
    launch(keep, "keep_mask", "keep_mask", *each_element(-(-keep.size // 4)), args)
    return keep
