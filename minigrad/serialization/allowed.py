"""The names that a pickle may use when it may run no code: plain containers, NumPy's arrays, tensors, and the
classes that a program declares safe.
"""

from __future__ import annotations

import math
import re
from argparse import Namespace
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import EnumMeta
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..autograd.mode import at_end
from ..backend.device import Device
from ..backend.dtype import named
from ..tensor import Size
from .bounds import dict_of, set_of
from .source import Ndarray, check_shape, short

Name = tuple[str, str]  # module, name
NUMPY_KINDS = "biufcUS"
_MOST_EMPTY = 1_000_000

safe: dict[Name, Any] = {}


def add_safe_globals(safe_globals: Iterable[Any]) -> None:
    """Let ``load`` create objects of these classes and call these functions, also with ``weights_only=True``.

    Args:
        safe_globals: classes or functions; (class, "module.Name") for one that has another name in files.
    """
    names: dict[Name, Any] = {}
    for entry in safe_globals:
        if isinstance(entry, tuple):
            module, _, name = entry[1].rpartition(".")
            names[module, name] = entry[0]
        elif callable(entry):
            names[entry.__module__, entry.__qualname__] = entry
        else:
            raise TypeError(f"safe globals are classes and functions, or (class, 'module.name'), not {entry!r}")
    safe.update(names)


def get_safe_globals() -> list[Any]:
    """The classes and functions that ``add_safe_globals`` has added."""
    return list(safe.values())


def clear_safe_globals() -> None:
    """Remove all that ``add_safe_globals`` has added."""
    safe.clear()


@contextmanager
def safe_globals(safe_globals: Iterable[Any]) -> Iterator[None]:
    """``with safe_globals([GPTConfig]): load(f)``: ``add_safe_globals`` for the length of the block."""
    before = dict(safe)

    def put_back() -> None:
        safe.clear()
        safe.update(before)

    with at_end(put_back) as end, end:
        add_safe_globals(safe_globals)
        yield


def _defaultdict(factory: Any = None, items: Any = ()) -> defaultdict[Any, Any]:
    if factory is not None and factory not in FACTORIES:
        raise ValueError(f"a defaultdict of {short(factory)}")
    return defaultdict(factory, dict_of(items) if items else ())


def _member(cls: Any, name: Any) -> Any:
    """A member of a safe enumeration, which Python 3.11.2, for one, saves as getattr(cls, name)."""
    if not isinstance(cls, EnumMeta) or not isinstance(name, str) or name not in cls.__members__:
        raise TypeError(f"its pickle takes {short(name)} of {short(cls)}")
    return cls.__members__[name]


def _encode(text: str, encoding: str = "latin1") -> bytes:
    """Bytes, as protocol 2 writes them."""
    if encoding not in ("latin1", "latin-1"):
        raise ValueError(f"bytes written as text in {short(encoding)}")
    return text.encode("latin1")


def _bytearray(data: Any = b"", encoding: str = "latin-1") -> bytearray:
    if not isinstance(data, (bytes, str)):
        raise TypeError(f"a bytearray of a {type(data).__name__}")
    return bytearray(data if isinstance(data, bytes) else _encode(data, encoding))


def size_of(numbers: Any = ()) -> Size:
    """A Size. Raises TypeError: something else than integers."""
    if not isinstance(numbers, (tuple, list)) or not all(type(n) is int for n in numbers):
        raise TypeError("a Size of other things than integers")
    return Size(numbers)


def _reconstructor(cls: Any, base: Any, state: Any) -> Any:
    """An object without arguments, as protocols 0 and 1 write it."""
    if base is not object or state is not None or not isinstance(cls, type) or cls not in NEW:
        raise TypeError(f"an object of {short(cls)}")
    return FUNCTIONS[cls]()


def device_of(*args: Any) -> Device:
    """A device of a name and a number. Raises TypeError, or ValueError: there is no such device."""
    if not all(arg is None or type(arg) is str or (type(arg) is int and arg < 1 << 31) for arg in args):
        raise TypeError("a device of other things than a name and a number")
    try:
        return Device(*args)
    except RuntimeError as error:
        raise ValueError(str(error)) from None


def _named(name: Any) -> Any:
    if not isinstance(name, str):
        raise TypeError(f"a dtype called {short(name)}")
    return named(name[:100])


def _dtype(text: Any, align: Any = False, copy: Any = False) -> np.dtype[Any]:
    if not isinstance(text, str) or not re.fullmatch(r"[<>|=]?[?biufcUS]\d{0,9}", text):
        raise TypeError(f"a NumPy dtype {short(text)}, which holds more than numbers or text")
    return np.dtype(text, copy=True)


