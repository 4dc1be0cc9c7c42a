"""Copies of views: ``name_copy`` does what ``name`` does, in new memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any

from ..tensor import Tensor
from . import complex, conversion, shaping
from .define import function, named


def _copying(view: Callable[..., Any], name: str = "") -> Callable[..., Any]:
    """The function that copies the results of ``view``."""
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


alias_copy, detach_copy = _copying(alias), _copying(conversion.detach)
as_strided_copy, diagonal_copy = _copying(shaping.as_strided), _copying(shaping.diagonal)
expand_copy, permute_copy = _copying(shaping.expand), _copying(shaping.permute)
select_copy, split_copy = _copying(shaping.select), _copying(shaping.split)
split_with_sizes_copy = _copying(shaping.split, "split_with_sizes")
squeeze_copy, unsqueeze_copy = _copying(shaping.squeeze), _copying(shaping.unsqueeze)
t_copy, transpose_copy = _copying(shaping.t), _copying(shaping.transpose)
unbind_copy, unfold_copy = _copying(shaping.unbind), _copying(shaping.unfold)
view_copy = _copying(shaping.view)
view_as_complex_copy, view_as_real_copy = _copying(complex.view_as_complex), _copying(complex.view_as_real)
