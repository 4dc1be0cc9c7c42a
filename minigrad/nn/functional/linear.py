"""Linear and bilinear maps, and distances between vectors."""

from __future__ import annotations

from ...backend import dtype as dt
from ...functions.arguments import common_shape, rounded_once
from ...functions.linalg import einsum
from ...functions.reduction import norm
from ...ops import linear as ops
from ...tensor import Tensor, apply
from ._checks import same_dtype

__all__ = ["bilinear", "cosine_similarity", "linear", "pairwise_distance"]


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input Wᵀ + b: input (..., in), weight (out, in), bias (out) -> (..., out); weight (in), bias () -> (...). Raises
    RuntimeError: shapes or dtypes do not fit; TypeError: the input is not a tensor.

    >>> F.linear(mg.ones(1, 2), mg.tensor([[1.0, 2.0]]), mg.tensor([0.5]))
    tensor([[3.5000]])
    """
    if input.array.dtype != weight.array.dtype:
        same_dtype("linear", input, weight=weight)
    if weight.array.ndim == 1:
        out = input.matmul(weight)
        return out if bias is None else out + bias
    return apply(ops.linear, (input, weight, bias))


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x₁ᵀ Wₖ x₂ + bₖ: input1 (..., in1), input2 (..., in2), weight (out, in1, in2) -> (..., out)."""
    same_dtype("bilinear", input1, input2=input2, weight=weight)
    if input1.shape[:-1] != input2.shape[:-1] or (*input1.shape[-1:], *input2.shape[-1:]) != weight.shape[1:]:
        shapes = f"{tuple(input1.shape)} and {tuple(input2.shape)} do not fit the weight {tuple(weight.shape)}"
        remedy = "their leading axes must be equal, their last ones in1 and in2 of a weight (out, in1, in2)"
        raise RuntimeError(f"bilinear: inputs of shapes {shapes}: {remedy}")
    out = einsum("...i,kij,...j->...k", input1, weight, input2)
    return out if bias is None else out + bias


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
