"""Where arguments and constants came from, for pictures and explanations: remembered, and no memory kept alive for it.

The tape keeps what gradient rules want, and a picture wants more: what was added to a tensor, the target of a loss.
A node remembers its other arguments here, and a result that wants no gradient the op and the tensors it was made from,
as long as the program has these. What is changed in place is stamped with the order of nodes, so that one can tell
whether a tensor still is what a node has read.
"""

from __future__ import annotations

from itertools import count
from types import CodeType, EllipsisType, NoneType
from typing import Any
from weakref import ref

import numpy as np

from ..backend import ARRAY_TYPES
from ..ops.op import Op, Traced

order = count()  # of nodes, of tensors without one, and of changes in place
Place = tuple[CodeType, int]  # of an expression: where its instruction stands in the code
# Of a constant that an op made: its arguments (``remembered``), when, and how many ops behind it are known.
Origin = tuple[Op, list[Any], int, int]
_DEEPEST = 4  # ops behind a constant that are remembered: what is computed step by step may not grow for ever
SMALL = 16  # elements of a constant that a node may keep alive
_PLAIN = {int, float, bool, complex, str, slice, NoneType, EllipsisType, type(np.dtype(np.float32)), type}


class Faint:
    """A tensor or an array that is remembered and not kept alive.

    Attributes:
        shape, dtype: its own, NumPy's.
        origin: where the tensor came from, as far as that is known.
    """

    __slots__ = ("_ref", "dtype", "origin", "shape")

    def __init__(self, value: Any) -> None:
        array = value.array if isinstance(value, Traced) else value
        self._ref, self.shape, self.dtype = ref(value), array.shape, array.dtype
        self.origin: Origin | Place | None = getattr(value, "_origin", None)

    def get(self) -> Any:
        """The tensor or array; None where the program has let it go."""
        return self._ref()


def origin_of(op: Op, args: tuple[Any, ...]) -> Origin:
    """What a result without a gradient remembers of how it was made."""
    depth, kept = 0, []
    for a in args:
        if not isinstance(a, Traced):
            kept.append(a if a.__class__ in _PLAIN else remembered(a))
            continue
        before = a._origin
        if before is None or len(before) == 2 or before[3] >= _DEEPEST:
            kept.append(ref(a))
        else:
            kept.append(Faint(a))
            depth = max(depth, before[3])
    return op, kept, next(order), depth + 1


def remembered(value: Any) -> Any:
    """An argument of an op as one may hold it for long: tensors and arrays become weak references, or in a node's
    arguments (``noted``) Faint ones."""
    kind = value.__class__
    if kind in _PLAIN:
        return value
    if kind in ARRAY_TYPES or isinstance(value, Traced):
        return ref(value)
    return kind(map(remembered, value)) if kind is tuple or kind is list else value


def noted(value: Any) -> Any:
    """``remembered``, but of tensors that are no arguments of a gradient more: small constants stay, of others shape
    and origin are known when they are gone."""
    kind = value.__class__
    if kind in _PLAIN:
        return value
    if isinstance(value, Traced):
        array: Any = value.array
        stays = array.size <= SMALL and array.base is None and value._source()[0] is None  # type: ignore[attr-defined]
        return value if stays else Faint(value)
    return Faint(value) if kind in ARRAY_TYPES else remembered(value)


def let_go(node: Any, tensor: Any) -> None:
    """Let a node keep no small constant alive that is about to become its result (that would be a cycle)."""
    if any(a is tensor for a in node.others):
        node.others = tuple(Faint(a) if a is tensor else a for a in node.others)


def note_change(version: list[Any], name: str, place: str) -> None:
    """Count a change in place in a version counter, with what made it, where, and after which nodes."""
    version[0] += 1
    version[1] = (name, place, next(order))


def is_changed(version: list[Any], since: int) -> bool:
    """Whether a tensor with this version counter was changed in place after a node of that order was recorded."""
    return version[1] is not None and bool(version[1][2] > since)
