"""Rows added up by index: an embedding's gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtype import Array


def forward(needs: tuple[bool, ...], x: Array, indices: Array, rows: int) -> tuple[Array, Any]:
    """Sorted by index, each run of equal indices is one sum (``np.add.at`` goes element by element)."""
    out = np.zeros((rows, x.shape[1]), x.dtype)
    if len(indices):
        order = np.argsort(indices, kind="stable")
        ordered = indices[order]
        starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
        out[ordered[starts]] = np.add.reduceat(x[order], starts, axis=0)
    return out, None
