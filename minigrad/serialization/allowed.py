"""The names and values that an untrusted file may contain (plain containers, NumPy arrays, tensors, and classes that a
program declares safe), and limits on the number of parts (counting repetitions), nesting and keys.

A tuple that contains another twice, which contains a third twice, and so on for 45 levels, takes 300 bytes in a pickle,
but hashing, comparing or printing it takes forever. Python's dicts are only fast if few keys share a hash. Hashes of
text and bytes are salted, but an integer's hash is its remainder modulo 2⁶¹ - 1. Anyone can therefore find integers,
complex numbers or tuples of integers that all share one hash, so that each is compared with all earlier ones.
"""

from __future__ import annotations

import math
import re
import sys
from argparse import Namespace
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import EnumMeta
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..autograd.mode import at_end
from ..backend.device import Device
from ..backend.dtype import named
from ..tensor import Size, Tensor
from .source import Ndarray, check_shape, short

MOST_PARTS = 50_000_000
DEEPEST = 25_000
FRAGILE = (defaultdict, deque)  # Python frees these recursively, so deep nesting overflows its stack
_LEVELS = 100  # how many levels a fragile container counts as
_ENOUGH = 1 << 62
_SIZED = (tuple, list, dict, set, frozenset, deque)
_CONTAINERS = (*_SIZED, Namespace, SimpleNamespace, Tensor)


