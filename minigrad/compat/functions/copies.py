"""Differentiable variants of view functions that return a copy instead of a view."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any

from ...functions import conversion, shaping
from ...functions.define import function, named
from ...tensor import Tensor

_VIEWS = {
    conversion: "detach view_as_complex view_as_real",
    shaping: "as_strided diagonal expand permute select split squeeze t transpose unbind unfold unsqueeze view",
}


def _copying(view: Callable[..., Any], name: str) -> Callable[..., Any]:
    @wraps(view)
    def copy(input: Tensor, *args: Any, **kwargs: Any) -> Any:
        result = view(input, *args, **kwargs)
        return tuple(part.clone() for part in result) if isinstance(result, tuple) else result.clone()

    vars(copy)["__signature__"] = signature(view)
    return function(named(copy, name, f"Like ``{name.removesuffix('_copy')}``, but returns a copy."))


@function
def alias_copy(input: Tensor) -> Tensor:
    """Like ``alias``, but returns a copy."""
    return input.clone()


for _module, _names in _VIEWS.items():
    globals().update({f"{name}_copy": _copying(getattr(_module, name), f"{name}_copy") for name in _names.split()})
split_with_sizes_copy = _copying(shaping.split, "split_with_sizes_copy")
