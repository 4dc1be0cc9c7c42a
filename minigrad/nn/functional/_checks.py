"""Checks that functions share. Each error names the function, the conflict, and the remedy."""

from __future__ import annotations

from ...tensor import Tensor


def same_dtype(name: str, input: Tensor, **others: Tensor | None) -> None:
    """Refuse operands of different dtypes.

    Raises:
        RuntimeError: one of ``others`` does not have the dtype of ``input``.
    """
    dtype = input.array.dtype
    for role, other in others.items():
        if other is not None and other.array.dtype is not dtype and other.array.dtype != dtype:
            raise RuntimeError(
                f"{name}: expected input and {role} to have the same dtype, but got {input.dtype} and "
                f"{other.dtype}: convert one with .to(dtype)"
            )


def probability(name: str, p: float) -> None:
    """Refuse a probability outside [0, 1]."""
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"{name} probability has to be between 0 and 1, but got {p}")
