"""What a pickle may name when nothing in it may run: plain containers, NumPy's arrays, tensors, and the
classes that a program says are safe.
"""

from __future__ import annotations

import pickle
import re
from argparse import Namespace
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from enum import EnumMeta
from types import FunctionType, MethodType, SimpleNamespace
from typing import Any

import numpy as np

from ..backend.device import Device
from ..backend.dtype import named
from ..tensor import Size
from .machine import check_key
from .source import Ndarray

Name = tuple[str, str]  # module, name
_NUMPY_KINDS = "biufcUS"

# The program's own ------------------------------------------------------------------------------------------

_safe: dict[Name, Any] = {}


def _name(entry: Any) -> tuple[Name, Any]:
    """A class or function with the name that files have for it: its own, or the one given with it."""
    if isinstance(entry, tuple):
        entry, full = entry
        module, _, name = full.rpartition(".")
        return (module, name), entry
    if not callable(entry):
        raise TypeError(f"safe globals are classes and functions, or (class, 'module.name'), not {entry!r}")
    return (entry.__module__, entry.__qualname__), entry


def add_safe_globals(safe_globals: Iterable[Any]) -> None:
    """Let ``load`` make objects of these classes, and call these functions, also with ``weights_only=True``.

    Args:
        safe_globals: classes or functions; (class, "module.Name") for one that files know by another name.
    """
    _safe.update(_name(entry) for entry in safe_globals)


def get_safe_globals() -> list[Any]:
    """What ``add_safe_globals`` has been given."""
    return list(_safe.values())


def clear_safe_globals() -> None:
    """Forget what ``add_safe_globals`` has been given."""
    _safe.clear()


class safe_globals:
    """``with safe_globals([GPTConfig]): load(f)``: for the time being, as by ``add_safe_globals``."""

    def __init__(self, safe_globals: Iterable[Any]) -> None:
        self.given = list(safe_globals)

    def __enter__(self) -> None:
        self._before = dict(_safe)
        add_safe_globals(self.given)

    def __exit__(self, *raised: object) -> None:
        _safe.clear()
        _safe.update(self._before)


# The library's own ------------------------------------------------------------------------------------------


