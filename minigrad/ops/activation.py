"""Activations with a kernel of their own."""

from __future__ import annotations

import math

from ..backend.dtype import Array
from .elementwise import erf, tanh
from .op import op


@op(promote="float", kernel="gelu")
def gelu(x: Array, approximate: str = "none") -> Array:
    """x Φ(x), Φ the normal distribution function (Hendrycks and Gimpel 2016), exact or by its tanh formula"""
    if approximate == "tanh":
        return 0.5 * x * (1 + tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * (x * x * x))))
    return 0.5 * x * (1 + erf(x * math.sqrt(0.5)))


gelu.gradient(x=None)
