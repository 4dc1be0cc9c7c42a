"""Softmax in blocks of rows that stay in cache."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtype import Array
from ..parallel import over_rows
from .rows import as_rows, from_rows, softmax_rows


def forward(needs: tuple[bool, ...], x: Array, dim: int) -> tuple[Array, Any]:
    if x.size == 0 or x.ndim == 0:
        return np.ones_like(x), None
    rows = as_rows(x, dim)
    out = np.empty_like(rows)
    over_rows(lambda a, b: softmax_rows(rows[a:b], out[a:b]), len(rows), 2 * rows.strides[0])
    return from_rows(out, x.shape, dim), None
