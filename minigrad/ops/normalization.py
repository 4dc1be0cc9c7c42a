"""Normalization over the last axis or groups of channels. x̂ is the normalized input, before the weight and bias.

Ops convert 16-bit inputs to float32, as the square of 256 already exceeds float16's largest number.
"""

from __future__ import annotations

import numpy as np

from ..backend.dtype import Array
from .elementwise import abs, isfinite, isinf, rsqrt, where, wide
from .op import bare, op
from .reduction import amax, mean, sum as sum_over
from .shape import reshape


@op(
    "dx = (gw − mean(gw) − x̂ mean(gw x̂)) / √(variance + eps); dw = Σ g x̂; db = Σ g",
    x=lambda g, x, weight, eps: _standardize_grad(g if weight is None else g * weight, x, eps),
    weight=lambda g, x, eps: g * _standardize(x, eps)[0],
    bias=lambda g: g,
)
def layer_norm(x: Array, weight: Array = None, bias: Array = None, eps: float = 1e-5) -> Array:
    """(x - mean) / √(variance + eps) · weight + bias over the last axis (Ba et al. 2016)"""
    out = _standardize(x, eps)[0]
    out = out if weight is None else out * weight
    return (out if bias is None else out + bias).astype(x.dtype, copy=False)


def _standardize(x: Array, eps: float) -> tuple[Array, Array]:
    """x̂ (with mean 0 and variance 1), and 1 / √(variance + eps)."""
    x = wide(x)
    centred = x - mean(x, -1, True)
    scale = _inverse_rms(centred, eps)
    return centred * scale, scale


def _standardize_grad(g: Array, x: Array, eps: float) -> Array:
    """The gradient for x, given the gradient g for x̂: g without its mean and its component along x̂."""
    normal, scale = _standardize(x, eps)
    return scale * (g - mean(g, -1, True) - normal * mean(g * normal, -1, True))


@op(
    "dx = (gw − mean(gw) − x̂ mean(gw x̂)) / √(variance + eps); dw = Σ g x̂; db = Σ g",
    x=lambda g, x, weight, groups, eps: reshape(
        _standardize_grad(
            _grouped(g if weight is None else g * by_channel(weight, x), groups), _grouped(x, groups), eps
        ),
        x.shape,
    ),
    weight=lambda g, x, groups, eps: _channel_sums(g * reshape(_standardize(_grouped(x, groups), eps)[0], x.shape)),
    bias=lambda g: _channel_sums(g),
)
def group_norm(x: Array, weight: Array = None, bias: Array = None, groups: int = 1, eps: float = 1e-5) -> Array:
    """(x - mean) / √(variance + eps) · weight + bias over each group of channels of (N, C, ...) (Wu and He 2018)"""
    out = reshape(layer_norm(_grouped(x, groups), None, None, eps), x.shape)
    out = out if weight is None else out * by_channel(weight, x)
    return out if bias is None else out + by_channel(bias, x)


def _grouped(x: Array, groups: int) -> Array:
    """Reshape (N, C, ...) to (N, groups, n)."""
    return reshape(x, (x.shape[0], groups, bare(x).size // max(1, x.shape[0] * groups)))


def by_channel(values: Array, x: Array) -> Array:
    """Reshape (C) to (C, 1, ...), which broadcasts to (N, C, ...)."""
    return reshape(values, (-1, *(1,) * (len(x.shape) - 2)))


def _channel_sums(x: Array) -> Array:
    return sum_over(x, (0, *range(2, len(x.shape))), False)


def _inverse_rms(x: Array, eps: float) -> Array:
    """1 / √(mean of x² + eps). If the squares overflow, x is first divided by its largest element."""
    x = wide(x)
    squares = mean(x * x, -1, True)
    overflow = isinf(bare(squares))
    if type(overflow) is not np.ndarray or not overflow.any():  # a GPU would have to wait; its kernels do this check
        return rsqrt(squares + eps)
    top = amax(abs(bare(x)), -1, True)
    top = where(overflow & isfinite(top), top, 1.0)
    return rsqrt(mean((x / top) * (x / top), -1, True) + eps / top / top) / top


def _rms_grad(g: Array, x: Array, weight: Array, eps: float) -> Array:
    scale = _inverse_rms(x, eps)
    normal, grad = x * scale, g if weight is None else g * weight
    return scale * (grad - normal * mean(grad * normal, -1, True))


@op(
    "dx = (gw − x̂ mean(gw x̂)) / √(mean(x²) + eps); dw = Σ g x̂",
    x=_rms_grad,
    weight=lambda g, x, eps: g * (x * _inverse_rms(x, eps)),
    holomorphic=True,
)
def rms_norm(x: Array, weight: Array = None, eps: float = 1e-6) -> Array:
    """x / √(mean of x² + eps) · weight over the last axis (Zhang and Sennrich 2019)"""
    out = x * _inverse_rms(x, eps)
    return (out if weight is None else out * weight).astype(x.dtype, copy=False)
