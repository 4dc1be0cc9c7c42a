"""Linear and bilinear maps."""

from __future__ import annotations

from ...autograd.calls import apply
from ...functions.linalg import einsum
from ...ops import linear as ops
from ...tensor import Tensor
from ._checks import same_dtype

__all__ = ["bilinear", "linear"]


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