def fill_dtype(kind: Any, state: Any) -> None:
    """Set the byte order of a dtype, which its name does not say."""
    order, parts, size = state[1], state[2:5], state[5]
    if order not in ("<", ">", "|", "=") or parts != (None, None, None) or size not in (-1, kind.itemsize):
        raise ValueError("a NumPy dtype with parts")
    if order in "<>":
        sizes = (kind.itemsize, kind.alignment) if kind.kind in "US" else (-1, -1)
        kind.__setstate__((3, order, None, None, None, *sizes, 0))


def _reconstruct(cls: Any, shape: Any, code: Any) -> Ndarray:
    if cls is not np.ndarray:
        raise TypeError(f"an array of class {short(cls)}")
    return np.zeros(0, np.int8)


def fill_array(array: Any, state: Any) -> None:
    """Set the contents of an array, after a check."""
    _, shape, kind, fortran, raw = state
    array.__setstate__((1, shape, kind, bool(fortran), _content(raw, kind, shape)))


def _content(raw: Any, kind: Any, shape: Any) -> bytes:
    """The bytes of an array, after a check."""
    if not isinstance(kind, np.dtype) or kind.kind not in NUMPY_KINDS or kind.hasobject:
        shown = kind if isinstance(kind, np.dtype) and not kind.hasobject else short(kind)
        raise TypeError(f"a NumPy dtype {shown}, which holds more than numbers or text")
    check_shape(shape, max(1, kind.itemsize))
    raw = _encode(raw) if isinstance(raw, str) else raw
    if not kind.itemsize and math.prod(shape) > _MOST_EMPTY:  # NumPy gives each a letter
        raise ValueError("a NumPy array of many empty texts")
    if not isinstance(raw, bytes) or len(raw) != math.prod(shape) * kind.itemsize:
        raise ValueError("a NumPy array whose shape does not fit its bytes")
    return raw


def _scalar(kind: Any, raw: Any) -> Any:
    return np.frombuffer(_content(raw, kind, ()), kind)[0]


def _frombuffer(raw: Any, kind: Any, shape: Any, order: Any) -> Ndarray:
    """An array, as protocol 5 writes it."""
    if not isinstance(raw, (bytes, bytearray)) or order not in ("C", "F"):
        raise TypeError(f"an array of a {type(raw).__name__}")
    content = _content(bytes(raw), kind, shape)
    return np.frombuffer(bytearray(content), kind).reshape(shape, order=order) if content else np.zeros(shape, kind)


PYTHON_2 = {
    "__builtin__": "builtins",
    "numpy.core.multiarray": "numpy._core.multiarray",
    "numpy.core.numeric": "numpy._core.numeric",
    "copy_reg": "copyreg",
}
FACTORIES = (list, dict, set, tuple, int, float, str, bool)
_PLAIN = (*FACTORIES, frozenset, complex, bytes, bytearray, range, object)
VALUES: dict[Name, Any] = {
    **{("builtins", cls.__name__): cls for cls in _PLAIN},
    **{("collections", cls.__name__): cls for cls in (OrderedDict, Counter, defaultdict)},
    **{("builtins", old): cls for old, cls in (("long", int), ("unicode", str), ("xrange", range))},  # protocol 2's
    ("argparse", "Namespace"): Namespace,
    ("types", "SimpleNamespace"): SimpleNamespace,
    ("copyreg", "_reconstructor"): _reconstructor,
    ("_codecs", "encode"): _encode,
    ("builtins", "getattr"): _member,
    ("torch", "Size"): Size,
    ("minigrad.size", "Size"): Size,  # its earlier place
    ("minigrad.backend.size", "Size"): Size,
    ("minigrad.tensor", "Size"): Size,  # its earlier place
    ("torch", "device"): Device,
    ("minigrad.backend.device", "Device"): Device,
    ("minigrad.backend.dtype", "named"): named,
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("numpy._core.multiarray", "_reconstruct"): _reconstruct,
    ("numpy._core.multiarray", "scalar"): _scalar,
    ("numpy._core.numeric", "_frombuffer"): _frombuffer,
}
NEW = (OrderedDict, Namespace, SimpleNamespace, Size)  # of which a pickle may have an instance before its state
FUNCTIONS: dict[Any, Callable[..., Any]] = {
    OrderedDict: lambda items=(): OrderedDict(dict_of(items)),
    Counter: lambda items=(): Counter(dict_of(items)),
    defaultdict: _defaultdict,
    set: set_of,
    frozenset: lambda items=(): frozenset(set_of(items)),
    complex: lambda real, imag=0.0: complex(float(real), float(imag)),
    bytes: lambda: b"",
    range: range,
    bytearray: _bytearray,
    Namespace: lambda: Namespace(),
    SimpleNamespace: lambda: SimpleNamespace(),
    Size: size_of,
    Device: device_of,
    np.dtype: _dtype,
    named: _named,
    **{f: f for f in (_reconstructor, _encode, _member, _reconstruct, _scalar, _frombuffer)},
}
