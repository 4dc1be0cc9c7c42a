"""The sum of rows by index, an embedding's gradient: see scatter_add_rows.cu."""

from __future__ import annotations

from ..dtype import Array
from ..registry import xp
from . import Needs
from ._launch import WARP, contiguous, launch

_MOST_BLOCKS = 1 << 16


def forward(needs: Needs, g: Array, indices: Array, rows: int) -> tuple[Array, None]:
    m, n = xp(g), g.shape[-1]
    g, indices = contiguous(g), contiguous(indices, m.int64)
    order = m.argsort(indices)
    out = m.empty((rows, n), g.dtype)
    args = (g, indices[order], contiguous(order, m.int64), out, indices.size, rows, n)
    launch(g, "scatter_add_rows", "scatter_add_rows", (min(rows, _MOST_BLOCKS),), (WARP, 8), args)
    return out, None
