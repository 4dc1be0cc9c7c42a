"""Embedding lookups, individual or reduced per bag, and one-hot vectors."""

from __future__ import annotations

from typing import Any

from ...autograd import no_grad
from ...backend import check_indices, xp
from ...backend.dtype import counted, float32
from ...functions.arguments import rounded_once
from ...functions.creation import arange
from ...functions.indexing import scatter_reduce, unique
from ...functions.pointwise import where
from ...functions.reduction import norm
from ...ops import indexing as ops
from ...tensor import Tensor, apply, wrap
from ._checks import integers

__all__ = ["embedding", "embedding_bag", "one_hot"]


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of ``weight`` (V, D) at the indices in ``input``. For integers (...), the result is (..., D).

    Args:
        padding_idx: a row that gets no gradient.
        max_norm: scale looked-up rows in place so that their norm (of order ``norm_type``) is at most this.
        scale_grad_by_freq: divide each row's gradient by the number of times it is looked up.
        sparse: ignored, as gradients are dense.

    Raises RuntimeError for non-integer indices, and IndexError if any is outside 0 .. V - 1 (checked on the CPU)."""
    integers("embedding", "indices", input)
    if weight.array.ndim != 2:
        raise RuntimeError(f"embedding: 'weight' must be 2-D, (V, D), but it has shape {list(weight.array.shape)}")
    rows = weight.array.shape[0]
    padding_idx = padding_row(padding_idx, rows)
    check_indices(input.array, rows, "embedding")
    if max_norm is not None:
        with no_grad():
            indices = unique(input)
            longest = weight[indices]
            length = norm(longest, norm_type, dim=-1, keepdim=True)
            weight[indices] = where(length > max_norm, longest * (max_norm / (length + 1e-7)), longest)
    out: Tensor = apply(ops.embedding, (weight, input, padding_idx))
    if scale_grad_by_freq and out.requires_grad:
        _, which, counts = unique(input, return_inverse=True, return_counts=True)
        lookups = counts[which].unsqueeze(-1)
        out.register_hook(lambda g: g / lookups)
        out = out.clone()  # leave the gradient of the caller's tensor undivided
    return out


def padding_row(padding_idx: int | None, rows: int) -> int | None:
    """``padding_idx`` as a non-negative row index."""
    if padding_idx is not None and not -rows <= padding_idx < rows:
        raise AssertionError(f"Padding_idx must be within num_embeddings ({rows}), not {padding_idx}")
    return None if padding_idx is None else padding_idx % rows


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Integers (...) as one-hot int64 vectors (..., num_classes), where -1 means the largest integer plus 1."""
    if tensor.array.dtype.kind not in "iu":
        raise RuntimeError(f"one_hot is only applicable to index tensors of type long, not {tensor.dtype}: use .long()")
    low, high = (int(tensor.min()), int(tensor.max())) if tensor.numel() else (0, -1)
    if num_classes == -1:
        if not tensor.numel():
            raise RuntimeError("Can not infer total number of classes from empty tensor: pass num_classes")
        num_classes = high + 1
    elif num_classes < 1:
        raise RuntimeError(f"num_classes should be positive, or -1, but got {num_classes}")
    if low < 0 or high >= num_classes:
        bound = "non-negative" if low < 0 else f"smaller than num_classes ({num_classes})"
        raise RuntimeError(f"one_hot: Class values must be {bound}, but got {low if low < 0 else high}")
    return (tensor.unsqueeze(-1) == arange(num_classes, device=tensor.device)).long()


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """The sum, mean or maximum of the rows of ``weight`` (V, D) in each bag of indices. Returns (B, D).

    Args:
        input: integers (B, L), one bag per row, or (M) with ``offsets`` (B), where each bag starts.
        mode: "sum", "mean" or "max"; an empty bag yields zeros.
        per_sample_weights: factors for the rows, shaped like the input; only supported in "sum" mode.
        include_last_offset: whether ``offsets`` ends with one more entry, the end of the last bag.
        padding_idx: an index to ignore.
        max_norm, norm_type, scale_grad_by_freq, sparse: as for ``embedding``.

    Raises ValueError if shapes do not match or the mode is unknown; NotImplementedError for factors in a mode other
    than "sum"; and RuntimeError for ``scale_grad_by_freq`` in "max" mode, indices outside the table (checked on the
    CPU), offsets outside the input, or factors whose dtype differs from the weight's."""
    if mode not in ("sum", "mean", "max"):
        raise ValueError(f"mode has to be one of sum, mean or max, not {mode!r}")
    if scale_grad_by_freq and mode == "max":
        problem = "scaling gradients by the frequency of indices is not supported for max mode: use 'sum'"
        raise RuntimeError(f"embedding_bag: {problem}")
    if (factors := per_sample_weights) is not None:
        if mode != "sum":
            raise NotImplementedError(f"embedding_bag: per_sample_weights is only supported for mode='sum', not {mode}")
        if factors.array.shape != input.array.shape:
            shapes = f"({tuple(factors.shape)}) must have the same shape as the input ({tuple(input.shape)})"
            raise ValueError(f"embedding_bag: per_sample_weights {shapes}")
        if factors.array.dtype != weight.array.dtype:
            dtypes = f"but got {factors.dtype} and {weight.dtype}"
            raise RuntimeError(f"embedding_bag: per_sample_weights must have the same type as the weight, {dtypes}")
        factors = factors.reshape(-1)
    bag, bags = _bags(input, offsets, include_last_offset)
    flat, table = input.reshape(-1), weight.array.shape[0]
    integers("embedding_bag", "indices", flat)
    expected = "embedding_bag: Expected idx >= 0 && idx < num_embeddings"
    check_indices(flat.array, table, expected, RuntimeError)  # as in PyTorch; ``embedding`` raises an IndexError
    if padding_idx is not None:
        if not -table <= padding_idx < table:
            raise RuntimeError(f"padding_idx must be within the number of embeddings, {table}, but got {padding_idx}")
        is_kept = flat != padding_idx % table
        flat, bag = flat[is_kept], bag[is_kept]
        factors = None if factors is None else factors[is_kept]
    rows = embedding(flat, weight, None, max_norm, norm_type, scale_grad_by_freq)
    if mode == "max":  # empty bags keep their zeros
        places, start = bag.unsqueeze(-1).expand(rows.shape), rows.new_zeros(bags, rows.array.shape[1])
        return scatter_reduce(start, 0, places, rows, "amax", include_self=False)
    return _total(rows, factors, bag, bags, mode)


