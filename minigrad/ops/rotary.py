"""Rotary positions: pairs of numbers turned by angles."""

from __future__ import annotations

from typing import Any

from ..backend import xp
from ..backend.dtype import Array
from .op import op


@op("dx = g turned by −θ", x=lambda g, turns, back: rotate(g, turns, not back))
def rotate(x: Array, turns: Array, back: bool = False) -> Array:
    """Numbers 2i and 2i+1 of each row turned, (a + bi) · e^(iθ) (Su et al. 2021, equation 15)

    x (..., T, D); ``turns`` (T, D/2, 2) has cos θ and sin θ. ``back``: by -θ.
    """
    phases = _as_complex(turns, x)[..., 0]
    pairs = _as_complex(x, x)
    out = pairs * (phases.conj() if back else phases)  # as complex numbers: one pass over memory, not six
    return out.view(out.real.dtype).astype(x.dtype, copy=False)


def _as_complex(x: Array, like: Array) -> Any:
    """(..., D) -> (..., D/2): complex128 for float64, complex64 for all others."""
    m = xp(x)
    x = x.astype("float64" if like.dtype.name == "float64" else "float32", copy=False)
    if x.strides[-1] != x.itemsize or not x.size:
        x = m.ascontiguousarray(x)
    return x.view("complex128" if x.itemsize == 8 else "complex64")
