"""Whole tensors compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..tensor import Tensor


def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape and elements."""
    return input.shape == other.shape and bool(input.eq(other).array.all())


def allclose(
    input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> bool:
    """Whether all elements are equal, or within atol + rtol · |other| of each other."""
    return bool(isclose(input, other, rtol, atol, equal_nan).array.all())


def isclose(
    input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Tensor:
    """Which elements are equal, or within atol + rtol · |other| of each other."""
    apart = (input - other).abs()
    near = (input == other) | (apart.isfinite() & (apart <= atol + rtol * other.abs()))
    return near | (input.isnan() & other.isnan()) if equal_nan else near
