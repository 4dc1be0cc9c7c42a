"""Whole tensors compared, and questions about a tensor, by PyTorch's names."""

from __future__ import annotations

from typing import Any

from ..autograd.tape import Variable
from ..backend import dtype as dt
from ..backend import of
from ..backend.storage import TypedStorage, UntypedStorage
from ..tensor import Tensor
from .arguments import raw
from .define import attribute, function, method


@method
def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape and elements.

    >>> mg.equal(mg.tensor([1, 2]), mg.tensor([1, 2]))
    True
    """
    return input.shape == other.shape and bool(input.eq(other).array.all())


@method
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape."""
    return bool(input.array.shape == other.array.shape)


@method
def allclose(input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Whether all elements are equal, or within atol + rtol · |other| of each other.

    >>> mg.allclose(mg.tensor([1.0]), mg.tensor([1.0 + 1e-7]))
    True
    """
    return bool(isclose(input, other, rtol, atol, equal_nan).array.all())


@method
def isclose(input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    """Which elements are equal, or within atol + rtol · |other| of each other.

    >>> mg.isclose(mg.tensor([1.0, 2.0]), mg.tensor([1.0, 2.1]))
    tensor([ True, False])
    """
    for name, bound in (("rtol", rtol), ("atol", atol)):
        if bound < 0:
            raise RuntimeError(f"isclose: {name} must be greater than or equal to zero, but got {bound}")
    input, other = (x.to(dt.get_default_dtype()) if x.array.dtype.kind == "b" else x for x in (input, other))
    apart = (input - other).abs()
    near = (input == other) | (apart.isfinite() & (apart <= atol + rtol * other.abs()))
    return near | (input.isnan() & other.isnan()) if equal_nan else near


# Questions about a tensor -----------------------------------------------------------------------------------


@method
def numel(input: Tensor) -> int:
    """The number of elements.

    >>> mg.zeros(2, 3).numel()
    6
    """
    return int(input.array.size)


@attribute
def is_cpu(input: Tensor) -> bool:
    """Whether the array is in main memory."""
    return input.device.type == "cpu"


@attribute
def is_cuda(input: Tensor) -> bool:
    """Whether the array is on a GPU."""
    return input.device.type == "cuda"


@method
def is_floating_point(input: Tensor) -> bool:
    """Whether the dtype is a floating-point one."""
    return bool(dt.kind_of(input.array) == "f")


@method
def is_complex(input: Tensor) -> bool:
    """Whether the dtype is complex."""
    return bool(input.array.dtype.kind == "c")


@method
def is_signed(input: Tensor) -> bool:
    """Whether the dtype has negative numbers."""
    return dt.of(input.array).is_signed


@method
def is_nonzero(input: Tensor) -> bool:
    """Whether the one element is not 0."""
    return bool(input)


@method
def is_inference(input: Tensor) -> bool:
    """Whether inference mode made the tensor: always False, as its tensors are ordinary ones."""
    return False


@method
def get_device(input: Tensor) -> int:
    """The GPU's number, -1 on the CPU."""
    index = of(input.array).device_of(input.array).index
    return -1 if index is None else index


@function
def is_tensor(obj: Any) -> bool:
    """Whether an object is a Tensor.

    >>> mg.is_tensor(mg.zeros(1)), mg.is_tensor([0.0])
    (True, False)
    """
    return isinstance(obj, Variable)


@function
def is_storage(obj: Any) -> bool:
    """Whether an object is a tensor's memory."""
    return isinstance(obj, UntypedStorage | TypedStorage)


@function
def result_type(tensor: Any, other: Any) -> Any:
    """The dtype of an elementwise result of two tensors or numbers."""
    return dt.result_type(raw(tensor), raw(other))
