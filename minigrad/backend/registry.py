"""Finds the backend for an array or a device. A backend is an object with the attributes of ``Backend``."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from . import device as _device
from .device import Device
from .dtype import Array

if TYPE_CHECKING:  # creating a Protocol takes 2% of minigrad's import time
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from typing import Protocol

    class Backend(Protocol):
        """The interface to an array library for the rest of minigrad."""

        name: str
        device_type: str
        array_type: type
        xp: Any  # the array namespace: numpy, cupy

        # The device of an array.
        def device_of(self, array: Array) -> Device: ...
        # A context in which ``xp`` creates arrays on ``device``.
        def on(self, device: Device) -> AbstractContextManager[Any]: ...
        # Convert a NumPy array (or an array of this backend) to an array on ``device``.
        def asarray(self, array: np.ndarray[Any, Any], device: Device) -> Array: ...
        # A NumPy copy of the array; on the CPU, the array itself.
        def to_numpy(self, array: Array) -> np.ndarray[Any, Any]: ...
        # Start copying to a NumPy array, and return a function that waits for the copy, but not for later work.
        def later(self, array: Array) -> Callable[[], np.ndarray[Any, Any]]: ...
        # The fused kernels with this name, fastest first. If none supports the arguments, the definition runs.
        def kernels(self, name: str) -> tuple[Any, ...]: ...
        # A dropout mask: a bool array whose elements are False with probability ``p``, or a ``random.Draw``.
        def keep_mask(self, shape: tuple[int, ...], p: float, device: Device) -> Any: ...


def xp(array: Any) -> Any:
    """The namespace of an array's library, or NumPy for Python and NumPy scalars."""
    return np if type(array) is np.ndarray else of(array).xp


def in_order(array: Any) -> Any:
    """The array or a C-contiguous copy, so that ``view`` accepts any shape. NumPy's results follow the strides of the
    operands, while many of PyTorch's are contiguous."""
    return array if array.flags.c_contiguous else array.copy()


def where_holds(array: Any, mask: Any) -> Any:
    """The array where the mask is True, and 0 elsewhere, even for infinities and NaN, whose product with 0 is NaN.
    NumPy's ``where`` branches on each element, which takes 20 times as long if the mask is random. On the CPU, this
    function therefore multiplies the elements' bits as integers, which is as fast as multiplying floats."""
    bits = _BITS.get(array.itemsize) if type(array) is np.ndarray else None
    if bits is None:
        return xp(array).where(mask, array, array.dtype.type(0))
    return (array.view(bits) * mask).view(array.dtype)


def address(array: Any) -> int:
    """The address of an array's first element."""
    data = getattr(array, "ctypes", None) or array.data
    return int(data.data if hasattr(data, "data") else data.ptr)


def of(array: Any) -> Backend:
    """The backend to which an array belongs."""
    try:
        return _by_type[type(array)]
    except KeyError:
        for kind, backend in _by_type.items():  # subclasses, such as numpy.memmap
            if isinstance(array, kind):
                return backend
        return _by_type[np.ndarray]  # NumPy and Python scalars


def for_device(device: Device) -> Backend:
    """The backend for a device. Raises RuntimeError, with advice, if the device does not exist here."""
    backend = _by_device.get(device.type)
    if backend is None:
        if device.type not in ("cuda", "meta"):
            raise RuntimeError(f"minigrad does not support {device.type!r} tensors: use 'cpu' or 'cuda'")
        backend = import_module(f"{__package__}.{device.type}").load()
        register(backend)
    return backend


def register(backend: Backend) -> None:
    """Register a backend for its array type and its device type."""
    _device.add_type(backend.device_type)
    _by_type[backend.array_type] = backend
    _by_device[backend.device_type] = backend


def holds(condition: Array) -> bool:
    """Whether any element of a bool array is True. False on "meta", which has no elements."""
    return of(condition).device_type != "meta" and bool(condition.any())


def check_indices(indices: Array, rows: int, name: str, error: type[Exception] = IndexError, where: str = "") -> None:
    """Raise an error for indices outside 0 .. rows - 1 (only on the CPU, as the check would have to wait for a GPU)."""
    if of(indices).device_type == "cpu" and indices.size:
        if indices.dtype is _INT64 and (unsigned := indices.view(_UINT64)).item(unsigned.argmax()) < rows:
            return  # as unsigned, negative numbers are largest; ``max`` takes five times as long
        low, high = int(np.min(indices)), int(np.max(indices))
        if low < 0 or high >= rows:
            bad = low if low < 0 else high
            raise error(f"{name}: index {bad} is out of range: indices must be in 0 .. {rows - 1}{where}")


def is_array(value: Any) -> bool:
    """Whether a value is an array of some backend (or a NumPy scalar)."""
    return type(value) in _by_type or isinstance(value, (*_by_type, np.generic))


_INT64, _UINT64 = np.dtype(np.int64), np.dtype(np.uint64)
_BITS = {size: np.dtype(f"i{size}") for size in (1, 2, 4, 8)}  # by the bytes of an element
_by_type: dict[type, Backend] = {}
ARRAY_TYPES = _by_type.keys()
_by_device: dict[str, Backend] = {}
