"""The one list of names: what ``functions``, ``linalg`` and ``spectrum`` define becomes ``minigrad.exp``,
``Tensor.exp`` and ``Tensor.exp_``, as the decorators of ``functions/define.py`` say.

Type checkers read ``names.pyi`` and ``methods.pyi``, which ``python tasks.py index`` writes.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from ..autograd.methods import Methods
from . import (  # noqa: F401 (all these are gathered below)  # noqa: F401
    comparison,
    complex,
    conversion,
    copies,
    creation,
    decompositions,
    dtypes,
    equations,
    factors,
    indexing,
    inplace,
    linalg,
    memory,
    operators,
    pointwise,
    printing,
    random,
    reduction,
    shaping,
    special,
    spectrum,
    statistics,
    typed,
    windows,
)
from .define import public


def _bare(function: Any) -> Any:
    """The function of an op of one tensor without the wrapper for other spellings, as a method has nothing to spell."""
    return getattr(function, "bare", function)


def _property(name: str, function: Any) -> property:
    """A property; to one that is a part of complex numbers, values can be assigned: ``x.real = y`` copies y into it."""

    def put(self: Any, value: Any) -> None:
        view = function(self)
        _ = view.copy_(value) if hasattr(value, "array") else view.fill_(value)

    return property(function, put if name in ("real", "imag") else None)


_families = [value for value in globals().values() if isinstance(value, ModuleType)]
_free: dict[str, Any] = {}
for _family in _families:
    for _name, _function, _places in public(_family):
        if _places.free:
            _free[_name] = _function
        if _places.method:
            setattr(Methods, _name, _bare(_function))
        if _places.attribute:
            setattr(Methods, _name, _property(_name, _function))
        if _places.in_place is not None:
            setattr(Methods, f"{_name}_", _places.in_place(_function))

globals().update(_free)
__all__ = list(_free)
