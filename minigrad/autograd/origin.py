"""Op arguments that need no gradient, kept by weak references for graph drawings and explanations.

The tape saves only the values that gradient rules need. A drawing needs more, such as the constant added to a tensor or
the target of a loss. Each in-place change is stamped with the current node number, which shows whether a tensor still
has the value that a node read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count
from types import EllipsisType, NoneType
from typing import Any
from weakref import ref

import numpy as np

from ..backend import ARRAY_TYPES
from ..ops.op import Traced
from .tracebacks import Place as Place

order = count()  # numbers nodes and in-place changes
SMALL = 16  # a node may keep a constant of at most this many elements alive
_PLAIN = {int, float, bool, complex, str, slice, NoneType, EllipsisType, type(np.dtype(np.float32)), type}


class WeakValue(ref):  # type: ignore[type-arg]
    """A weak reference to a tensor or an array, with its shape, dtype and, if known, the expression that created it."""

    __slots__ = ("dtype", "origin", "shape")

    shape: tuple[int, ...]
    dtype: Any
    origin: Place | None


def weak(value: Any, array: Any) -> WeakValue:
    """A WeakValue for a tensor with this array, or for an array."""
    result = WeakValue(value)
    result.shape, result.dtype, result.origin = array.shape, array.dtype, getattr(value, "_origin", None)
    return result


def noted(args: Sequence[Any], places: Iterable[int]) -> list[Any]:
    """The arguments at these positions, as nodes keep them: small constants, and WeakValues of tensors and arrays."""
    values = []
    for i in places:
        value = args[i]
        kind = value.__class__
        if kind in _PLAIN:
            values.append(value)
        elif isinstance(value, Traced):
            array: Any = value.array
            stays = array.size <= SMALL and array.base is None and value._node is None  # type: ignore[attr-defined]
            values.append(value if stays else weak(value, array))
        elif kind in ARRAY_TYPES:
            values.append(weak(value, value))
        else:
            values.append(kind(noted(value, range(len(value)))) if kind is tuple or kind is list else value)
    return values


def there(value: Any) -> Any:
    """The object behind a WeakValue, or None if it has been freed. Any other argument is returned unchanged."""
    alive = value() if value.__class__ is WeakValue else None
    return value if alive is None else alive


def note_change(version: list[Any], name: str, place: str | Place) -> None:
    """Record an in-place change in a version counter, with the op's name, its place, and the latest node number."""
    version[0] += 1
    version[1] = (name, place, next(order))


def is_changed(version: list[Any], since: int) -> bool:
    """Whether a tensor with this version counter was changed in place after node number ``since`` was recorded."""
    return version[1] is not None and bool(version[1][2] > since)
