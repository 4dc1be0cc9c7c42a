"""Whole tensors compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..backend import dtype as dt

if TYPE_CHECKING:
    from ..tensor import Tensor


def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape and elements."""
    return input.shape == other.shape and bool(input.eq(other).array.all())


def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape."""
    return bool(input.array.shape == other.array.shape)


def allclose(input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Whether all elements are equal, or within atol + rtol · |other| of each other."""
    return bool(isclose(input, other, rtol, atol, equal_nan).array.all())


def isclose(input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    """Which elements are equal, or within atol + rtol · |other| of each other."""
    apart = (input - other).abs()
    near = (input == other) | (apart.isfinite() & (apart <= atol + rtol * other.abs()))
    return near | (input.isnan() & other.isnan()) if equal_nan else near


# What tensors are -------------------------------------------------------------------------------------------


def is_floating_point(input: Tensor) -> bool:
    """Whether the dtype is a floating-point one."""
    return input.is_floating_point()


def is_complex(input: Tensor) -> bool:
    """Whether the dtype is complex."""
    return input.is_complex()


def is_signed(input: Tensor) -> bool:
    """Whether the dtype has negative numbers."""
    return input.is_signed()


def is_nonzero(input: Tensor) -> bool:
    """Whether the one element is not 0."""
    return bool(input)


def is_inference(input: Tensor) -> bool:
    """Whether it was made in inference mode: never, as that makes ordinary tensors here."""
    return input.is_inference()


def is_storage(obj: Any) -> bool:
    """Whether an object is a tensor's memory."""
    return type(obj).__name__ == "Storage" and hasattr(obj, "data_ptr")


def get_device(input: Tensor) -> int:
    """The GPU's number, -1 on the CPU."""
    return input.get_device()


def detach(input: Tensor) -> Tensor:
    """The same memory without history."""
    return input.detach()


def result_type(tensor1: Any, tensor2: Any) -> Any:
    """The dtype that an elementwise result of two tensors or numbers has."""
    return dt.result_type(*(v.array if hasattr(v, "array") else v for v in (tensor1, tensor2)))
