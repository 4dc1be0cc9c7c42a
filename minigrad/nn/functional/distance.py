"""Distances and similarities of vectors."""

from __future__ import annotations

from ...backend import dtype as dt
from ...functions import reduction
from ...tensor import Tensor

__all__ = ["cosine_similarity", "pairwise_distance"]


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """x₁ · x₂ / (max(‖x₁‖, eps) max(‖x₂‖, eps)) along ``dim``; the operands broadcast."""
    common = dt.result_type(x1.array, x2.array)
    x1, x2 = x1.to(common), x2.to(common)
    norms = [reduction.norm(x, 2.0, dim, True).clamp_min(eps) for x in (x1, x2)]
    return ((x1 / norms[0]) * (x2 / norms[1])).sum(dim)


def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """‖x₁ - x₂ + eps‖ₚ along the last axis: (..., D), (..., D) -> (...); the operands broadcast."""
    return reduction.norm(x1 - x2 + eps, p, -1, keepdim)
