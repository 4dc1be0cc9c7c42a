"""What the kernels of the root-mean-square norm share: it is layer norm without the mean."""

from __future__ import annotations

from typing import Any

from ..dtype import Array
from . import Gradients, Needs


def by(layer_norm: Any) -> tuple[Any, Any]:
    """Forward and backward by a module of layer norm."""

    def forward(needs: Needs, x: Array, weight: Array | None, eps: float) -> tuple[Array, Any]:
        result: tuple[Array, Any] = layer_norm.forward(needs, x, weight, None, eps, centred=False)
        return result

    def backward(needs: Needs, saved: Any, g: Array, x: Array, weight: Array | None, eps: float) -> Gradients:
        dx, dweight, *_ = layer_norm.backward((*needs[:2], False), saved, g, x, weight, None, eps)
        return dx, dweight, None

    return forward, backward
