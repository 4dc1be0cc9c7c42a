"""What functions share: checks of arguments, changes in place, and the way from elements' losses to one number."""

from __future__ import annotations

from typing import Any

from ...autograd.inplace import mutate
from ...ops.op import Op
from ...tensor import Tensor, apply

Flag = bool | None


def applied(op: Op, input: Tensor, inplace: bool, *attributes: Any) -> Tensor:
    """The result of an op, or with ``inplace`` the tensor itself, changed."""
    args = (input, *attributes)
    return mutate(input, op, args) if inplace else apply(op, args)


def same_dtype(name: str, input: Tensor, **others: Tensor | None) -> None:
    """Refuse operands of different dtypes."""
    dtype = input.array.dtype
    for role, other in others.items():
        if other is not None and other.array.dtype is not dtype and other.array.dtype != dtype:
            dtypes = f"but got {input.dtype} and {other.dtype}: convert one with .to(dtype)"
            raise RuntimeError(f"{name}: expected input and {role} to have the same dtype, {dtypes}")


def integers(name: str, role: str, input: Tensor) -> None:
    """Refuse indices of another kind than integers."""
    if input.array.dtype.kind not in "iu":
        raise RuntimeError(f"{name}: expected {role} of an integer dtype, but got {input.dtype}: use .long()")


def probability(name: str, p: float) -> None:
    """Refuse a probability outside [0, 1]."""
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"{name} probability has to be between 0 and 1, but got {p}")


def reduction_of(size_average: Flag, reduce: Flag, reduction: str) -> str:
    """The reduction, "none", "mean" or "sum"; PyTorch's two old flags, if one of them is not None, override it."""
    if size_average is not None or reduce is not None:
        reduction = "none" if reduce is False else "sum" if size_average is False else "mean"
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction: expected 'none', 'mean' or 'sum'")
    return reduction


def reduced(
    losses: Tensor, reduction: str, size_average: Flag = None, reduce: Flag = None, weight: Tensor | None = None
) -> Tensor:
    """The losses, times their weights if there are any, themselves, their mean, or their sum."""
    reduction = reduction_of(size_average, reduce, reduction)
    losses = losses if weight is None else losses * weight
    return losses.mean() if reduction == "mean" else losses.sum() if reduction == "sum" else losses
