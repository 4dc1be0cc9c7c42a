"""Rotary positions in one pass: see rotate.cu."""

from __future__ import annotations

from ..dtype import Array, kind_of
from ..registry import xp
from . import Needs
from ._launch import contiguous, each_element, launch, strided, wide


def forward(needs: Needs, x: Array, turns: Array, back: bool) -> tuple[Array, None]:
    """The result lies in memory as x does: of heads that were split off a row, in the order of the rows."""
    pairs = x.shape[-1] // 2
    if x.ndim > 4 or kind_of(x) != "f" or x.shape[-1] % 2 or turns.shape != (x.shape[-2], pairs, 2):
        return NotImplemented
    inputs = strided((contiguous(x) if 0 in x.strides else x)[(None,) * (4 - x.ndim)])
    out = xp(x).empty_like(inputs[0])
    sizes = out.shape[1], out.shape[2], pairs, out.size // 2
    args = (*inputs, contiguous(turns, wide(x)), *strided(out), int(back), *sizes)
    launch(x, "rotate", "rotate", *each_element(out.size // 2), args)
    return out.reshape(x.shape), None
