"""Linear and bilinear maps, tables of vectors."""

from __future__ import annotations

from ...autograd.tape import apply
from ...functions.creation import arange
from ...functions.linalg import einsum
from ...ops import indexing as index_ops
from ...ops import linear as linear_ops
from ...tensor import Tensor
from ._checks import same_dtype


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input Wᵀ + b: input (..., in), weight (out, in), bias (out) -> (..., out).

    Raises:
        RuntimeError: shapes or dtypes that do not go together.
    """
    if input.array.dtype != weight.array.dtype:
        same_dtype("linear", input, weight=weight)
    return apply(linear_ops.linear, (input, weight, bias))


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x₁ᵀ Wₖ x₂ + bₖ: input1 (..., in1), input2 (..., in2), weight (out, in1, in2) -> (..., out)."""
    same_dtype("bilinear", input1, input2=input2, weight=weight)
    if input1.shape[:-1] != input2.shape[:-1] or (*input1.shape[-1:], *input2.shape[-1:]) != weight.shape[1:]:
        raise RuntimeError(
            f"bilinear: inputs of shapes {tuple(input1.shape)} and {tuple(input2.shape)} do not fit the "
            f"weight (out, in1, in2) = {tuple(weight.shape)}: their leading axes must be equal, their last "
            "ones in1 and in2"
        )
    out = einsum("...i,kij,...j->...k", input1, weight, input2)
    return out if bias is None else out + bias


def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: float | None = None,
              norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False
              ) -> Tensor:  # fmt: skip
    """Rows of ``weight`` (V, D) by index: input (...) of integers -> (..., D).

    Args:
        padding_idx: a row that gets no gradient.
        sparse: taken and without effect: gradients are dense.

    Raises:
        RuntimeError: indices that are no integers. IndexError: an index outside 0 .. V - 1 (checked on the
            CPU).
        NotImplementedError: ``max_norm`` or ``scale_grad_by_freq``.
    """
    if max_norm is not None or scale_grad_by_freq:
        raise NotImplementedError(
            "embedding: max_norm and scale_grad_by_freq are not provided: scale the weight yourself"
        )
    if input.array.dtype.kind not in "iu":
        raise RuntimeError(
            f"embedding: expected indices of an integer dtype, but got {input.dtype}: use .long()"
        )
    rows = weight.array.shape[0]
    if padding_idx is not None:
        if not -rows <= padding_idx < rows:
            raise AssertionError(f"Padding_idx must be within num_embeddings ({rows}), not {padding_idx}")
        padding_idx %= rows
    index_ops.check_indices(input.array, rows, "embedding")
    return apply(index_ops.embedding, (weight, input, padding_idx))


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Integers (...) as vectors of 0 and one 1, (..., num_classes) int64; -1 takes the largest plus 1."""
    if tensor.array.dtype.kind not in "iu":
        raise RuntimeError(
            f"one_hot is only applicable to index tensors of type long, not {tensor.dtype}: use .long()"
        )
    if num_classes < 0:
        if tensor.numel() == 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor: pass num_classes")
        num_classes = int(tensor.max().item()) + 1
    index_ops.check_indices(tensor.array, num_classes, "one_hot")
    out: Tensor = (tensor.unsqueeze(-1) == arange(num_classes, device=tensor.device)).long()
    return out