class Allowed:
    """Looks names up, calls, makes and fills, all within what is allowed.

    Args:
        told: the file, for messages.
        values: objects by name, which may be arguments.
        functions: those of them that may be called, each with what is called in its place.
    """

    def __init__(self, told: str, values: dict[Name, Any], functions: dict[Any, Callable[..., Any]]) -> None:
        self._told = told
        self._values = _VALUES | values
        self._functions = _FUNCTIONS | functions
        self._user = dict(_safe)
        self._hollow: dict[int, Any] = {}  # arrays and dtypes that wait for their state

    def find(self, module: str, name: str) -> Any:
        """The object of a name.

        Raises:
            pickle.UnpicklingError: it is not among those that are allowed.
        """
        key = (_PYTHON_2.get(module, module), name)
        if key in self._values:
            return self._values[key]
        if (module, name) in self._user:
            return self._user[module, name]
        raise refusal(self._told, module, name)

    def call(self, function: Any, args: tuple[Any, ...]) -> Any:
        """What a function that may be called returns."""
        if isinstance(function, (type, FunctionType, MethodType)) and function in self._functions:
            made = self._functions[function](*args)
            if type(made) is np.ndarray or isinstance(made, np.dtype):
                self._hollow[id(made)] = made
            return made
        if self._is_users(function):
            return function(*args)
        raise pickle.UnpicklingError(
            f"cannot load {self._told}: it calls {function!r}, which nothing that is loaded may. What to do: "
            "do not trust this file"
        )

    def new(self, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """An object without a state, of a class that may be made."""
        if isinstance(cls, type) and cls in _NEW and not kwargs:
            return _NEW[cls](*args)
        if isinstance(cls, type) and self._is_users(cls):
            return cls.__new__(cls, *args, **kwargs)
        return self.call(cls, args)  # refuses, mostly

    def build(self, made: Any, state: Any) -> None:
        """Give an object its state."""
        if id(made) in self._hollow:
            fill = _fill_array if type(made) is np.ndarray else _fill_dtype
            fill(self._hollow.pop(id(made)), state)
        elif type(made) in (OrderedDict, Namespace, SimpleNamespace):
            vars(made).update(_attributes(made, state))
        elif self._is_users(type(made)):
            _give_state(made, state)
        else:
            raise TypeError(f"its pickle gives a {type(made).__name__} a state")

    def _is_users(self, candidate: Any) -> bool:
        return any(candidate is safe for safe in self._user.values())


def refusal(told: str, module: str, name: str) -> pickle.UnpicklingError:
    """The error for a name that is not allowed, which says what it is and what can be done."""
    what, repair = (
        f"the class or function {module}.{name}",
        (
            "if you trust where it comes from, load(..., weights_only=False), which lets it run code; or allow "
            f"this one alone: with minigrad.serialization.safe_globals([{name}])"
        ),
    )
    if module.partition(".")[0] == "torch":
        what = f"{module}.{name}, an object that only PyTorch can make"
        repair = (
            "in PyTorch, save dense tensors of common dtypes in plain containers: model.state_dict(), not "
            "the model itself"
        )
    elif module.startswith("minigrad."):
        repair = "load(..., weights_only=False) if you trust where it comes from; or save its state_dict()"
    return pickle.UnpicklingError(f"cannot load {told}: it holds {what}. What to do: {repair}.")


def _attributes(made: Any, state: Any) -> dict[str, Any]:
    """A dict of attributes, none of which the object's class has."""
    for name in state:
        if type(name) is not str or (hasattr(type(made), name) and type(made) is not Namespace):
            raise ValueError(f"an attribute {name!r} that a {type(made).__name__} has of its own")
    return dict(state)


def _give_state(made: Any, state: Any) -> None:
    """What unpickling does to an object of a class that the program allows."""
    if hasattr(made, "__setstate__"):
        made.__setstate__(state)
        return
    in_dict, in_slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    if in_dict:
        vars(made).update(in_dict)
    for name, value in (in_slots or {}).items():
        if name.startswith("__"):
            raise ValueError(f"an attribute {name!r}")
        setattr(made, name, value)


# What is called in the place of the classes that a pickle names ---------------------------------------------


def _hashable(items: Any) -> list[Any]:
    if isinstance(items, range):  # a few bytes of a file that would become a set of any size
        raise TypeError("a set or dict of a range")
    listed = list(items)
    for item in listed:
        check_key(item)
    return listed


def _pairs(items: Any = ()) -> list[tuple[Any, Any]]:
    listed = [(key, value) for key, value in (items.items() if isinstance(items, dict) else items)]
    _hashable(key for key, _ in listed)
    return listed


def _defaultdict(factory: Any = None, items: Any = ()) -> defaultdict[Any, Any]:
    if factory is not None and factory not in _FACTORIES:
        raise ValueError(f"a defaultdict of {factory!r}")
    return defaultdict(factory, _pairs(items))


def _member(cls: Any, name: Any) -> Any:
    """A member of an enumeration that was allowed: Python 3.11.2, for one, saves it as getattr(cls, name).

    Raises:
        TypeError: it is anything else that getattr could reach.
    """
    if not isinstance(cls, EnumMeta) or not isinstance(name, str) or name not in cls.__members__:
        raise TypeError(f"its pickle takes {name!r} of {cls!r}")
    return cls.__members__[name]


def _encode(text: str, encoding: str = "latin1") -> bytes:
    """How protocol 2 writes bytes."""
    if encoding not in ("latin1", "latin-1"):
        raise ValueError(f"bytes written as text in {encoding!r}")
    return text.encode("latin1")


def _bytearray(data: Any = b"", encoding: str = "latin-1") -> bytearray:
    if not isinstance(data, (bytes, str)):
        raise TypeError(f"a bytearray of a {type(data).__name__}")
    return bytearray(data if isinstance(data, bytes) else _encode(data, encoding))


def _size(numbers: Any = ()) -> Size:
    if not isinstance(numbers, (tuple, list)) or not all(type(n) is int for n in numbers):
        raise TypeError("a Size of other things than integers")
    return Size(numbers)


def _reconstructor(cls: Any, base: Any, state: Any) -> Any:
    """How protocols 0 and 1 make an object without arguments."""
    if base is not object or state is not None or cls not in _NEW:
        raise TypeError(f"an object of {cls!r}")
    return _NEW[cls]()


def _device(*given: Any) -> Device:
    try:
        return Device(*given)
    except RuntimeError as error:
        raise ValueError(str(error)) from None


def _complex(real: Any, imag: Any = 0.0) -> complex:
    return complex(float(real), float(imag))


# NumPy's ----------------------------------------------------------------------------------------------------


def _dtype(text: Any, align: Any = False, copy: Any = False) -> np.dtype[Any]:
    if not isinstance(text, str) or not re.fullmatch(r"[<>|=]?[?biufcUS]\d{0,9}", text):
        raise TypeError(f"a NumPy dtype {text!r}, which holds more than numbers or text")
    return np.dtype(text, copy=True)


def _check_dtype(kind: Any) -> np.dtype[Any]:
    if not isinstance(kind, np.dtype) or kind.kind not in _NUMPY_KINDS or kind.hasobject:
        raise TypeError(f"a NumPy dtype {kind!r}, which holds more than numbers or text")
    return kind


def _fill_dtype(kind: Any, state: Any) -> None:
    """The byte order of a dtype: all else has been told with its name."""
    order, parts, size = state[1], state[2:5], state[5]
    if order not in ("<", ">", "|", "=") or parts != (None, None, None) or size not in (-1, kind.itemsize):
        raise ValueError("a NumPy dtype with parts")
    if order in "<>":
        sizes = (kind.itemsize, kind.alignment) if kind.kind in "US" else (-1, -1)
        kind.__setstate__((3, order, None, None, None, *sizes, 0))


def _reconstruct(cls: Any, shape: Any, code: Any) -> Ndarray:
    if cls is not np.ndarray:
        raise TypeError(f"an array of class {cls!r}")
    return np.zeros(0, np.int8)


def _fill_array(array: Any, state: Any) -> None:
    """What NumPy's own does, after a look at it."""
    _, shape, kind, fortran, raw = state
    count = _count(shape)
    raw = _encode(raw) if isinstance(raw, str) else raw
    if not isinstance(raw, bytes) or len(raw) != count * _check_dtype(kind).itemsize:
        raise ValueError("a NumPy array whose shape does not fit its bytes")
    array.__setstate__((1, shape, kind, bool(fortran), raw))


def _count(shape: Any) -> int:
    """The elements of a shape."""
    if type(shape) is not tuple or len(shape) > 32 or not all(type(n) is int and n >= 0 for n in shape):
        raise ValueError("a shape that is none")
    count = 1
    for n in shape:
        count *= n
    return count


def _scalar(kind: Any, raw: Any) -> Any:
    raw = _encode(raw) if isinstance(raw, str) else raw
    if not isinstance(raw, bytes) or len(raw) != _check_dtype(kind).itemsize:
        raise ValueError("a NumPy number that does not fit its bytes")
    return np.frombuffer(raw, kind)[0]


def _frombuffer(raw: Any, kind: Any, shape: Any, order: Any) -> Ndarray:
    """How protocol 5 writes arrays."""
    if not isinstance(raw, (bytes, bytearray)) or order not in ("C", "F"):
        raise TypeError(f"an array of a {type(raw).__name__}")
    if len(raw) != _count(shape) * _check_dtype(kind).itemsize:
        raise ValueError("a NumPy array whose shape does not fit its bytes")
    if not raw:
        return np.zeros(shape, kind)
    return np.frombuffer(bytearray(raw), kind).reshape(shape, order=order)


_PYTHON_2 = {
    "__builtin__": "builtins",
    "numpy.core.multiarray": "numpy._core.multiarray",
    "numpy.core.numeric": "numpy._core.numeric",
    "copy_reg": "copyreg",
}
_FACTORIES = (list, dict, set, tuple, int, float, str, bool)
_PLAIN = (*_FACTORIES, frozenset, complex, bytes, bytearray, range, object)
_VALUES: dict[Name, Any] = {
    **{("builtins", cls.__name__): cls for cls in _PLAIN},
    **{("collections", cls.__name__): cls for cls in (OrderedDict, Counter, defaultdict)},
    ("argparse", "Namespace"): Namespace,
    ("types", "SimpleNamespace"): SimpleNamespace,
    ("copyreg", "_reconstructor"): _reconstructor,
    ("_codecs", "encode"): _encode,
    ("builtins", "getattr"): _member,
    ("torch", "Size"): Size,
    ("minigrad.tensor", "Size"): Size,
    ("torch", "device"): Device,
    ("minigrad.backend.device", "Device"): Device,
    ("minigrad.backend.dtype", "named"): named,
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("numpy._core.multiarray", "_reconstruct"): _reconstruct,
    ("numpy._core.multiarray", "scalar"): _scalar,
    ("numpy._core.numeric", "_frombuffer"): _frombuffer,
}
_NEW: dict[type, Callable[..., Any]] = {
    OrderedDict: lambda: OrderedDict(),
    Namespace: lambda: Namespace(),
    SimpleNamespace: lambda: SimpleNamespace(),
    Size: _size,
}
_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    OrderedDict: lambda items=(): OrderedDict(_pairs(items)),
    Counter: lambda items=(): Counter(dict(_pairs(items))),
    defaultdict: _defaultdict,
    set: lambda items=(): set(_hashable(items)),
    frozenset: lambda items=(): frozenset(_hashable(items)),
    complex: _complex,
    bytes: lambda: b"",
    range: range,
    bytearray: _bytearray,
    SimpleNamespace: lambda: SimpleNamespace(),
    Size: _size,
    Device: _device,
    np.dtype: _dtype,
    **{f: f for f in (_reconstructor, _encode, _member, named, _reconstruct, _scalar, _frombuffer)},
}
