"""Dropout by a mask that was drawn before, in blocks."""

from __future__ import annotations

import numpy as np

from ..dtype import Array
from ..parallel import over_rows
from . import Needs


def forward(needs: Needs, x: Array, keep: Array, scale: float) -> tuple[Array, None]:
    flat, mask = np.ascontiguousarray(x).reshape(-1), np.ascontiguousarray(keep).reshape(-1)
    out = np.empty_like(flat)

    def work(a: int, b: int) -> None:
        np.multiply(flat[a:b], mask[a:b], out=out[a:b])
        np.multiply(out[a:b], out.dtype.type(scale), out=out[a:b])

    over_rows(work, flat.size, 2 * flat.itemsize)
    return out.reshape(x.shape), None
