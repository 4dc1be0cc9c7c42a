"""Dropout. The draw is an argument: the same mask gives the same result, in every order."""

from __future__ import annotations

from ..backend import xp
from ..backend.dtype import Array
from ..backend.random import Draw
from .elementwise import only, relu
from .op import op


@op("dx = g · keep · scale", x=lambda g, keep, scale: dropout(g, keep, scale))
def dropout(x: Array, keep: Array, scale: float) -> Array:
    """x · scale where ``keep`` is True, elsewhere 0 with the sign of x; scale = 1/(1 - p) (Srivastava et al. 2014)"""
    m, kept = xp(x), keep.array() if isinstance(keep, Draw) else keep
    zero = x.dtype.type(0) if x.dtype.kind == "c" else m.copysign(x.dtype.type(0), x)
    return m.where(kept, x * x.dtype.type(scale), zero)


@op("dx = 0 where y = 0, else g · scale", x=lambda g, out, scale: only(g, out != 0) * scale)
def relu_dropout(x: Array, keep: Array, scale: float) -> Array:
    """dropout(max(x, 0)): its gradient needs neither the mask nor what was dropped"""
    return dropout(relu(x), keep, scale)
