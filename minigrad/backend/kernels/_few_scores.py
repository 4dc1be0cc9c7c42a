"""Attention with few scores and no gradient, as where one token is decoded: one block, one thread, few calls.

Blocks, threads and what a gradient keeps cost more here than the attention itself.
"""

from __future__ import annotations

import numpy as np

from ..dtype import Array
from ._rows import exp_rows

MOST = 1 << 15  # scores: above this two threads are faster


def forward(query: Array, key: Array, value: Array, mask: Array | None, scale: float) -> Array:
    """softmax(scale · q kᵀ + mask) v; (B, H, T, D), (B, H, S, D), (B, H, S, Dv) -> (B, H, T, Dv)."""
    batch, heads, length, _ = query.shape
    q, k = query * query.dtype.type(scale), key.swapaxes(-1, -2)
    scores = np.empty((batch, heads, length, k.shape[-1]), query.dtype)

    def fill() -> None:
        np.matmul(q, k, out=scores)
        if mask is not None and mask.dtype.kind == "b":
            np.copyto(scores, -np.inf, where=~mask)
        elif mask is not None:
            np.add(scores, mask, out=scores)

    fill()
    total, _ = exp_rows(scores, fill)
    # (B, T, H, Dv) in memory, as the layer that follows wants it; the result shows it as (B, H, T, Dv)
    out = np.empty((batch, length, heads, value.shape[-1]), query.dtype).transpose(0, 2, 1, 3)
    np.matmul(scores, value, out=out)
    out /= total[..., None]
    return out
