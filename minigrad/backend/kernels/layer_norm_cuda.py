"""Layer norm over the last axis, and RMS norm, which does not subtract the mean (see layer_norm.cu)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from ..dtype import Array
from ..registry import xp
from . import Gradients, Needs, wanted
from ._launch import NULL, address, contiguous, launch, over_rows, row_count, unset_like, wide

Kept = tuple[Array | int, Array]  # the mean of each row (not for RMS norm), and 1 / √(variance + eps)


def forward(
    needs: Needs, x: Array, weight: Array | None, bias: Array | None, eps: float, centred: bool = True
) -> tuple[Array, Kept]:
    x = contiguous(x)
    out = unset_like(x)
    mean, inverse_std = xp(x).empty((2, row_count(x)), wide(x))
    saved = mean if centred else NULL, inverse_std
    scale_and_shift = address(weight, x.dtype), address(bias, x.dtype)
    over_rows(x, "layer_norm", "layer_norm", x, *scale_and_shift, out, *saved, float(eps))
    return out, saved


def backward(
    needs: Needs, saved: Kept, g: Array, x: Array, weight: Array | None, bias: Array | None, eps: float
) -> Gradients:
    g, x = contiguous(g, x.dtype), contiguous(x)
    dx = unset_like(x)
    rows, n = row_count(x), x.shape[-1]
    sums = [xp(x).empty(n, x.dtype) if need else None for need in needs[1:3]]
    if needs[0]:
        over_rows(x, "layer_norm", "layer_norm_gradient", g, x, address(weight, x.dtype), *saved, dx)
    if any(needs[1:3]):
        _sum_columns(g, x, *saved, *map(address, sums), rows, n)
    return wanted(needs, dx, *sums)


def column_sums(g: Array) -> Array:
    """The sums of a matrix's columns."""
    out = xp(g).empty(g.shape[1], g.dtype)
    _sum_columns(contiguous(g), NULL, NULL, NULL, NULL, out, *g.shape)
    return out


def _sum_columns(g: Array, *args: Any) -> None:
    launch(g, "layer_norm", "layer_norm_parameter_gradients", (-(-args[-1] // 16),), (16, 64), (g, *args))


def rms_forward(needs: Needs, x: Array, weight: Array | None, eps: float) -> tuple[Array, Any]:
    return forward(needs, x, weight, None, eps, False)


def rms_backward(needs: Needs, saved: Any, g: Array, x: Array, weight: Array | None, eps: float) -> Gradients:
    return *backward((*needs[:2], False), saved, g, x, weight, None, eps)[:2], None


KERNELS = {
    "layer_norm": SimpleNamespace(forward=forward, backward=backward),
    "rms_norm": SimpleNamespace(forward=rms_forward, backward=rms_backward),
}
