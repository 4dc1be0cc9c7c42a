"""Linear and bilinear maps, tables of vectors."""

from __future__ import annotations

from ...autograd import no_grad
from ...autograd.calls import apply
from ...functions.creation import arange
from ...functions.indexing import unique
from ...functions.linalg import einsum
from ...functions.pointwise import where
from ...functions.reduction import norm
from ...ops import indexing as index_ops
from ...ops import linear as linear_ops
from ...tensor import Tensor
from ._checks import same_dtype


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input Wᵀ + b: input (..., in), weight (out, in), bias (out) -> (..., out).

    Raises:
        RuntimeError: shapes or dtypes that do not go together. TypeError: the input is no tensor.
    """
    if not isinstance(input, Tensor):
        raise TypeError(f"linear(): argument 'input' must be Tensor, not {type(input).__name__}")
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


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Rows of ``weight`` (V, D) by index: input (...) of integers -> (..., D).

    Args:
        padding_idx: a row that gets no gradient.
        max_norm: rows that are looked up are first scaled down, in place, to a norm (of ``norm_type``) of at
            most this.
        scale_grad_by_freq: the gradient of a row is divided by how often it is looked up here.
        sparse: taken and without effect: gradients are dense.

    Raises:
        RuntimeError: indices that are no integers. IndexError: an index outside 0 .. V - 1 (checked on the
            CPU).
    """
    if not isinstance(input, Tensor):
        raise TypeError(f"embedding(): argument 'input' must be Tensor, not {type(input).__name__}")
    if input.array.dtype.kind not in "iu":
        raise RuntimeError(f"embedding: expected indices of an integer dtype, but got {input.dtype}: use .long()")
    rows = weight.array.shape[0]
    if padding_idx is not None:
        if not -rows <= padding_idx < rows:
            raise AssertionError(f"Padding_idx must be within num_embeddings ({rows}), not {padding_idx}")
        padding_idx %= rows
    index_ops.check_indices(input.array, rows, "embedding")
    if max_norm is not None:
        _renormed(weight, input, max_norm, norm_type)
    out: Tensor = apply(index_ops.embedding, (weight, input, padding_idx))
    if scale_grad_by_freq and out.requires_grad:
        _, which, counts = unique(input, return_inverse=True, return_counts=True)
        often = counts[which].unsqueeze(-1)
        out.register_hook(lambda g: g / often)
        out = out.clone()  # what the caller holds has the gradient as it arrived
    return out


@no_grad()
def _renormed(weight: Tensor, input: Tensor, max_norm: float, norm_type: float) -> None:
    """Scale down, in place, the rows that are looked up and longer than ``max_norm``."""
    used = unique(input)
    rows = weight[used]
    length = norm(rows, norm_type, dim=-1, keepdim=True)
    weight[used] = where(length > max_norm, rows * (max_norm / (length + 1e-7)), rows)


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Integers (...) as vectors of 0 and one 1, (..., num_classes) int64; -1 takes the largest plus 1."""
    if tensor.array.dtype.kind not in "iu":
        raise RuntimeError(f"one_hot is only applicable to index tensors of type long, not {tensor.dtype}: use .long()")
    if num_classes < 0:
        if tensor.numel() == 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor: pass num_classes")
        num_classes = int(tensor.max().item()) + 1
    elif num_classes == 0:
        raise RuntimeError("num_classes should be positive")
    if tensor.numel() and (int(tensor.min()) < 0 or int(tensor.max()) >= num_classes):
        told = "non-negative" if int(tensor.min()) < 0 else f"smaller than num_classes ({num_classes})"
        raise RuntimeError(f"one_hot: Class values must be {told}")
    out: Tensor = (tensor.unsqueeze(-1) == arange(num_classes, device=tensor.device)).long()
    return out
