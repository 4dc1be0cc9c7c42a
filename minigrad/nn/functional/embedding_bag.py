"""Vectors of a table, added up by bags of indices."""

from __future__ import annotations

from typing import Any

from ...autograd.calls import apply
from ...autograd.tape import wrap
from ...backend import xp
from ...functions.creation import arange
from ...ops import indexing as index_ops
from ...tensor import Tensor
from .linear import embedding


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
    """The sum, mean or maximum of the rows of ``weight`` (V, D) in each bag of indices, (B, D).

    Args:
        input: (B, L) integers, a bag a row; or (M) with ``offsets`` (B), where each bag begins.
        mode: "sum", "mean" or "max"; a bag of nothing gives zeros.
        per_sample_weights: of the input's shape: factors of the rows, for "sum" alone.
        include_last_offset: whether ``offsets`` has one more, the end of the last bag.
        padding_idx: an index that counts as not there.
        sparse: taken and without effect: gradients are dense.

    Raises:
        ValueError: shapes that do not go together, or an unknown mode. NotImplementedError: ``max_norm``,
            ``scale_grad_by_freq``, factors in another mode than "sum".
    """
    if max_norm is not None or scale_grad_by_freq:
        raise NotImplementedError(
            "embedding_bag: max_norm and scale_grad_by_freq are not provided: scale the weight yourself"
        )
    if mode not in ("sum", "mean", "max"):
        raise ValueError(f"mode has to be one of sum, mean or max, not {mode!r}")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            f"embedding_bag: per_sample_weights is only supported for mode='sum' (got mode={mode!r})"
        )
    if per_sample_weights is not None and per_sample_weights.array.shape != input.array.shape:
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({tuple(per_sample_weights.shape)}) is not None, then it "
            f"must have the same shape as the input ({tuple(input.shape)})"
        )
    bag, bags = _bags(input, offsets, include_last_offset)
    flat = input.reshape(-1)
    factors = None if per_sample_weights is None else per_sample_weights.reshape(-1)
    if padding_idx is not None:
        there = flat != padding_idx % weight.array.shape[0]
        flat, bag = flat[there], bag[there]
        factors = None if factors is None else factors[there]
    rows = embedding(flat, weight)
    if mode == "max":
        return _largest(rows, bag, bags)
    total = _added(rows if factors is None else rows * factors.unsqueeze(-1), bag, bags)
    return total if mode == "sum" else total / _counts(rows, bag, bags).clamp_min(1)


def _bags(input: Tensor, offsets: Tensor | None, include_last_offset: bool) -> tuple[Tensor, int]:
    """In which bag each index is, (M), and how many bags there are."""
    if input.array.ndim == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed "
                f"length sequences. However, found offsets of type {type(offsets)}"
            )
        rows, length = input.array.shape
        return arange(rows, device=input.device).repeat_interleave(length), rows
    if input.array.ndim != 1:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.array.ndim}")
    if offsets is None or offsets.array.ndim != 1:
        raise ValueError(f"offsets has to be a 1D Tensor but got {offsets and tuple(offsets.shape)}")
    starts = offsets.array[:-1] if include_last_offset else offsets.array
    if starts.size and (int(starts[0]) != 0 or int(starts[-1]) > input.array.size):
        raise RuntimeError(
            f"offsets[0] has to be 0 and offsets[-1] not greater than input's length {input.array.size}, but "
            f"got {int(starts[0])} and {int(starts[-1])}"
        )
    places: Any = xp(starts).arange(input.array.size)
    return wrap(xp(starts).searchsorted(starts, places, side="right") - 1), starts.shape[0]


def _added(rows: Tensor, bag: Tensor, bags: int) -> Tensor:
    """Rows (M, D) added up by bag, (bags, D)."""
    out: Tensor = apply(index_ops.scatter_add_rows, (rows, bag, bags))
    return out


def _counts(rows: Tensor, bag: Tensor, bags: int) -> Tensor:
    """How many rows each bag has, (bags, 1)."""
    return _added(rows.detach().new_ones(rows.array.shape[0], 1), bag, bags)


def _largest(rows: Tensor, bag: Tensor, bags: int) -> Tensor:
    """The largest of each column in each bag, from a grid (bags, longest bag) of row numbers."""
    number, width = bag.array.shape[0], rows.array.shape[1]
    if not number:
        return rows.new_zeros(bags, width)
    counts = _counts(rows, bag, bags).long()
    ends = counts.cumsum(0)
    grid = arange(int(counts.max().item()), device=rows.device)
    there = (grid < counts).unsqueeze(-1)  # (bags, longest, 1)
    taken = rows[(ends - counts + grid).clamp(max=number - 1)]
    found = taken.masked_fill(~there, float("-inf")).max(1).values
    return found.masked_fill(counts == 0, 0.0)
