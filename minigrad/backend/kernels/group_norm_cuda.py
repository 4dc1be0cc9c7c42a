"""Group norm: layer norm's kernel on the rows of groups, then each channel's weight and bias."""

from __future__ import annotations

from typing import Any

from ..dtype import Array
from . import Gradients, Needs, layer_norm_cuda, wanted


def forward(
    needs: Needs, x: Array, weight: Array | None, bias: Array | None, groups: int, eps: float
) -> tuple[Array, Any]:
    normal, kept = layer_norm_cuda.forward(needs, _grouped(x, groups), None, None, eps)
    out = normal.reshape(x.shape)
    if weight is not None:
        out *= _by_channel(weight, x)
    if bias is not None:
        out += _by_channel(bias, x)
    return out, kept


def backward(
    needs: Needs, saved: Any, g: Array, x: Array, weight: Array | None, bias: Any, groups: int, eps: float
) -> Gradients:
    dx = dweight = None
    if needs[0]:
        slope = g if weight is None else g * _by_channel(weight, x)
        grouped = _grouped(slope, groups), _grouped(x, groups)
        of_rows: Any = layer_norm_cuda.backward((True, False, False, False), saved, *grouped, None, None, eps)[0]
        dx = of_rows.reshape(x.shape)
    if needs[1]:
        product = forward((), x, None, None, groups, eps)[0]
        product *= g
        dweight = _channel_sums(product)
    return wanted(needs, dx, dweight, _channel_sums(g) if needs[2] else None)


def _grouped(x: Array, groups: int) -> Array:
    """(N, C, ...) -> (N, groups, n)."""
    return x.reshape(x.shape[0], groups, x.size // max(1, x.shape[0] * groups))


def _by_channel(values: Array, x: Array) -> Array:
    """(C) -> (C, 1, ...)."""
    return values.reshape(-1, *(1,) * (x.ndim - 2))


def _channel_sums(x: Array) -> Array:
    """(N, C, ...) -> (C)."""
    return x.reshape(*x.shape[:2], x[:1, :1].size).sum(axis=2).sum(axis=0)
