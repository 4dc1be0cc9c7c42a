"""Resampling of an axis: each new element is a weighted sum of a few old ones, its taps."""

from __future__ import annotations

from typing import Any

from ..backend import xp
from ..backend.dtype import Array
from ..backend.window import Taps
from .complex import IN_PLACE_OF
from .op import op


@op("dx = the transposed sum of g", x=lambda g, axis, taps: resample(g, axis, taps.turned))
def resample(x: Array, axis: int, taps: Taps) -> Array:
    """Σ weights x[indices] along an axis: (..., old, ...) -> (..., new, ...)"""
    m, shape = xp(x), (-1, *(1,) * (x.ndim - axis - 1))
    if taps.indices.min(initial=0) < 0:  # the last is then what stands for none
        none = m.zeros((*x.shape[:axis], 1, *x.shape[axis + 1 :]), x.dtype)
        x = m.concatenate((x, none), axis=axis)
    total: Any = None
    for i, indices in enumerate(taps.indices):
        taken = m.take(x, m.asarray(indices), axis=axis)
        if taps.weights is not None:
            taken *= m.asarray(taps.weights[i].reshape(shape), x.real.dtype)
        total = taken if total is None else total + taken
    return total


IN_PLACE_OF.update({resample: resample})
