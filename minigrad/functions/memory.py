"""The memory of a tensor: its layout, address and owner."""

from __future__ import annotations

from math import prod
from typing import Any, overload

from ..backend.dtype import channels_last, channels_last_3d
from ..backend.order import is_channels_last
from ..backend.registry import address
from ..backend.storage import TypedStorage, UntypedStorage, owner
from ..tensor import Size, Tensor
from .arguments import axis
from .define import attached, attribute, method


@method(free=False)
def untyped_storage(input: Tensor) -> UntypedStorage:
    """The memory that the tensor shows, as bytes."""
    return UntypedStorage.behind(input.array)


@method(free=False)
def storage(input: Tensor) -> TypedStorage:
    """The memory that the tensor shows, as elements of its dtype."""
    return TypedStorage(wrap_storage=UntypedStorage.behind(input.array), dtype=input.dtype)


@method(free=False)
def data_ptr(input: Tensor) -> int:
    """The address of the first element."""
    return address(input.array)


@method(free=False)
def storage_offset(input: Tensor) -> int:
    """The number of elements of its memory before the first one."""
    return (address(input.array) - address(owner(input.array))) // input.itemsize


@overload
def stride(input: Tensor, dim: None = None) -> tuple[int, ...]: ...
@overload
def stride(input: Tensor, dim: int) -> int: ...


@method(free=False)
def stride(input: Tensor, dim: int | None = None) -> Any:
    """Steps between neighbours along each axis, in elements; an empty tensor, of which NumPy keeps none, is dense."""
    array = input.array
    if array.size:
        steps = tuple(n // array.itemsize for n in array.strides)
    else:
        steps = tuple(prod(max(n, 1) for n in array.shape[place + 1 :]) for place in range(array.ndim))
    return steps if dim is None else steps[dim]


@overload
def size(input: Tensor, dim: None = None) -> Size: ...
@overload
def size(input: Tensor, dim: int) -> int: ...


@attached
def size(input: Tensor, dim: int | None = None) -> Any:
    """The shape, or the length of one axis.

    >>> x = mg.zeros(2, 3)
    >>> x.size(), x.size(1)
    (minigrad.Size([2, 3]), 3)
    """
    return input.shape if dim is None else input.array.shape[axis(dim, input.array.ndim)]


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
    """Whether the elements lie in memory in the order of their indices, or in that of a memory format."""
    ndim = {channels_last: 4, channels_last_3d: 5}.get(memory_format)
    if ndim is None:
        return bool(input.array.flags.c_contiguous)
    return input.array.ndim == ndim and is_channels_last(input.array)


@method(free=False)
def to_dense(input: Tensor, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
    """The tensor itself, which is dense, in another dtype where one is given."""
    return input if dtype is None else input.to(dtype=dtype)


@method(free=False)
def is_pinned(input: Tensor, device: Any = None) -> bool:
    """False: memory here is neither page-locked nor shared with other processes, which get copies."""
    return False


@method(free=False)
def pin_memory(input: Tensor, device: Any = None) -> Tensor:
    """The tensor itself. See ``is_pinned``."""
    return input


is_shared, share_memory_ = is_pinned, pin_memory
