"""Whole tensors compared, and questions about a tensor and its memory, by PyTorch's names."""

from __future__ import annotations

from math import prod
from typing import Any, overload

from ..autograd.tape import Variable
from ..backend import dtype as dt
from ..backend import of
from ..backend.dtype import channels_last, channels_last_3d
from ..backend.order import is_channels_last
from ..backend.registry import address
from ..backend.storage import UntypedStorage, owner
from ..tensor import Size, Tensor
from .arguments import axis, raw
from .define import attached, attribute, function, method


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
    return isinstance(obj, UntypedStorage)


@function
def result_type(tensor: Any, other: Any) -> Any:
    """The dtype of an elementwise result of two tensors or numbers."""
    return dt.result_type(raw(tensor), raw(other))


# Its memory: layout, address, owner -------------------------------------------------------------------------


@method(free=False)
def untyped_storage(input: Tensor) -> UntypedStorage:
    """The memory that the tensor shows, as bytes."""
    return UntypedStorage.behind(input.array)


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
