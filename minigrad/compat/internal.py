"""PyTorch's private functions and classes that libraries nevertheless call, and array exchange through DLPack."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from contextlib import ContextDecorator, suppress
from functools import partial
from importlib import import_module
from operator import attrgetter
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from ..autograd.mode import state
from ..backend import Device
from ..backend.dtype import bool_, int64
from ..cuda import current_device, is_available
from ..extension import PACKAGE
from ..functions.conversion import target_of
from ..functions.creation import from_numpy, tensor
from ..functions.shaping import cat
from ..nn.module import Module
from ..tensor import Tensor
from .func import swap

Message = Callable[[], Any] | None
_EXTRA_STATE_KEY_SUFFIX = "_extra_state"

# Devices ----------------------------------------------------------------------------------------------------


class OutOfMemoryError(RuntimeError):
    """Raised when a GPU runs out of memory. If CuPy is installed, this is CuPy's error of the same name."""


with suppress(ImportError):
    OutOfMemoryError = import_module("cupy").cuda.memory.OutOfMemoryError  # type: ignore[misc]


def current_accelerator(check_available: bool = False) -> Device | None:
    """The "cuda" device, or None without a GPU."""
    return Device("cuda") if is_available() else None


_get_available_device_type = lambda: "cuda" if is_available() else None


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """The index of a device. If it has none, return the current one if ``optional``, and raise ValueError otherwise."""
    if isinstance(device, int):
        return device
    device = Device("cuda" if device is None else device)
    if device.type == "cpu":
        if allow_cpu:
            return -1
        raise ValueError(f"Expected a non cpu device, but got: {device}")
    if device.index is None and not optional:
        raise ValueError(f"Expected a torch.device with a specified index or an integer, but got: {device}")
    return current_device() if device.index is None else int(device.index)


def get_device_module(device: Any = "cpu") -> ModuleType:
    """``torch.cuda`` for "cuda", and so on."""
    return import_module(f"{PACKAGE}.{Device(device).type}")


_get_device_module = get_device_module


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Device | None, Any, bool, Any]:
    """(device, dtype, non_blocking, memory_format) from the arguments of ``Tensor.to``."""
    dtype, device, blocking, _ = target_of(args, kwargs.get("dtype"), kwargs.get("device"))
    blocking = kwargs.get("non_blocking", blocking)
    return None if device is None else Device(device), dtype, blocking, kwargs.get("memory_format")


# Tensors ----------------------------------------------------------------------------------------------------


def _flatten_dense_tensors(tensors: Iterable[Tensor]) -> Tensor:
    """All elements of tensors with the same dtype, concatenated."""
    return cat([tensor.reshape(-1) for tensor in tensors])