class Bounds:
    """Counts the parts and nesting levels of values, and caches the counts until ``forget`` is called."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, int, int]] = {}  # by id: the value (kept alive), its parts, its depth

    def of(self, value: Any) -> tuple[int, int]:
        """The number of parts and the depth of a value. A value that contains itself counts once."""
        counts, stack = self._known, [value]
        while stack:
            node = stack[-1]
            if id(node) in counts and counts[id(node)][1]:
                stack.pop()
                continue
            inner = _inner(node)
            if id(node) not in counts:
                counts[id(node)] = node, 0, 0  # marks that its parts are being counted
                if missing := [part for part in inner if id(part) not in counts and not _is_leaf(part)]:
                    stack += missing
                    continue
            counted = [counts.get(id(part)) or (part, 1 + len(part), 1) for part in inner]
            parts = 1 + (len(node) if isinstance(node, _SIZED) else 0)
            parts += sum(part for _, part, _ in counted)
            depth = max((level for _, _, level in counted), default=0)
            depth += _LEVELS if isinstance(node, FRAGILE) else 1
            counts[id(node)] = node, min(parts, _ENOUGH), depth
            stack.pop()
        return counts[id(value)][1:]

    def forget(self, changed: Any) -> None:
        """Clear the cache if it includes a value that is about to be modified."""
        if id(changed) in self._known:
            self._known.clear()

    def check(self, value: Any, most: int = MOST_PARTS) -> None:
        """Raise ValueError if a value has more than ``most`` parts or is nested too deeply."""
        parts, depth = self.of(value)
        if depth > DEEPEST:
            raise ValueError("it is nested too deeply")
        if parts > most:
            raise ValueError(f"it repeats parts: more than {most:,} in total")


def _is_leaf(part: Any) -> bool:
    """Whether a part is a small tuple without containers, which is faster to count than to cache."""
    return isinstance(part, tuple) and len(part) < 8 and not any(isinstance(inner, _CONTAINERS) for inner in part)


def _inner(node: Any) -> list[Any]:
    """The containers directly inside a container."""
    if isinstance(node, (tuple, list, set, frozenset, deque)):
        return [part for part in node if isinstance(part, _CONTAINERS)]
    inner = []
    if isinstance(node, dict):
        inner = [part for two in (dict.keys(node), dict.values(node)) for part in two if isinstance(part, _CONTAINERS)]
    attributes = getattr(node, "__dict__", None) if isinstance(node, _CONTAINERS) else None
    return inner + [part for part in attributes.values() if isinstance(part, _CONTAINERS)] if attributes else inner


def dismantle(containers: list[Any]) -> None:
    """Empty the fragile containers while all of them are alive, so that freeing them does not recurse."""
    for container in containers:
        if isinstance(container, FRAGILE):
            container.clear()


_MOST_BITS = 1 << 14  # of an integer key, whose hash is recomputed for each use instead of cached
_MOST_HASHED = 100_000  # parts of a key, as nested tuples that repeat each other take exponential time to hash
_DEEPEST = 50
# At most eight 64-bit integers, or a few dozen floating-point numbers, share one hash. On a 32-bit system, where hashes
# are remainders modulo 2³¹ - 1, twice as many do.
_MOST_ALIKE = 64 if sys.hash_info.width == 64 else 128
_FEW = 128  # smaller numbers of keys are always fast


def hashed(keys: list[Any], bounds: Bounds) -> int:
    """The number of tuple elements that are visited to hash these keys. Raises ValueError for a key (nested tuples
    or a huge number) whose hash requires too deep a stack or too much time."""
    total = 0
    for key in keys:
        if isinstance(key, int) and key.bit_length() > _MOST_BITS:
            raise ValueError(f"an integer key has {key.bit_length():,} bits")
        if isinstance(key, (tuple, frozenset)):
            parts, depth = bounds.of(key)
            if parts > _MOST_HASHED or depth > _DEEPEST:
                raise ValueError("a key has too many nested tuples")
            total += parts
    return total


def dict_of(items: Any = ()) -> Any:
    """Create a dict from a dict or pairs. Raises TypeError otherwise, and the errors of ``hashed`` and ``put``."""
    if not isinstance(items, (dict, list, tuple)):
        raise TypeError(f"it creates a dict from a {type(items).__name__}")
    pairs = [(key, value) for key, value in (items.items() if isinstance(items, dict) else items)]
    hashed([key for key, _ in pairs], Bounds())
    return put({}, pairs)


def set_of(members: Any = ()) -> Any:
    """Create a set from a container. Raises TypeError for other values, and the errors of ``hashed`` and ``put``."""
    if not isinstance(members, (list, tuple, set, frozenset, dict)):  # for example, a huge range takes few bytes
        raise TypeError(f"it creates a set from a {type(members).__name__}")
    hashed(list(members), Bounds())
    return put(set(), members)


def put(target: Any, items: Iterable[Any]) -> Any:
    """Add (key, value) pairs to a dict, or members to a set, and return it. Raises ValueError if too many keys share a
    hash, which is checked, in linear time, whenever the number of keys reaches a power of two."""
    is_dict = isinstance(target, dict)
    for item in items:
        before = len(target)
        if is_dict:
            key, value = item
            target[key] = value
        else:
            target.add(item)
        count = len(target)
        if count > before and count >= _FEW and not count & (count - 1):
            alike = max(Counter(map(hash, target)).values())
            if alike > _MOST_ALIKE:
                raise ValueError(f"{alike} keys of a dict or set share a hash, which would take quadratic time")
    return target


Name = tuple[str, str]  # module, name
NUMPY_KINDS = "biufcUS"
_MOST_EMPTY = 1_000_000

safe: dict[Name, Any] = {}


def add_safe_globals(safe_globals: Iterable[Any]) -> None:
    """Allow ``load`` to create objects of these classes and call these functions even with ``weights_only=True``. Use
    (class, "module.Name") for a class that has a different name in files."""
    names: dict[Name, Any] = {}
    for entry in safe_globals:
        if isinstance(entry, tuple):
            module, _, name = entry[1].rpartition(".")
            names[module, name] = entry[0]
        elif callable(entry):
            names[entry.__module__, entry.__qualname__] = entry
        else:
            raise TypeError(f"safe globals are classes and functions, or pairs (class, 'module.name'), not {entry!r}")
    safe.update(names)


def get_safe_globals() -> list[Any]:
    """The classes and functions added by ``add_safe_globals``."""
    return list(safe.values())


def clear_safe_globals() -> None:
    """Remove everything added by ``add_safe_globals``."""
    safe.clear()


@contextmanager
def safe_globals(safe_globals: Iterable[Any]) -> Iterator[None]:
    """Apply ``add_safe_globals`` for the duration of a block: ``with safe_globals([GPTConfig]): load(f)``."""
    before = dict(safe)

    def put_back() -> None:
        safe.clear()
        safe.update(before)

    with at_end(put_back) as end, end:
        add_safe_globals(safe_globals)
        yield


def _defaultdict(factory: Any = None, items: Any = ()) -> defaultdict[Any, Any]:
    if factory is not None and factory not in FACTORIES:
        raise ValueError(f"a defaultdict cannot have the factory {short(factory)}")
    return defaultdict(factory, dict_of(items) if items else ())


def _member(cls: Any, name: Any) -> Any:
    """A member of a safe enumeration. Some Python versions, such as 3.11.2, save it as getattr(cls, name)."""
    if not isinstance(cls, EnumMeta) or not isinstance(name, str) or name not in cls.__members__:
        raise TypeError(f"its pickle gets the attribute {short(name)} of {short(cls)}")
    return cls.__members__[name]


def _encode(text: str, encoding: str = "latin1") -> bytes:
    """Convert text to bytes, which protocol 2 encodes as text."""
    if encoding not in ("latin1", "latin-1"):
        raise ValueError(f"bytes are encoded as text in {short(encoding)}")
    return text.encode("latin1")


def _bytearray(data: Any = b"", encoding: str = "latin-1") -> bytearray:
    if not isinstance(data, (bytes, str)):
        raise TypeError(f"it creates a bytearray from a {type(data).__name__}")
    return bytearray(data if isinstance(data, bytes) else _encode(data, encoding))


def size_of(numbers: Any = ()) -> Size:
    """Create a Size. Raises TypeError unless all values are integers."""
    if not isinstance(numbers, (tuple, list)) or not all(type(n) is int for n in numbers):
        raise TypeError("a Size contains values that are not integers")
    return Size(numbers)


def _reconstructor(cls: Any, base: Any, state: Any) -> Any:
    """Create an object without arguments, as encoded by protocols 0 and 1."""
    if base is not object or state is not None or not isinstance(cls, type) or cls not in NEW:
        raise TypeError(f"it creates an object of {short(cls)}")
    return FUNCTIONS[cls]()


def device_of(*args: Any) -> Device:
    """Create a device from a name and an index. Raises TypeError otherwise, and ValueError if it does not exist."""
    if not all(arg is None or type(arg) is str or (type(arg) is int and arg < 1 << 31) for arg in args):
        raise TypeError("the arguments of a device are not a name and an index")
    try:
        return Device(*args)
    except RuntimeError as error:
        raise ValueError(str(error)) from None


def _named(name: Any) -> Any:
    if not isinstance(name, str):
        raise TypeError(f"the name of a dtype is {short(name)}, not text")
    return named(name[:100])


def _dtype(text: Any, align: Any = False, copy: Any = False) -> np.dtype[Any]:
    if not isinstance(text, str) or not re.fullmatch(r"[<>|=]?[?biufcUS]\d{0,9}", text):
        raise TypeError(f"the NumPy dtype {short(text)} can store more than numbers or text")
    return np.dtype(text, copy=True)


def fill_dtype(kind: Any, state: Any) -> None:
    """Set the byte order of a dtype, which its name does not contain."""
    order, parts, size = state[1], state[2:5], state[5]
    if order not in ("<", ">", "|", "=") or parts != (None, None, None) or size not in (-1, kind.itemsize):
        raise ValueError("a NumPy dtype has parts or an invalid state")
    if order in "<>":
        sizes = (kind.itemsize, kind.alignment) if kind.kind in "US" else (-1, -1)
        kind.__setstate__((3, order, None, None, None, *sizes, 0))


def _reconstruct(cls: Any, shape: Any, code: Any) -> Ndarray:
    if cls is not np.ndarray:
        raise TypeError(f"it creates an array of class {short(cls)}")
    return np.zeros(0, np.int8)


def fill_array(array: Any, state: Any) -> None:
    """Set the contents of an array after checking them."""
    _, shape, kind, fortran, raw = state
    array.__setstate__((1, shape, kind, bool(fortran), _content(raw, kind, shape)))


def _content(raw: Any, kind: Any, shape: Any) -> bytes:
    if not isinstance(kind, np.dtype) or kind.kind not in NUMPY_KINDS or kind.hasobject:
        dtype_text = kind if isinstance(kind, np.dtype) and not kind.hasobject else short(kind)
        raise TypeError(f"the NumPy dtype {dtype_text} can store more than numbers or text")
    check_shape(shape, max(1, kind.itemsize))
    raw = _encode(raw) if isinstance(raw, str) else raw
    if not kind.itemsize and math.prod(shape) > _MOST_EMPTY:  # NumPy allocates a character for each element
        raise ValueError("a NumPy array has too many empty strings")
    if not isinstance(raw, bytes) or len(raw) != math.prod(shape) * kind.itemsize:
        raise ValueError("the shape of a NumPy array does not match its number of bytes")
    return raw


def _scalar(kind: Any, raw: Any) -> Any:
    return np.frombuffer(_content(raw, kind, ()), kind)[0]


def _frombuffer(raw: Any, kind: Any, shape: Any, order: Any) -> Ndarray:
    """Create an array, as encoded by protocol 5."""
    if not isinstance(raw, (bytes, bytearray)) or order not in ("C", "F"):
        raise TypeError(f"it creates an array from a {type(raw).__name__}")
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
    **{("builtins", old): cls for old, cls in (("long", int), ("unicode", str), ("xrange", range))},  # in protocol 2
    ("argparse", "Namespace"): Namespace,
    ("types", "SimpleNamespace"): SimpleNamespace,
    ("copyreg", "_reconstructor"): _reconstructor,
    ("_codecs", "encode"): _encode,
    ("builtins", "getattr"): _member,
    ("torch", "Size"): Size,
    ("minigrad.size", "Size"): Size,  # its earlier module
    ("minigrad.backend.size", "Size"): Size,
    ("minigrad.tensor", "Size"): Size,  # its earlier module
    ("torch", "device"): Device,
    ("minigrad.backend.device", "Device"): Device,
    ("minigrad.backend.dtype", "named"): named,
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("numpy._core.multiarray", "_reconstruct"): _reconstruct,
    ("numpy._core.multiarray", "scalar"): _scalar,
    ("numpy._core.numeric", "_frombuffer"): _frombuffer,
}
NEW = (OrderedDict, Namespace, SimpleNamespace, Size)  # a pickle may create these first, and then set their state
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
