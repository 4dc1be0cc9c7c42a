"""Functions that create tensors, under PyTorch's names."""

from __future__ import annotations

import math
from collections.abc import Callable
from inspect import Parameter, Signature, signature
from math import ceil, isfinite
from typing import Any

import numpy as np

from ..autograd.observer import announced
from ..autograd.tape import Variable, wrap
from ..autograd.tracebacks import wrapping
from ..backend import Device, device as devices, dtype as dt, for_device
from ..backend.order import laid_as
from ..backend.storage import UntypedStorage
from ..tensor import Size, Tensor
from .arguments import Maybe, raw, sizes, to_array
from .define import attached, function, named


def tensor_on(array: Any, device: Maybe, requires_grad: bool = False) -> Tensor:
    """A tensor on a device (the default device if None), created from a NumPy array."""
    place = _device(device)
    if place is not None and place.type != "cpu":
        array = for_device(place).asarray(array, place)
    tensor: Tensor = wrap(array)
    return tensor.requires_grad_() if requires_grad else tensor


def _device(device: Maybe) -> Device | None:
    """The device, or the default device for None. Returns None if the default is the CPU."""
    return Device(device) if device is not None else devices.default()


def _array_on(device: Maybe, dtype: Any, make: Callable[[Any], Any]) -> Any:
    """A new array on a device. ``make`` receives the array library (NumPy for "meta" and unsupported dtypes)."""
    place = _device(device)
    if place is None or place.type in ("cpu", "meta") or np.dtype(dtype).kind == "V":
        return make(np)
    backend = for_device(place)
    with backend.on(place):
        return make(backend.xp)


def _unset(shape: tuple[int, ...], dtype: Any) -> Any:
    """Zeros that share one element, for the "meta" device, which stores no elements."""
    return np.broadcast_to(np.zeros((), dtype), shape)


class NoDraw:
    """A substitute generator that draws nothing and leaves the stream of random numbers unchanged."""

    def uniform(self, shape: tuple[int, ...], dtype: Any = np.float64) -> Any:
        return _unset(shape, dtype)

    normal = uniform

    def integers(self, low: int, high: int, shape: tuple[int, ...]) -> Any:
        return _unset(shape, np.int64)

    def permutation(self, n: int) -> Any:
        return _unset((n,), np.int64)


def creating(make: Callable[..., Any]) -> Callable[..., Tensor]:
    """Define a tensor factory from a function that returns a NumPy array in ``dtype``, or an array on ``device`` if
    it has that parameter. PyTorch's other keywords are added; ``layout`` and ``pin_memory`` have no effect."""
    draws, places = "generator" in (make.__kwdefaults__ or ()), "device" in make.__annotations__

    def create(
        *args: Any,
        dtype: Maybe = None,
        layout: Any = None,
        device: Maybe = None,
        pin_memory: bool = False,
        requires_grad: bool = False,
        **options: Any,
    ) -> Tensor:
        if draws and (place := _device(device)) is not None and place.type == "meta":
            options["generator"] = NoDraw()
        if places:
            options["device"] = device
        return tensor_on(make(*args, dtype=dtype, **options), device, requires_grad)

    return function(_shown(create, make))


