"""Copies of views: ``name_copy`` does what ``name`` does, in new memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any

from ..tensor import Tensor
from . import conversion, shaping
from .define import function, named


def _copying(view: Callable[..., Any], name: str = "") -> Callable[..., Any]:
    name = name or view.__name__

    @wraps(view)
    def copy(input: Tensor, *args: Any, **kwargs: Any) -> Any:
        result = view(input, *args, **kwargs)
        return tuple(part.clone() for part in result) if isinstance(result, tuple) else result.clone()

    vars(copy)["__signature__"] = signature(view)
    return function(named(copy, f"{name}_copy", f"A copy of ``{name}``."))


def alias(input: Tensor) -> Tensor:
    """The same elements."""
    return input


_VIEWS: tuple[Any, ...] = (alias, conversion.detach, conversion.view_as_complex, conversion.view_as_real)
_VIEWS += (shaping.as_strided, shaping.diagonal, shaping.expand, shaping.permute, shaping.select, shaping.split)
_VIEWS += (
    shaping.squeeze,
    shaping.t,
    shaping.transpose,
    shaping.unbind,
    shaping.unfold,
    shaping.unsqueeze,
    shaping.view,
)
globals().update({f"{view.__name__}_copy": _copying(view) for view in _VIEWS})
split_with_sizes_copy = _copying(shaping.split, "split_with_sizes")
