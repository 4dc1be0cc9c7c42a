"""Normalisation over the last axis. x̂ stands for the normalised input, before weight and bias.

float16 is computed in float32: a square of 256 is beyond its largest number.
"""

from __future__ import annotations

import numpy as np

from ..backend.dtype import Array
from .elementwise import cast, rsqrt
from .op import bare, op
from .reduction import mean


@op(
    "dx = (gw − mean(gw) − x̂ mean(gw x̂)) / √(variance + eps); dw = Σ g x̂; db = Σ g",
    x=lambda g, x, weight, eps: _standardize_slope(g if weight is None else g * weight, x, eps),
    weight=lambda g, x, eps: g * _standardize(x, eps)[0],
    bias=lambda g: g,
)
def layer_norm(x: Array, weight: Array = None, bias: Array = None, eps: float = 1e-5) -> Array:
    """(x - mean) / √(variance + eps) · weight + bias over the last axis (Ba et al. 2016)"""
    out = _standardize(x, eps)[0]
    out = out if weight is None else out * weight
    return (out if bias is None else out + bias).astype(x.dtype, copy=False)


def wide(x: Array) -> Array:
    """float16 as float32; anything else as it is."""
    return cast(x, np.float32) if bare(x).dtype == np.float16 else x


def _standardize(x: Array, eps: float) -> tuple[Array, Array]:
    """x̂, of mean 0 and variance 1, and 1 / √(variance + eps)."""
    x = wide(x)
    centred = x - mean(x, -1, True)
    scale = rsqrt(mean(centred * centred, -1, True) + eps)
    return centred * scale, scale


def _standardize_slope(g: Array, x: Array, eps: float) -> Array:
    """The gradient of x for the gradient g of x̂: what is left of g without its mean and its part along x̂."""
    normal, scale = _standardize(x, eps)
    return scale * (g - mean(g, -1, True) - normal * mean(g * normal, -1, True))


@op(
    "dx = (gw − x̂ mean(gw x̂)) / √(mean(x²) + eps); dw = Σ g x̂",
    x=lambda g, x, weight, eps: _rms_slope(g if weight is None else g * weight, x, _inverse_rms(x, eps)),
    weight=lambda g, x, eps: g * (x * _inverse_rms(x, eps)),
    holomorphic=True,
)
def rms_norm(x: Array, weight: Array = None, eps: float = 1e-6) -> Array:
    """x / √(mean of x² + eps) · weight over the last axis (Zhang and Sennrich 2019)"""
    out = x * _inverse_rms(x, eps)
    return (out if weight is None else out * weight).astype(x.dtype, copy=False)


def _inverse_rms(x: Array, eps: float) -> Array:
    x = wide(x)
    return rsqrt(mean(x * x, -1, True) + eps)


def _rms_slope(g: Array, x: Array, scale: Array) -> Array:
    normal = x * scale
    return scale * (g - normal * mean(g * normal, -1, True))
