"""Distances between vectors."""

from __future__ import annotations

from ...backend import dtype as dt
from ...functions.arguments import common_shape, rounded_once
from ...functions.reduction import norm
from ...tensor import Tensor

__all__ = ["cosine_similarity", "pairwise_distance"]


@rounded_once
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """x₁ · x₂ / (max(‖x₁‖, eps) max(‖x₂‖, eps)) along ``dim``; the operands broadcast."""
    common = dt.result_type(x1.array, x2.array)
    x1, x2 = x1.to(common), x2.to(common)
    if x1.array.shape != x2.array.shape:
        shape = common_shape(x1.array.shape, x2.array.shape)
        x1, x2 = x1.expand(shape), x2.expand(shape)
    lengths = [norm(x, 2.0, dim, True).clamp_min(eps) for x in (x1, x2)]
    return ((x1 / lengths[0]) * (x2 / lengths[1])).sum(dim)


def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """‖x₁ - x₂ + eps‖ₚ along the last axis: (..., D), (..., D) -> (...); the operands broadcast."""
    return norm(x1 - x2 + eps, p, -1, keepdim)
