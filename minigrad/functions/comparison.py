"""Comparisons of whole tensors, and properties of a tensor and its memory, under PyTorch's names."""

from __future__ import annotations

from math import prod
from typing import Any, overload

from ..autograd.tape import Variable
from ..backend import dtype as dt, of
from ..backend.dtype import channels_last, channels_last_3d
from ..backend.order import is_channels_last
from ..backend.registry import address
from ..backend.storage import TypedStorage, UntypedStorage, owner
from ..tensor import Size, Tensor
from .arguments import axis, raw
from .define import attached, attribute, brief, function, method


@method
def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape and elements.

    >>> mg.equal(mg.tensor([1, 2]), mg.tensor([1, 2]))
    True
    """
    return input.shape == other.shape and bool(input.eq(other).array.all())


@method
def allclose(input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Whether all elements are equal or within atol + rtol · |other| of each other.

    >>> mg.allclose(mg.tensor([1.0]), mg.tensor([1.0 + 1e-7]))
    True
    """
    return bool(isclose(input, other, rtol, atol, equal_nan).array.all())


@method
def isclose(input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    """A bool tensor that is True where the elements are equal or within atol + rtol · |other| of each other.

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


_ANSWERS = {
    "is_floating_point": (lambda input: dt.kind_of(input.array) == "f", "Whether the dtype is a floating-point one."),
    "is_complex": (lambda input: input.array.dtype.kind == "c", "Whether the dtype is complex."),
    "is_signed": (lambda input: dt.of(input.array).is_signed, "Whether the dtype is signed."),
    "is_nonzero": (lambda input: bool(input), "Whether the tensor's only element is not 0."),
    "is_inference": (lambda input: False, "Always False, as inference mode creates ordinary tensors."),
    "is_same_size": (lambda input, other: input.shape == other.shape, "Whether two tensors have the same shape."),
}
_PROPERTIES = {
    "is_leaf": (lambda input: input._source()[0] is None, "Whether the tensor is not the result of a recorded op."),
    "is_meta": (lambda input: of(input.array).device_type == "meta", "Whether it is on ``meta`` and has no data."),
    "is_cpu": (lambda input: input.device.type == "cpu", "Whether the tensor is on the CPU."),
    "is_cuda": (lambda input: input.device.type == "cuda", "Whether the tensor is on a GPU."),
}
_SIZES = {
    "ndim": (lambda input: int(input.array.ndim), "The number of axes."),
    "output_nr": (lambda input: input._source()[1], "The tensor's index among the outputs of its op."),
    "itemsize": (lambda input: int(input.array.itemsize), "The size of an element in bytes."),
    "nbytes": (lambda input: int(input.array.nbytes), "The total size of the elements in bytes."),
}
_LENGTHS = {
    "dim": (lambda input: int(input.array.ndim), "The number of axes."),
    "ndimension": (lambda input: int(input.array.ndim), "The number of axes."),
    "nelement": (lambda input: int(input.array.size), "The number of elements."),
}
_NUMBERS = {
    "element_size": (lambda input: input.itemsize, "The size of an element in bytes."),
    "data_ptr": (lambda input: address(input.array), "The address of the first element."),
    "storage_offset": (
        lambda input: (address(input.array) - address(owner(input.array))) // input.itemsize,
        "The offset of the first element in the tensor's storage, in elements.",
    ),
}
_BYTES = (lambda input: UntypedStorage.behind(input.array), "The tensor's memory as bytes.")
_ELEMENTS = (
    lambda input: TypedStorage(wrap_storage=UntypedStorage.behind(input.array), dtype=input.dtype),
    "The tensor's memory as elements of its dtype.",
)
_of_tensors = method(free=False)
globals().update(brief(method, _ANSWERS, "bool") | brief(attribute, _PROPERTIES, "bool"))
globals().update(brief(attribute, _SIZES, "int") | brief(attached, _LENGTHS, "int"))
globals().update(brief(_of_tensors, _NUMBERS, "int"))
globals().update(brief(_of_tensors, {"storage": _ELEMENTS}, "TypedStorage"))
globals().update(brief(_of_tensors, {"untyped_storage": _BYTES}, "UntypedStorage"))


@method
def numel(input: Tensor) -> int:
    """The number of elements.

    >>> mg.zeros(2, 3).numel()
    6
    """
    return int(input.array.size)


@method
def get_device(input: Tensor) -> int:
    """The index of the tensor's GPU, or -1 on the CPU."""
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
    """Whether an object is a tensor storage."""
    return isinstance(obj, UntypedStorage)


@function
def result_type(tensor: Any, other: Any) -> Any:
    """The result dtype of an elementwise operation on two tensors or numbers."""
    return dt.result_type(raw(tensor), raw(other))


@overload
def stride(input: Tensor, dim: None = None) -> tuple[int, ...]: ...
@overload
def stride(input: Tensor, dim: int) -> int: ...


@method(free=False)
def stride(input: Tensor, dim: int | None = None) -> Any:
    """The stride along each axis, in elements. Empty tensors, which have no strides in NumPy, count as contiguous."""
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


@method(free=False)
def is_contiguous(input: Tensor, memory_format: Any = None) -> bool:
    """Whether the elements are stored in index order, or in the order of a memory format."""
    ndim = {channels_last: 4, channels_last_3d: 5}.get(memory_format)
    if ndim is None:
        return bool(input.array.flags.c_contiguous)
    return input.array.ndim == ndim and is_channels_last(input.array)


@method(free=False)
def to_dense(input: Tensor, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
    """The tensor itself, which is already dense, or the tensor converted to ``dtype``."""
    return input if dtype is None else input.to(dtype=dtype)


_UNSHARED = "Always False, as memory is never page-locked or shared with other processes, which receive copies."
_pinned = brief(_of_tensors, {"is_pinned": (lambda input, device=None: False, _UNSHARED)}, "bool")
_ITSELF = (lambda input, device=None: input, "The tensor itself. See ``is_pinned``.")
_pinned |= brief(_of_tensors, {"pin_memory": _ITSELF})
globals().update(_pinned)
is_shared, share_memory_ = _pinned["is_pinned"], _pinned["pin_memory"]
