"""How a loss's elements become one number."""

from __future__ import annotations

from warnings import warn

from ...tensor import Tensor


def reduction_of(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """The reduction, from PyTorch's old two flags where one is given.

    Raises:
        ValueError: it is none of "none", "mean", "sum".
    """
    if size_average is not None or reduce is not None:
        reduction = "none" if reduce is False else "sum" if size_average is False else "mean"
    elif reduction == "elementwise_mean":  # what "mean" was called at first
        warn("reduction='elementwise_mean' is deprecated, please use reduction='mean' instead.", stacklevel=3)
        reduction = "mean"
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction: expected 'none', 'mean' or 'sum'")
    return reduction


def reduced(losses: Tensor, reduction: str) -> Tensor:
    """Losses as they are, their mean, or their sum."""
    return losses.mean() if reduction == "mean" else losses.sum() if reduction == "sum" else losses
