"""The sums of rows by index, an embedding's gradient (see scatter_add_rows.cu)."""

from __future__ import annotations

from ..dtype import Array
from ..registry import xp
from . import Needs
from ._launch import WARP, contiguous, launch, wide

_WARPS = 8  # warps in a block


def forward(needs: Needs, g: Array, indices: Array, rows: int) -> tuple[Array, None]:
    m, n, count = xp(g), g.shape[-1], indices.size
    g, index = contiguous(g), contiguous(indices, m.int64)
    order = contiguous(m.argsort(index), m.int64)
    warps, stripes = -(-count // WARP), -(-n // WARP)
    out, parts = m.empty((rows, n), g.dtype), m.empty((2 * warps, n), wide(g))

    def run(name: str, many: int, *args: Array) -> None:
        grid = -(-many // _WARPS), stripes
        launch(g, "scatter_add_rows", name, grid, (WARP, _WARPS), (*args, count, rows, n))

    run("scatter_add_rows", warps, g, index, order, out, parts)
    run("scatter_add_rows_across", rows, index, order, parts, out)
    return out, None
