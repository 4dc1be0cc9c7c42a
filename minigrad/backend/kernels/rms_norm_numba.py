"""Root-mean-square norm over the last axis: layer norm's loops without the mean."""

from __future__ import annotations

from typing import Any

from ..dtype import Array
from . import Gradients, Needs, layer_norm_numba


def forward(needs: Needs, x: Array, weight: Array | None, eps: float) -> tuple[Array, Any]:
    return layer_norm_numba.forward(needs, x, weight, None, eps, centred=False)


def backward(needs: Needs, saved: Any, g: Array, x: Array, weight: Array | None, eps: float) -> Gradients:
    dx, dweight, *_ = layer_norm_numba.backward((*needs[:2], False), saved, g, x, weight, None, eps, centred=False)
    return dx, dweight, None
