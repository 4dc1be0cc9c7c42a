"""Root-mean-square norm over the last axis: layer norm without the mean."""

from __future__ import annotations

from ..dtype import Array
from . import Gradients, Needs, layer_norm


def forward(needs: Needs, x: Array, weight: Array | None, eps: float) -> tuple[Array, layer_norm.Kept]:
    return layer_norm.forward(needs, x, weight, None, eps, centred=False)


def backward(needs: Needs, saved: layer_norm.Kept, g: Array, x: Array, weight: Array | None, eps: float) -> Gradients:
    dx, dweight, *_ = layer_norm.backward((*needs[:2], False), saved, g, x, weight, None, eps)
    return dx, dweight, None
