"""Conversion between dtypes and devices, new tensors like an existing one, complex tensors and their parts."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, overload

from ..autograd.tape import Variable, wrap
from ..backend import Device, dtype as dt, of
from ..backend.order import prefers_channels_last
from ..ops import complex as c
from ..ops.elementwise import cast, cos as _cos, moved, sin as _sin
from ..tensor import Tensor, apply
from . import typed
from .creation import alike, empty, empty_strided, full, ones, tensor, zeros
from .define import attached, attribute, brief, function, method, named
from .pointwise import where


def target_of(args: tuple[Any, ...], dtype: Any = None, device: Any = None, copy: bool = False) -> tuple[Any, ...]:
    """Parse the arguments of ``to`` as (dtype, device, non_blocking, copy). Raises TypeError if one is misplaced."""
    first, flags = args[0] if args else None, args[1:]
    names_device = isinstance(first, str) and first.partition(":")[0] not in dt._NAMED
    if isinstance(first, Variable):
        dtype, device = dt.of(first.array), of(first.array).device_of(first.array)
    elif first is not None and first.__class__ not in (Device, int) and not names_device:
        dtype = first
    else:
        device = device if first is None else first
        dtype, flags = (flags[0], flags[1:]) if flags else (dtype, flags)
    if len(args) > 1 and (isinstance(dtype, (bool, Variable)) or len(flags) > 2 or not {*flags} <= {True, False}):
        raise TypeError(f"to() takes (device, dtype), (dtype) or (tensor), then non_blocking and copy, not {args}")
    return dtype, device, *flags, *(False, copy)[len(flags) :]


@method(free=False)
def to(
    input: Tensor,
    *args: Any,
    dtype: Any = None,
    device: Any = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: Any = None,
    tensor: Tensor | None = None,
) -> Tensor:
    """Convert to a dtype, a device, or another tensor's dtype and device. Returns the tensor itself if nothing changes.

    >>> mg.tensor([1, 2]).to(mg.float32)
    tensor([1., 2.])
    """
    if len(args) == 1 and args[0].__class__ is dt.DType:  # a faster path for the usual case
        dtype = args[0]
    elif args or tensor is not None:
        dtype, device, _, copy = target_of(args if tensor is None else (tensor, *args), dtype, device, copy)
    out: Any = input
    here = of(input.array).device_of(input.array)
    place = here if device is None else Device(device)
    if place != here and (place.index is not None or place.type != here.type):  # "cuda" without an index is any GPU
        out = apply(moved, (out, place, here))
    if dtype is not None and (kind := dt.as_dtype(dtype).numpy) != out.array.dtype:
        if dt.is_kept(kind) and of(out.array).device_type != "cpu":
            raise dt.of_numpy(kind).refused_on(of(out.array).device_type)
        out = apply(cast, (out if dt.has_gradient(kind) else out.detach(), kind))
    out = out.clone() if copy and out is input else out
    if memory_format in (None, dt.preserve_format):
        return out
    if memory_format is dt.contiguous_format or prefers_channels_last(out.array):
        return out.contiguous(memory_format)
    return out.clone(memory_format=memory_format)


@attached
def __dlpack__(input: Tensor, **options: Any) -> Any:
    """Share memory with a library, as in ``numpy.from_dlpack(x)``. Raises BufferError if the tensor requires grad."""
    if input.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    return input.array.__dlpack__(**options)


@attached
def __dlpack_device__(input: Tensor) -> tuple[int, int]:
    """The tensor's device type and index in DLPack's numbering."""
    device: tuple[int, int] = input.array.__dlpack_device__()
    return device


@method
def detach(input: Tensor) -> Tensor:
    """A tensor with the same memory but no history. In-place changes to it are still tracked.

    >>> x = mg.tensor([1.0], requires_grad=True)
    >>> (x * 2).detach().requires_grad
    False
    """
    view: Tensor = wrap(input.array)
    view._changes = input._changes
    return view


@overload
def type(input: Tensor, dtype: None = None) -> str: ...
@overload
def type(input: Tensor, dtype: Any, non_blocking: bool = False) -> Tensor: ...


@method(free=False)
def type(input: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """Convert to another dtype or tensor type (``torch.FloatTensor``). Without arguments, return the type's name."""
    if dtype is None:
        return typed.typename(input)
    if (kind := typed.find(dtype)) is not None:
        return input.to(dtype=kind.dtype, device=kind.device_type)
    return input.to(dtype=dtype)


_METHODS: dict[str, tuple[Any, str]] = {
    "type_as": (lambda input, other: input.to(other), "Convert to another tensor's dtype and device."),
    "cpu": (lambda input, memory_format=None: input.to(device="cpu"), "Move the tensor to the CPU."),
    "cuda": (
        lambda input, device=None, non_blocking=False: input.to(device="cuda" if device is None else Device(device)),
        "Move the tensor to a GPU.",
    ),
}
_NEW: dict[str, tuple[Any, str]] = {
    "new_tensor": (
        lambda input, data, *, dtype, device: tensor(data, dtype=dtype, device=device),
        "A tensor from data, by default with this tensor's dtype and device.",
    ),
    "new_full": (
        lambda input, size, fill_value, *, dtype, device: full(size, fill_value, dtype=dtype, device=device),
        "A tensor of shape ``size`` filled with one number, by default with this tensor's dtype and device.",
    ),
    "new_empty_strided": (
        lambda input, size, stride, *, dtype, device: empty_strided(size, stride, dtype=dtype, device=device),
        "An uninitialized tensor with these strides (in elements), by default with this tensor's dtype and device.",
    ),
}
_of_tensors = method(free=False)
globals().update(brief(_of_tensors, _METHODS) | brief(lambda new: _of_tensors(alike(new)), _NEW))