def _unflatten_dense_tensors(flat: Tensor, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Split a flat tensor into tensors with the shapes of ``tensors``."""
    pieces = flat.split([tensor.numel() for tensor in tensors])
    return tuple(piece.view_as(tensor) for piece, tensor in zip(pieces, tensors, strict=True))


_shape_as_tensor = lambda input: tensor(list(input.shape), dtype=int64)
_element_size = attrgetter("itemsize")  # of a dtype


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor that shares memory with another library's array or a DLPack capsule."""
    source = ext_tensor
    if not hasattr(ext_tensor, "__dlpack__"):  # a main-memory capsule; NumPy needs an object that exports it
        source = SimpleNamespace(__dlpack__=lambda **options: ext_tensor, __dlpack_device__=lambda: (1, 0))
    result = from_numpy(np.from_dlpack(source)).to(device)
    return result.clone() if copy else result


to_dlpack = Tensor.__dlpack__


class WeakIdKeyDictionary(MutableMapping[Any, Any]):
    """A mapping with weak keys, compared by identity."""

    def __init__(self, dict: Any = None, ref_type: Any = None) -> None:
        self._items: Any = {}
        self.update(dict or {})

    def __setitem__(self, key: Any, value: Any) -> None:
        items, number = self._items, id(key)
        self._items[number] = weakref.ref(key, lambda _: items.pop(number, None)), value

    def __getitem__(self, key: Any) -> Any:
        return self._items[id(key)][1]

    def __delitem__(self, key: Any) -> None:
        del self._items[id(key)]

    def __iter__(self) -> Iterator[Any]:
        return iter([key for reference, _ in self._items.values() if (key := reference()) is not None])

    def __len__(self) -> int:
        return len(self._items)


WeakTensorKeyDictionary = WeakIdKeyDictionary
TensorWeakRef = weakref.ref

# Modules ----------------------------------------------------------------------------------------------------


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Remove a prefix, such as DataParallel's "module.", from a state dict's names and metadata, in place."""
    for names in (state_dict, getattr(state_dict, "_metadata", {})):
        for name in list(names):
            if name.startswith(prefix) or (names is not state_dict and name == prefix.rstrip(".")):
                names[name[len(prefix) :]] = names.pop(name)


def swap_tensor(module: Any, name: str, tensor: Any, allow_missing: bool = False) -> Any:
    """Replace a module's parameter or buffer with another tensor of any class. Returns the old one. Raises
    AttributeError if the module lacks the attribute and ``allow_missing`` is False."""
    before = getattr(module, name, None) if allow_missing else getattr(module, name)
    swap(module, name, tensor)
    return before


class _DecoratorContextManager(ContextDecorator):
    """A context that also decorates functions: each call enters a ``clone`` of it."""

    def _recreate_cm(self) -> Any:
        return self.clone()

    def clone(self) -> Any:
        return type(self)()


# Kept from PyTorch's earlier releases ------------------------------------------------------------------------


class ScriptModule(Module):
    """PyTorch's class of compiled modules. Nothing is compiled here, but programs check for it and subclass it."""


class TracerWarning(Warning):
    """The warning issued by PyTorch's tracer, but never by minigrad."""


class _AnyTensor(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=_AnyTensor):
    """``torch.autograd.Variable``, which creates a leaf that shares memory with ``data``, or an empty leaf if it is
    None. (Early PyTorch needed it for gradients.) ``volatile``, a precursor of ``no_grad``, is ignored, as in PyTorch.
    Raises TypeError if ``data`` is not a tensor, and ValueError for ``volatile`` with ``requires_grad``."""

    def __new__(cls, data: Any = None, requires_grad: bool = False, volatile: bool | None = None) -> Any:
        if data is not None and not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        if volatile and requires_grad:
            raise ValueError("Variable can't be volatile and require_grad at the same time!")
        leaf = tensor([]) if data is None else data.detach()
        return leaf.requires_grad_(requires_grad)

    class _execution_engine:
        """PyTorch's name for the engine, for libraries that register callbacks for the end of a backward pass."""

        @staticmethod
        def queue_callback(callback: Callable[[], None]) -> None:
            """Call a function at the end of the current backward pass. Raises RuntimeError outside a backward pass."""
            if state.walk is None:
                raise RuntimeError("Final callbacks can only be installed during backward pass.")
            state.walk.callbacks.append(callback)


# Checks, whose messages are built only when needed ----------------------------------------------------------


def _assert(condition: Any, message: Any) -> None:
    """``assert`` as a function, which works even under ``python -O``. Raises AssertionError."""
    if not condition:
        raise AssertionError(message)


def _check_with(error_type: type[Exception], cond: bool, message: Message = None) -> None:
    """Raise an error if a condition is False. ``message`` is a function without arguments that returns the text. Raises
    TypeError if ``cond`` is not a bool, or ``message`` is not a function."""
    if not isinstance(cond, bool):
        hint = ". For tensors, use torch._check_tensor_all()" if isinstance(cond, Tensor) else ""
        raise TypeError(f"cond must be a bool, but got {type(cond)}{hint}")
    if cond:
        return
    if message is not None and not callable(message):
        raise TypeError("message must be a callable")
    raise error_type(str(message()) if message else "Expected cond to be True, but got False.")


def _check_tensor_all_with(error_type: type[Exception], cond: Tensor, message: Message = None) -> None:
    """``_check_with`` for a tensor of bools, all of which must be True."""
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype is not bool_:
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _check_with(error_type, bool(cond.all().item()), message)


_check = partial(_check_with, RuntimeError)
_check_tensor_all = partial(_check_tensor_all_with, RuntimeError)
