"""The "meta" device, whose arrays have a shape, strides and a dtype, but no elements. A model on it takes no memory,
which helps to infer shapes or to load tensors from a file. Ops need no extra shape rules, as their forward function
runs on substitutes. If all lengths in the result are lengths of operands (arithmetic, reductions, matrix products,
sorting), the substitutes are tiny: each distinct length is replaced with a small one. A view shares the imaginary
memory of its base. Everything else runs at full size, on zeros that share one element."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import nullcontext
from functools import partial
from types import ModuleType, SimpleNamespace
from typing import Any, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.lib.stride_tricks import as_strided

from .device import NO_DATA, Device

_META = Device("meta")
_ATTRIBUTES = frozenset(("shape", "dtype", "ndim", "size", "strides", "itemsize", "nbytes", "flags"))
# Functions that return views; whose results only have lengths of their operands; and whose shapes depend on values.
_VIEWS = "as_strided broadcast_to diagonal expand_dims imag moveaxis real squeeze swapaxes transpose"
_LENGTHS_OF_OPERANDS = """
    all amax amin angle any argmax argmin argpartition argsort array ascontiguousarray clip conjugate count_nonzero
    cumprod cumsum dot einsum empty_like flip full_like isneginf isposinf matmul max mean median min nan_to_num nanmean
    nansum ones_like outer prod roll round sort std sum take take_along_axis tensordot trace tril triu var where
    zeros_like