def _new(make: Callable[..., Tensor], name: str, doc: str) -> Callable[..., Tensor]:
    def new(input: Tensor, *size: Any, dtype: Any, device: Any, **size_kw: Any) -> Tensor:
        return make(*size, dtype=dtype, device=device, **size_kw)

    return method(free=False)(alike(named(new, name, f"{doc} with this tensor's dtype and device.")))


new_zeros, new_ones = _new(zeros, "new_zeros", "Zeros"), _new(ones, "new_ones", "Ones")
new_empty = _new(empty, "new_empty", "Uninitialized elements")


@method(free=False)
def new(input: Tensor, *data: Any, device: Any = None) -> Tensor:
    """Create a tensor of the same type from sizes or a sequence of values. This is a legacy method of PyTorch."""
    return typed.type_of(input)(*data)


@function
def complex(real: Tensor, imag: Tensor) -> Tensor:
    """real + i · imag, as complex64 or complex128. Raises RuntimeError unless both are float32 or both are float64."""
    kinds = {real.array.dtype.name, imag.array.dtype.name}
    if len(kinds) > 1 or kinds - {"float32", "float64"}:
        raise RuntimeError(f"complex: expected two float32 or two float64 tensors, got {real.dtype} and {imag.dtype}")
    return apply(c.complex, (real, imag))


@function
def polar(abs: Tensor, angle: Tensor) -> Tensor:
    """abs · e^(i angle)."""
    return complex(abs * apply(_cos, (angle,)), abs * apply(_sin, (angle,)))


@function
def view_as_complex(input: Tensor) -> Tensor:
    """View a real tensor (..., 2) as a complex tensor (...). The last axis contains the real and imaginary parts.
    Raises RuntimeError if the last axis does not have length 2, or its elements are not adjacent."""
    array = input.array
    if array.dtype.name not in ("float32", "float64"):
        raise RuntimeError(f"view_as_complex is only supported for float32 and float64, not {input.dtype}")
    if not array.ndim or array.shape[-1] != 2:
        raise RuntimeError(f"Tensor must have a last dimension of size 2, not shape {tuple(array.shape)}")
    if array.strides[-1] != array.itemsize or any(s % (2 * array.itemsize) for s in array.strides[:-1]):
        raise RuntimeError("Tensor must have a last dimension with stride 1, other strides even: use x.contiguous()")
    return apply(c.view_as_complex, (input,))


@function
def view_as_real(input: Tensor) -> Tensor:
    """View a complex tensor (...) as a real tensor (..., 2). Raises RuntimeError for a real tensor."""
    return apply(c.view_as_real, (_complex(input, "view_as_real"),))


@attribute
@function
def real(input: Tensor) -> Tensor:
    """A view of the real part, or the tensor itself if it is real. Supports assignment: ``x.real = y``."""
    return apply(c.real, (input,)) if input.is_complex() else input


@attribute
@function
def imag(input: Tensor) -> Tensor:
    """A view of the imaginary part, which supports assignment. Raises RuntimeError for a real tensor."""
    return apply(c.imag, (_complex(input, "imag"),))


@method
def conj(input: Tensor) -> Tensor:
    """The complex conjugate, a - bi for a + bi. A real tensor is returned unchanged."""
    return apply(c.conj, (input,)) if input.is_complex() else input


_OF_COMPLEX = {
    "resolve_conj": (lambda input: input, "The tensor itself, as conjugation is never lazy."),
    "resolve_neg": (lambda input: input, "The tensor itself, as negation is never lazy."),
    "isreal": (
        lambda input: input.imag == 0 if input.is_complex() else input.eq(input) | True,
        "Whether each element is real, that is, has imaginary part 0.",
    ),
}
_QUESTION = {"is_conj": (lambda input: False, "Always False, as conjugation is never lazy.")}
_IN_PLACE_TOO = {"conj_physical": (lambda input: conj(input), "The same as ``conj``, which is never lazy.")}
globals().update(brief(method, _OF_COMPLEX) | brief(method, _QUESTION, "bool"))
globals().update(brief(method(in_place=True), _IN_PLACE_TOO))


@method
def angle(input: Tensor) -> Tensor:
    """The angle to the real axis, in (-π, π]. It is 0 or π for real numbers."""
    if input.is_complex():
        return apply(c.angle, (input,))
    as_float = input if input.is_floating_point() else input.float()
    zeros = where(as_float.isnan(), as_float, 0.0)
    return where(as_float < 0, math.pi, zeros).to(as_float.dtype)


def _complex(input: Tensor, name: str) -> Tensor:
    if not input.is_complex():
        raise RuntimeError(f"{name} is only supported for complex tensors, not {input.dtype}")
    return input


def _to(dtype: Any, name: str) -> Callable[..., Tensor]:
    def conversion(input: Tensor, memory_format: Any = None) -> Tensor:
        return input.to(dtype=dtype, memory_format=memory_format)

    return method(free=False)(named(conversion, name, f"Convert to {dtype.name}."))


# ``x.float()`` and so on, defined separately since their names shadow Python's types.
_NAMED = {**dt._ALIASES, "bfloat16": dt.bfloat16, "bool": dt.bool_}
to_dtypes = SimpleNamespace(__name__=__name__, **{name: _to(dtype, name) for name, dtype in _NAMED.items()})