def alike(make: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Define a tensor factory that takes its default dtype and device from its first argument."""

    def create(
        input: Tensor,
        *args: Any,
        dtype: Maybe = None,
        layout: Any = None,
        device: Maybe = None,
        pin_memory: bool = False,
        requires_grad: bool = False,
        memory_format: Any = None,
        **options: Any,
    ) -> Tensor:
        dtype, device = input.dtype if dtype is None else dtype, input.device if device is None else device
        if memory_format not in (None, dt.preserve_format):
            input = input.detach().contiguous(memory_format)
        result = make(input, *args, dtype=dtype, device=device, **options)
        return result.requires_grad_() if requires_grad else result

    return _shown(create, make)


def _shown(create: Callable[..., Tensor], make: Callable[..., Any]) -> Callable[..., Tensor]:
    """Make ``create`` a wrapper of ``make``. In its signature, the keywords of ``create`` replace those of ``make``."""
    annotations, public = create.__annotations__, wrapping(create, make)
    public.__annotations__, public.__wrapped__ = annotations, _Joined(create, make)
    return public


class _Joined:
    """A ``__wrapped__`` value that builds the signature lazily, as building all signatures would slow the import."""

    def __init__(self, create: Callable[..., Any], make: Callable[..., Any]) -> None:
        self._create, self.__wrapped__ = create, make

    @property
    def __signature__(self) -> Signature:
        annotations, keywords = self._create.__annotations__, self._create.__kwdefaults__ or {}
        own = [Parameter(k, Parameter.KEYWORD_ONLY, default=v, annotation=annotations[k]) for k, v in keywords.items()]
        others = [p for name, p in signature(self.__wrapped__).parameters.items() if name not in keywords]
        parameters = sorted([*others, *own], key=lambda p: p.kind)
        return Signature(parameters, return_annotation="Tensor")


def float_dtype(dtype: Maybe) -> Any:
    """The NumPy dtype for ``dtype``, or for the default dtype if None."""
    return (dt.get_default_dtype() if dtype is None else dt.as_dtype(dtype)).numpy


def int_dtype(dtype: Maybe) -> Any:
    """The NumPy dtype for ``dtype``, or int64 if None."""
    return (dt.int64 if dtype is None else dt.as_dtype(dtype)).numpy


def shape_of(size: Any) -> tuple[int, ...]:
    """A shape from one number or a sequence of numbers. Raises RuntimeError if any is negative."""
    shape = sizes(tuple(size) if isinstance(size, (tuple, list)) else (size,))
    if any(n < 0 for n in shape):
        raise RuntimeError(f"Trying to create tensor with negative dimension: {list(shape)}")
    return shape


def sized(size: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[int, ...]:
    """A shape from positional arguments or ``size=``; PyTorch's layout keywords are ignored."""
    size = keywords.pop("size", size)
    for name in ("names", "layout", "pin_memory", "memory_format"):
        keywords.pop(name, None)
    if keywords:
        raise TypeError(f"got an unexpected keyword argument {next(iter(keywords))!r}")
    return shape_of(size)


@announced
@function
def tensor(
    data: Any, *, dtype: Maybe = None, device: Maybe = None, requires_grad: bool = False, pin_memory: bool = False
) -> Tensor:
    """A new tensor with a copy of the data, which may be a number, nested lists, an array or a tensor.

    Python floats get the default dtype (float32), ints int64, and bools bool. Arrays keep their dtype.

    >>> mg.tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    >>> mg.tensor([1.0, 2.0], requires_grad=True)
    tensor([1., 2.], requires_grad=True)
    """
    stays = device is None and isinstance(data, Variable)
    array = to_array(data, dtype, None if stays else _device(device))
    tensor: Tensor = wrap(array.copy() if array is raw(data) else array)
    return tensor.requires_grad_() if requires_grad else tensor


@attached
def __new__(cls: type[Any], *data: Any, device: Maybe = "cpu") -> Any:  # not on the default device
    if len(data) == 1 and isinstance(data[0], Tensor):
        source = data[0]
    elif len(data) == 1 and not isinstance(data[0], (int, Size)):
        source = tensor(data[0], dtype=dt.get_default_dtype(), device=device)
    else:
        source = zeros(*(data or (0,)), device=device)
    return Tensor.as_subclass(source, cls)


@function
def as_tensor(data: Any, dtype: Maybe = None, device: Maybe = None) -> Tensor:
    """Like ``tensor``, but without copying if the dtype and device stay the same.

    >>> mg.as_tensor([1.5, 2.5])
    tensor([1.5000, 2.5000])
    """
    if isinstance(data, Variable) and dtype is None and device is None:
        return data  # type: ignore[return-value]
    if isinstance(data, Variable):
        return data.to(dtype=dtype, device=device)  # type: ignore[attr-defined]
    return wrap(to_array(data, dtype, _device(device)))


@function
def asarray(
    obj: Any, *, dtype: Maybe = None, device: Maybe = None, copy: bool | None = None, requires_grad: bool = False
) -> Tensor:
    """Like ``as_tensor``, or with ``copy=True``, like ``tensor``. A storage becomes a tensor that shares its bytes."""
    if isinstance(obj, UntypedStorage):
        obj = wrap(obj.array)
    result = tensor(obj, dtype=dtype, device=device) if copy else as_tensor(obj, dtype, device)
    return result.requires_grad_() if requires_grad else result


@function
def from_numpy(ndarray: np.ndarray[Any, Any]) -> Tensor:
    """A tensor that shares a NumPy array's memory. Raises TypeError for other objects and for unsupported dtypes.

    >>> import numpy as np
    >>> array = np.array([1.0, 2.0])
    >>> x = mg.from_numpy(array)
    >>> array[0] = 5.0
    >>> x
    tensor([5., 2.], dtype=minigrad.float64)
    """
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    dt.of(ndarray)
    return wrap(ndarray)


@function
def frombuffer(buffer: Any, *, dtype: Maybe, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """A tensor that shares the memory of a buffer (bytes, bytearray, memoryview)."""
    tensor: Tensor = wrap(np.frombuffer(buffer, dt.as_dtype(dtype).numpy, count, offset))
    return tensor.requires_grad_() if requires_grad else tensor


@creating
def from_file(filename: Any, shared: bool | None = None, size: int = 0, *, dtype: Maybe) -> Any:
    """A vector of ``size`` elements in a memory-mapped file. Changes are written to the file if ``shared`` is True."""
    kind = dt.as_dtype(dtype or dt.get_default_dtype())
    return UntypedStorage.from_file(filename, bool(shared), size * kind.itemsize).shown(kind, 0, (size,), None)


@creating
def scalar_tensor(s: Any, *, dtype: Maybe) -> Any:
    """A 0-d tensor that contains a number. It has the default dtype unless ``dtype`` is passed."""
    return np.full((), raw(s), float_dtype(dtype))


def _of_shape(name: str, doc: str) -> Callable[..., Tensor]:
    def create(
        *size: Any, dtype: Maybe = None, device: Maybe = None, requires_grad: bool = False, **size_kw: Any
    ) -> Tensor:
        place, shape, kind = _device(device), sized(size, size_kw), float_dtype(dtype)
        if place is None or place.type in ("cpu", "meta"):
            array = (_unset if place is not None and place.type == "meta" else make)(shape, kind)
        else:
            array = _array_on(place, kind, lambda xp: getattr(xp, name)(shape, kind))
        return tensor_on(array, place, requires_grad)

    make = getattr(np, name)
    return function(named(create, name, doc))


zeros = announced(_of_shape("zeros", "A tensor of zeros with this shape."))
ones = announced(_of_shape("ones", "A tensor of ones with this shape."))
empty = announced(_of_shape("empty", "An uninitialized tensor with this shape."))


@announced
@creating
def full(size: Any, fill_value: Any, *, dtype: Maybe, device: Maybe) -> Any:
    """A tensor of shape ``size`` filled with one number. By default, it has the number's dtype.

    >>> mg.full((2, 2), 7)
    tensor([[7, 7],
            [7, 7]])
    """
    value = raw(fill_value)
    if dtype is None:
        dtype = dt.of(value) if hasattr(value, "dtype") and hasattr(fill_value, "array") else None
    value = value.item() if hasattr(value, "item") else value
    of_value = dt.of_number(value) if dtype is None else dt.as_dtype(dtype)
    shape, kind = shape_of(size), of_value.numpy
    return _array_on(device, kind, lambda xp: xp.full(shape, value if xp is np else np.full((), value, kind)[()], kind))


@creating
def empty_strided(size: Any, stride: Any, *, dtype: Maybe) -> Any:
    """An uninitialized tensor with these strides (in elements)."""
    shape, steps = shape_of(size), sizes((tuple(stride),))
    kind = np.dtype(float_dtype(dtype))
    count = 1 + sum((n - 1) * step for n, step in zip(shape, steps, strict=True)) if 0 not in shape else 0
    return np.ndarray(shape, kind, np.empty(count, kind), strides=tuple(n * kind.itemsize for n in steps))


@function
def empty_permuted(size: Any, physical_layout: Any, *, dtype: Maybe = None, **options: Any) -> Tensor:
    """An uninitialized tensor whose axes are stored in the order ``physical_layout``, without gaps. Raises RuntimeError
    if the layout does not contain each axis exactly once."""
    shape, order = shape_of(size), sizes((tuple(physical_layout),))
    if sorted(order) != [axis for axis, _ in enumerate(shape)]:
        raise RuntimeError(f"empty_permuted: physical_layout {list(order)} must name each of {len(shape)} axes once")
    steps, step = [0] * len(shape), 1
    for place in reversed(order):
        steps[place], step = step, step * max(shape[place], 1)
    return empty_strided(shape, steps, dtype=dtype, **options)


def _laid_as(result: Tensor, like: Tensor) -> Tensor:
    """Give a constant tensor the memory order of another tensor of the same shape."""
    if not like.array.flags.c_contiguous:
        result.array = laid_as(result.array, like.array)
    return result


def _like(make: Callable[..., Tensor], name: str, doc: str) -> Callable[..., Tensor]:
    def like(input: Tensor, *, dtype: Maybe, device: Maybe) -> Tensor:
        result = make(input.array.shape, dtype=dtype, device=device)
        return _laid_as(result, input)

    doc = f"{doc} with the shape and, by default, the dtype and device of another tensor."
    return function(alike(named(like, name, doc)))


zeros_like = _like(zeros, "zeros_like", "Zeros")
ones_like = _like(ones, "ones_like", "Ones")
empty_like = _like(empty, "empty_like", "Uninitialized elements")


@announced
@function
@alike
def full_like(input: Tensor, fill_value: Any, *, dtype: Maybe, device: Maybe) -> Tensor:
    """A tensor filled with one number, with the shape (and by default the dtype and device) of another tensor.

    >>> mg.full_like(mg.zeros(3), 2.5)
    tensor([2.5000, 2.5000, 2.5000])
    """
    return _laid_as(full(input.array.shape, fill_value, dtype=dtype, device=device), input)


@announced
@creating
def arange(*bounds: Any, start: Any = 0, end: Any = None, step: Any = 1, dtype: Maybe, device: Maybe) -> Any:
    """Numbers from ``start`` up to but excluding ``end``. They are int64 unless one of the arguments is a float.

    >>> mg.arange(5)
    tensor([0, 1, 2, 3, 4])
    >>> mg.arange(1, 2, 0.25)
    tensor([1.0000, 1.2500, 1.5000, 1.7500])
    """
    if len(bounds) == 1 and end is None:
        end = bounds[0]
    else:
        start, end, step = (*bounds, *(start, end, step)[len(bounds) :])
    if end is None:
        raise TypeError("arange() takes (end), (start, end) or (start, end, step)")
    first, last, by = (n.item() if hasattr(n, "item") else n for n in (start, end, step))
    if not all(isfinite(n) for n in (first, last)):
        raise RuntimeError(f"arange: unsupported range: {first} -> {last}")
    if by == 0 or (last - first) * by < 0:
        sign = "upper bound and lower bound inconsistent with step sign"
        raise RuntimeError(f"arange: bounds {first} and {last} are inconsistent with step {by}: {sign}")
    if dtype is None:
        floats = any(isinstance(n, float) for n in (first, last, by))
        dtype = dt.get_default_dtype() if floats else dt.int64
    kind = dt.as_dtype(dtype).numpy
    if kind.kind in "iu":
        first, last, by = int(first), int(last), int(by)
    count = ceil((last - first) / by)
    if dt.has_gradient(kind):
        return _array_on(device, kind, lambda xp: (first + xp.arange(count, dtype=np.float64) * by).astype(kind))
    return _array_on(device, kind, lambda xp: xp.arange(first, last, by).astype(kind, copy=False))


@creating
def range(start: float = 0, end: float = 0, step: float = 1, *, dtype: Maybe) -> Any:
    """Floats from ``start`` up to and including ``end``. This is PyTorch's predecessor of ``arange``."""
    count = int((end - start) / step) + 1
    return (start + np.arange(count, dtype=np.float64) * step).astype(float_dtype(dtype))


@announced
@creating
def linspace(start: Any, end: Any, steps: int, *, dtype: Maybe) -> Any:
    """``steps`` evenly spaced numbers from ``start`` to ``end``, both included. For an integer dtype, both bounds are
    truncated first. Raises NotImplementedError for bool.

    >>> mg.linspace(0, 1, 5)
    tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    kind = float_dtype(dtype)
    if kind.kind == "b":
        raise NotImplementedError("linspace is not implemented for bools")
    return _line(start, end, _count(steps, "linspace"), kind).astype(kind)


@creating
def logspace(start: Any, end: Any, steps: int, base: float = 10.0, *, dtype: Maybe) -> Any:
    """``base`` raised to the power of each number that ``linspace`` returns."""
    kind = float_dtype(dtype)
    return (float(base) ** _line(start, end, _count(steps, "logspace"), kind)).astype(kind)


def _line(start: Any, end: Any, steps: int, dtype: Any) -> Any:
    """Evenly spaced numbers in float64, computed from both ends as in PyTorch, so that rounding is the same."""
    first, last = float(start), float(end)
    if dtype.kind in "iu" and steps > 1:
        if not (math.isfinite(first) and math.isfinite(last)):
            raise RuntimeError(f"{first} and {last} cannot be converted to {dtype} without overflow")
        first, last = float(int(first)), float(int(last))
    i = np.arange(steps)
    with np.errstate(all="ignore"):
        step = (last - first) / max(steps - 1, 1)
        return np.where((i < steps // 2) | (steps == 1), first + step * i, last - step * (steps - 1 - i))


def _count(steps: Any, name: str) -> int:
    if not hasattr(steps, "__index__"):
        raise TypeError(f"{name}(): steps must be an int, not {type(steps).__name__}")
    if steps < 0:
        raise RuntimeError(f"{name}: number of steps must be non-negative, not {steps}")
    return int(steps)


@announced
@creating
def eye(n: int, m: int | None = None, *, dtype: Maybe) -> Any:
    """An n by m matrix with ones on the diagonal.

    >>> mg.eye(3)
    tensor([[1., 0., 0.],
            [0., 1., 0.],
            [0., 0., 1.]])
    """
    if n < 0 or (m is not None and m < 0):
        raise RuntimeError(f"eye: n and m must be greater or equal to 0, not {n} and {n if m is None else m}")
    return np.eye(n, m, dtype=float_dtype(dtype))


def _triangle(find: Callable[..., Any], name: str, side: str) -> Callable[..., Tensor]:
    def indices(row: int, col: int, offset: int = 0, *, dtype: Maybe) -> Any:
        return np.stack(find(row, offset, col)).astype(int_dtype(dtype))

    doc = f"The indices of the {side} triangle of a (row, col) matrix, as a (2, N) tensor."
    return creating(named(indices, name, doc))


tril_indices = _triangle(np.tril_indices, "tril_indices", "lower")
triu_indices = _triangle(np.triu_indices, "triu_indices", "upper")