"""
_BY_VALUES = "argwhere bincount compress extract flatnonzero nonzero unique"


class MetaArray(NDArrayOperatorsMixin):
    """An array without elements, with NumPy's interface. ``like`` is a NumPy array of its shape, strides and dtype,
    whose elements are never read, and ``base`` is the array whose memory it would share."""

    __slots__ = ("__weakref__", "_like", "base")

    def __init__(self, like: Any, base: MetaArray | None = None) -> None:
        self._like = like
        self.base: MetaArray | None = base

    def __getattr__(self, name: str) -> Any:
        if name in _ATTRIBUTES:
            return getattr(self._like, name)
        if name in ("T", "real", "imag"):
            return getattr(XP, "transpose" if name == "T" else name)(self)
        if name.startswith("__") or not hasattr(np.ndarray, name):
            raise AttributeError(name)
        return partial(getattr(XP, name), self)

    @property
    def data(self) -> Any:
        """The address, which is 0 or a view's offset."""
        memory = self._like if self.base is None else self.base._like
        places = (array.__array_interface__["data"][0] for array in (self._like, memory))
        return SimpleNamespace(ptr=next(places) - next(places))

    def item(self, *index: int) -> NoReturn:
        raise RuntimeError("Tensor.item() cannot be called on meta tensors")

    def tolist(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(NO_DATA)

    tobytes = __array__ = tolist
    __bool__ = __int__ = __float__ = item

    def __len__(self) -> int:
        return len(self._like)

    def __reduce__(self) -> tuple[Any, ...]:
        return _laid_out, (self.shape, self.dtype, self.strides)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return None if method == "at" else _call(getattr(ufunc, method), True, inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return getattr(XP, function.__name__)(*args, **kwargs)

    def __getitem__(self, index: Any) -> Any:
        parts = index if isinstance(index, tuple) else (index,)
        if not any(isinstance(part, (MetaArray, np.ndarray, list)) for part in parts):
            return _view(self._like[(*parts, ...) if Ellipsis not in parts else parts], self)
        if any(getattr(part, "dtype", None) == np.bool_ for part in parts):
            raise NotImplementedError("the number of elements that a mask selects is unknown on 'meta': no data!")
        return _call(np.ndarray.__getitem__, False, (self, parts), {})

    def __setitem__(self, index: Any, value: Any) -> None:
        """Check the shapes without writing anything."""
        parts = index if isinstance(index, tuple) else (index,)
        if isinstance(value, MetaArray) and not any(isinstance(part, (MetaArray, np.ndarray)) for part in parts):
            np.broadcast_to(_zeros(value.shape, np.bool_), self._like[parts].shape)

    def fill(self, value: Any) -> None:
        """Do nothing, as there are no elements."""

    def astype(self, dtype: Any, order: str = "K", copy: bool = True, **options: Any) -> MetaArray:
        return self if not copy and self.dtype == dtype else _dense(self.shape, np.dtype(dtype), _order(self._like))

    def copy(self, order: str = "C") -> MetaArray:
        """A copy, which has no memory either."""
        return _dense(self.shape, self.dtype, _order(self._like) if order in "KA" else None)

    def view(self, dtype: Any) -> MetaArray:
        return _view(self._like.view(dtype), self)

    def reshape(self, *size: Any, **options: Any) -> MetaArray:
        size = size[0] if len(size) == 1 else size
        try:
            return _view(np.reshape(self._like, size, copy=False), self)
        except (TypeError, ValueError):  # reshaping needs a copy (TypeError: NumPy before 2.1 lacks the keyword)
            return _dense(np.reshape(_zeros(self.shape, np.bool_), size).shape, self.dtype)

    def transpose(self, *axes: Any) -> MetaArray:
        return _view(self._like.transpose(*axes), self)


def _order(array: Any) -> list[int]:
    """The axes from the outermost in memory to the innermost."""
    return sorted(range(array.ndim), key=lambda axis: -array.strides[axis])


def _dense(shape: Iterable[int], dtype: Any, order: list[int] | None = None) -> MetaArray:
    """A new array with its axes in this order in memory."""
    shape = tuple(shape)
    strides, step = [0] * len(shape), dtype.itemsize
    for axis in reversed(order or range(len(shape))):
        strides[axis], step = step, step * max(shape[axis], 1)
    return _laid_out(shape, dtype, tuple(strides))


def _laid_out(shape: tuple[int, ...], dtype: Any, strides: tuple[int, ...]) -> MetaArray:
    return MetaArray(as_strided(np.zeros(1, dtype), shape, strides))


def _view(like: Any, of: MetaArray) -> MetaArray:
    return MetaArray(like, of if of.base is None else of.base)


def _zeros(shape: Any, dtype: Any = np.float64, *args: Any, **kwargs: Any) -> Any:
    """Read-only zeros that share one element."""
    return np.broadcast_to(np.zeros((), dtype), shape)


def _each(change: Callable[[Any], Any], value: Any, kinds: Any) -> Any:
    """A nested value with ``change`` applied to parts of these types."""
    if isinstance(value, kinds):
        return change(value)
    if isinstance(value, (tuple, list)):
        parts = [_each(change, part, kinds) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value


def _call(function: Any, small: bool, args: Any, kwargs: Any) -> Any:
    """The result of a NumPy function on arrays without elements. ``small``: all its lengths are operand lengths."""
    out = kwargs.pop("out", None)
    operands: list[MetaArray] = []
    _each(operands.append, [args, list(kwargs.values())], MetaArray)
    lengths = dict.fromkeys(n for a in operands for n in a.shape if n > 1) if small else {}
    short = {n: i for i, n in enumerate(lengths, 2)}
    long = {i: n for n, i in short.items()}

    def stand_in(a: MetaArray) -> Any:
        if not small:
            return _zeros(a.shape, a.dtype)
        order = _order(a._like)
        zeros = np.zeros([short.get(a.shape[axis], a.shape[axis]) for axis in order], a.dtype)
        return zeros.transpose([order.index(axis) for axis in range(a.ndim)])

    def absent(result: Any) -> MetaArray:
        return _dense((long.get(n, n) for n in result.shape), result.dtype, _order(result) if small else None)

    with np.errstate(all="ignore"):
        values = {name: _each(stand_in, value, MetaArray) for name, value in kwargs.items()}
        result = function(*_each(stand_in, args, MetaArray), **values)
    if out is not None:
        return out[0] if isinstance(out, tuple) and len(out) == 1 else out
    return _each(absent, result, (np.ndarray, np.generic) if operands else np.ndarray)


def _concatenate(arrays: Any, axis: int = 0) -> MetaArray:
    """Concatenate: the other lengths and the dtype are computed from arrays of length 0 along the axis."""
    lead = (slice(None),) * (axis % arrays[0].ndim)
    none = np.concatenate([a._like[(*lead, slice(0))] for a in arrays], axis)
    shape = list(none.shape)
    shape[axis] = sum(a.shape[axis] for a in arrays)
    return _dense(shape, none.dtype)


def _stack(arrays: Any, axis: int = 0) -> MetaArray:
    return _concatenate([XP.expand_dims(a, axis) for a in arrays], axis)


def _repeat(x: Any, repeats: Any, axis: int | None = None) -> Any:
    return _refuse("repeat") if isinstance(repeats, MetaArray) else _call(np.repeat, False, (x, repeats, axis), {})


def _refuse(name: str, *args: Any, **kwargs: Any) -> NoReturn:
    raise NotImplementedError(f"the shape of {name}'s result depends on values, but meta tensors have no data!")


def _show(function: Any, x: MetaArray, *args: Any, **kwargs: Any) -> Any:
    return _view(function(x._like, *args, **kwargs), x)


def _full(shape: Any, fill_value: Any, dtype: Any = None, **options: Any) -> Any:
    return _zeros(shape, np.asarray(fill_value, dtype).dtype)


class Namespace:
    """The functions of NumPy (or one of its modules) for arrays without elements."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module
        if module is np:
            self.reshape, self.ravel = MetaArray.reshape, lambda x, order="C": x.reshape(-1)
            self.concatenate, self.stack, self.repeat = _concatenate, _stack, _repeat

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._module, name)
        if isinstance(value, ModuleType):
            return Namespace(value)
        if not callable(value) or isinstance(value, (type, np.ufunc)):
            return value
        if name in _BY_VALUES.split():
            return partial(_refuse, name)
        if name in _VIEWS.split():
            return partial(_show, value)
        value = _IN_ITS_PLACE.get(name, value)
        return lambda *args, **kwargs: _call(value, name in _LENGTHS_OF_OPERANDS.split(), args, kwargs)


_IN_ITS_PLACE: dict[str, Any] = {
    **dict.fromkeys(("empty", "ones", "zeros"), _zeros),
    "argpartition": lambda x, kth, axis=-1: np.argsort(x, axis),
    "full": _full,
}
XP: Any = Namespace(np)


class MetaBackend:
    """Arrays are ``MetaArray``, and there are no kernels."""

    name = device_type = "meta"
    array_type: type = MetaArray
    xp, on = XP, nullcontext

    def device_of(self, array: Any) -> Device:
        return _META

    def asarray(self, array: Any, device: Device) -> MetaArray:
        return array if isinstance(array, MetaArray) else _dense(array.shape, array.dtype, _order(array))

    def to_numpy(self, array: Any) -> NoReturn:
        raise NotImplementedError(NO_DATA)

    later = to_numpy

    def kernels(self, name: str) -> tuple[()]:
        """No kernels, as there is nothing to compute."""
        return ()

    def keep_mask(self, shape: tuple[int, ...], p: float, device: Device) -> MetaArray:
        return _dense(shape, np.dtype(bool))


load = MetaBackend
