"""Normalisation over the last axis."""

from __future__ import annotations

from ..backend.dtype import Array
from .elementwise import rsqrt
from .op import op
from .reduction import mean


@op(kernel="layer_norm")
def layer_norm(x: Array, weight: Array = None, bias: Array = None, eps: float = 1e-5) -> Array:
    """(x - mean) / √(variance + eps) · weight + bias over the last axis (Ba et al. 2016)"""
    centred = x - mean(x, -1, True)
    out = centred * rsqrt(mean(centred * centred, -1, True) + eps)
    out = out if weight is None else out * weight
    return out if bias is None else out + bias


layer_norm.gradient(x=None, weight=None, bias=None)


@op(kernel="rms_norm")
def rms_norm(x: Array, weight: Array = None, eps: float = 1e-6) -> Array:
    """x / √(mean of x² + eps) · weight over the last axis (Zhang and Sennrich 2019)"""
    out = x * rsqrt(mean(x * x, -1, True) + eps)
    return out if weight is None else out * weight


rms_norm.gradient(x=None, weight=None)
