"""The memory of a tensor: its layout, address and owner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..backend import of
from .define import attribute, method

if TYPE_CHECKING:
    from ..tensor import Tensor


class Storage:
    """The memory behind a tensor and its views: its place and size."""

    def __init__(self, array: Any) -> None:
        self._owner, self.device = _owner(array), of(array).device_of(array)

    def data_ptr(self) -> int:
        """The address of its first byte."""
        return _address(self._owner)

    def nbytes(self) -> int:
        """The number of its bytes."""
        return int(self._owner.nbytes)

    size = __len__ = nbytes


def _address(array: Any) -> int:
    """The address of an array's first element."""
    data = getattr(array, "ctypes", None) or array.data
    return int(data.data if hasattr(data, "data") else data.ptr)


def _owner(array: Any) -> Any:
    """The array whose memory a view shows."""
    while getattr(array, "base", None) is not None and hasattr(array.base, "strides"):
        array = array.base
    return array


@method(free=False)
def untyped_storage(input: Tensor) -> Storage:
    """The memory that the tensor shows, to compare or to measure."""
    return Storage(input.array)


storage = untyped_storage


@method(free=False)
def data_ptr(input: Tensor) -> int:
    """The address of the first element."""
    return _address(input.array)


@method(free=False)
def storage_offset(input: Tensor) -> int:
    """The number of elements of its memory before the first one."""
    return (_address(input.array) - _address(_owner(input.array))) // input.itemsize


@method(free=False)
def stride(input: Tensor, dim: int | None = None) -> Any:
    """Steps between neighbours along each axis, in elements."""
    steps = tuple(n // input.array.itemsize for n in input.array.strides)
    return steps if dim is None else steps[dim]


@attribute
def itemsize(input: Tensor) -> int:
    """Bytes an element."""
    return int(input.array.itemsize)


@attribute
def nbytes(input: Tensor) -> int:
    """Bytes of all elements."""
    return int(input.array.nbytes)


@method(free=False)
def element_size(input: Tensor) -> int:
    """Bytes an element."""
    return input.itemsize


@method(free=False)
def is_contiguous(input: Tensor, memory_format: Any = None) -> bool:
    """Whether the elements lie in memory in the order of their indices."""
    return bool(input.array.flags.c_contiguous)


@method(free=False)
def is_pinned(input: Tensor) -> bool:
    """False: memory here is neither page-locked nor shared with other processes, which get copies."""
    return False


@method(free=False)
def pin_memory(input: Tensor) -> Tensor:
    """The tensor itself. See ``is_pinned``."""
    return input


is_shared, share_memory_ = is_pinned, pin_memory