@rounded_once
def _total(rows: Tensor, factors: Tensor | None, bag: Tensor, bags: int, mode: str) -> Tensor:
    total: Tensor = apply(ops.scatter_add_rows, (rows if factors is None else rows * factors.unsqueeze(-1), bag, bags))
    if mode == "sum":
        return total
    ones = rows.detach().new_ones(rows.array.shape[0], 1, dtype=float32)
    counts: Tensor = apply(ops.scatter_add_rows, (ones, bag, bags))
    return total / counts.clamp_min(1)


def _bags(input: Tensor, offsets: Tensor | None, include_last_offset: bool) -> tuple[Tensor, int]:
    """The number of the bag that contains each index, (M), and the number of bags."""
    if input.array.ndim == 2:
        if offsets is not None:
            raise ValueError("if input is 2D, then offsets has to be None: each row is a bag")
        rows, length = input.array.shape
        return arange(rows, device=input.device).repeat_interleave(length), rows
    if input.array.ndim != 1:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.array.ndim}")
    if offsets is None or offsets.array.ndim != 1:
        raise ValueError(f"offsets has to be a 1D Tensor but got {offsets and tuple(offsets.shape)}")
    if include_last_offset and not offsets.array.size:
        raise RuntimeError("include_last_offset: there must be at least one offset, the end of the last bag")
    integers("embedding_bag", "offsets", offsets)
    starts = offsets.array[:-1] if include_last_offset else offsets.array
    if starts.size and (int(starts[0]) != 0 or int(starts[-1]) > input.array.size):
        expected = f"offsets[0] has to be 0 and offsets[-1] not greater than input's length {input.array.size}"
        raise RuntimeError(f"{expected}, but got {int(starts[0])} and {int(starts[-1])}")
    places: Any = xp(starts).arange(input.array.size)
    return wrap(counted(xp(starts).searchsorted(starts, places, side="right")) - 1), starts.shape[0]
