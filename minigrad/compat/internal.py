"""Functions that PyTorch keeps for itself and libraries call nevertheless, and arrays handed on by DLPack."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import wraps
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from ..backend import Device
from ..backend.dtype import int64
from ..cuda import current_device, is_available
from ..extension import PACKAGE
from ..functions.conversion import target_of
from ..functions.creation import from_numpy, tensor
from ..functions.shaping import cat
from ..tensor import Tensor
from .func.stateless import swap

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"


class TracerWarning(Warning):
    """What PyTorch's recorder of programs warns with; here nothing does."""


# torch._utils -----------------------------------------------------------------------------------------------


def _flatten_dense_tensors(tensors: Iterable[Tensor]) -> Tensor:
    """All elements of tensors of one dtype, one after another."""
    return cat([tensor.reshape(-1) for tensor in tensors])


def _unflatten_dense_tensors(flat: Tensor, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Pieces of a flat tensor in the shapes of tensors."""
    pieces = flat.split([tensor.numel() for tensor in tensors])
    return tuple(piece.view_as(tensor) for piece, tensor in zip(pieces, tensors, strict=True))


def _get_available_device_type() -> str | None:
    """ "cuda", or None where there is none."""
    return "cuda" if is_available() else None


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """The number of a device; with ``optional``, the current one's for a device without a number.

    Raises:
        ValueError: it has none.
    """
    if isinstance(device, int):
        return device
    found = Device(device) if device is not None else Device("cuda")
    if found.type == "cpu":
        if allow_cpu:
            return -1
        raise ValueError(f"Expected a non cpu device, but got: {device}")
    if found.index is None and not optional:
        raise ValueError(f"Expected a torch.device with a specified index or an integer, but got: {device}")
    return current_device() if found.index is None else found.index


def get_device_module(device: Any = "cpu") -> ModuleType:
    """``torch.cuda`` for "cuda", and so on."""
    return import_module(f"{PACKAGE}.{Device(device).type}")


_get_device_module = get_device_module


def _shape_as_tensor(input: Tensor) -> Tensor:
    """The shape as int64."""
    return tensor(list(input.shape), dtype=int64)


def _element_size(dtype: Any) -> int:
    """Bytes an element."""
    return int(dtype.itemsize)


# torch._C ---------------------------------------------------------------------------------------------------


def parse_to(*args: Any, **kwargs: Any) -> tuple[Device | None, Any, bool, Any]:
    """(device, dtype, non_blocking, memory_format) of the arguments of ``Tensor.to``: ``torch._C._nn._parse_to``."""
    dtype, device, blocking, _ = target_of(args, kwargs.get("dtype"), kwargs.get("device"))
    blocking = kwargs.get("non_blocking", blocking)
    return None if device is None else Device(device), dtype, blocking, kwargs.get("memory_format")


# torch.nn.modules.utils -------------------------------------------------------------------------------------


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Take a prefix, such as DataParallel's "module.", from the names of a state dict and of its metadata, in place."""
    for names in (state_dict, getattr(state_dict, "_metadata", {})):
        for name in [name for name in names if name.startswith(prefix) or name == prefix.rstrip(".")]:
            if names is state_dict and not name.startswith(prefix):
                continue
            names[name[len(prefix) :]] = names.pop(name)


# torch.nn._reduction -----------------------------------------------------------------------------------------

_REDUCTIONS = {"none": 0, "mean": 1, "elementwise_mean": 1, "sum": 2}


def get_enum(reduction: str) -> int:
    """The number of a loss's reduction. Raises ValueError if there is none of that name."""
    if reduction not in _REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return _REDUCTIONS[reduction]


def legacy_get_string(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> str:
    """The reduction that the two arguments before it meant."""
    return "none" if reduce is False else "sum" if size_average is False else "mean"


def legacy_get_enum(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> int:
    """The number of ``legacy_get_string``."""
    return get_enum(legacy_get_string(size_average, reduce))


# torch.utils.dlpack -----------------------------------------------------------------------------------------


class _Capsule:
    """A capsule of main memory, as an object that hands it out, as NumPy wants it."""

    def __init__(self, capsule: Any) -> None:
        self.__dlpack__ = lambda **options: capsule
        self.__dlpack_device__ = lambda: (1, 0)


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor in the memory of another library's array, or of a capsule."""
    if not hasattr(ext_tensor, "__dlpack__"):
        ext_tensor = _Capsule(ext_tensor)
    made = from_numpy(np.from_dlpack(ext_tensor)).to(device)
    return made.clone() if copy else made


def to_dlpack(tensor: Tensor) -> Any:
    """A capsule of a tensor's memory."""
    return tensor.__dlpack__()


# torch.utils._contextlib ------------------------------------------------------------------------------------


class _DecoratorContextManager:
    """A context that decorates functions as well: each call enters a ``clone`` of it."""

    def __call__(self, orig_func: Any) -> Any:
        @wraps(orig_func)
        def decorated(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return orig_func(*args, **kwargs)

        return decorated

    def __enter__(self) -> Any:
        raise NotImplementedError

    def __exit__(self, *raised: object) -> None:
        raise NotImplementedError

    def clone(self) -> Any:
        """Another such context."""
        return type(self)()


# torch.nn.utils._named_member_accessor ----------------------------------------------------------------------


def swap_tensor(module: Any, name: str, tensor: Any, allow_missing: bool = False) -> Any:
    """Put another tensor in a module's place for a parameter or buffer, whatever its class. Returns the one before.

    Raises:
        AttributeError: the module has no such attribute, and ``allow_missing`` is False.
    """
    before = getattr(module, name, None) if allow_missing else getattr(module, name)
    swap(module, name, tensor)
    return before
