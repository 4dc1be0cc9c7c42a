"""Root-mean-square norm over the last axis: layer norm without the mean."""

from __future__ import annotations

from ..dtype import Array
from . import Gradients, Needs, layer_norm_cuda


def forward(needs: Needs, x: Array, weight: Array | None, eps: float) -> tuple[Array, layer_norm_cuda.Kept]:
    return layer_norm_cuda.forward(needs, x, weight, None, eps, centred=False)


def backward(
    needs: Needs, saved: layer_norm_cuda.Kept, g: Array, x: Array, weight: Array | None, eps: float
) -> Gradients:
    return layer_norm_cuda.backward((*needs[:2], False), saved, g, x, weight, None, eps)
