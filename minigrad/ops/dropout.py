"""Dropout. The draw is an argument: the same mask gives the same result, in every order."""

from __future__ import annotations

from ..backend.dtype import Array
from .elementwise import relu
from .op import op


@op("dx = g · keep · scale", x=lambda g, keep, scale: dropout(g, keep, scale))
def dropout(x: Array, keep: Array, scale: float) -> Array:
    """x · scale where ``keep`` is True, 0 elsewhere; scale = 1/(1 - p) (Srivastava et al. 2014)"""
    return x * (keep * x.dtype.type(scale))


@op("dx = g · scale where y > 0, else 0", x=lambda g, out, scale: g * (out > 0) * scale)
def relu_dropout(x: Array, keep: Array, scale: float) -> Array:
    """dropout(max(x, 0)): its gradient needs neither the mask nor what was dropped"""
    return dropout(relu(x), keep, scale)
