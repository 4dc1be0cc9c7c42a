"""``torch._foreach_*``: a function of each tensor of a list, with which programs write optimisers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..tensor import Tensor

Each = Callable[..., list[Tensor]]
_PAIRS = (
    *("add", "addcdiv", "addcmul", "clamp_max", "clamp_min", "div", "lerp", "maximum", "minimum", "mul", "pow", "sub"),
)
_SINGLE = (
    *("abs", "acos", "asin", "atan", "ceil", "cos", "cosh", "erf", "erfc", "exp", "expm1", "floor", "frac", "lgamma"),
    *("log", "log10", "log1p", "log2", "neg", "reciprocal", "round", "rsqrt", "sigmoid", "sign", "sin", "sinh"),
    *("sqrt", "tan", "tanh", "trunc"),
)
NAMES = (*_PAIRS, *_SINGLE, *(f"{n}_" for n in (*_PAIRS, *_SINGLE)), "clone", "copy_", "max", "norm", "zero_")
_KEYWORDS = {"scalars": "value", "ord": "p", "other": "other", "exponent": "other"}


def _each(name: str) -> Each:
    """The function of a list: lists among its other arguments have one for each tensor, all others are shared."""

    def foreach(self: Sequence[Tensor], *args: Any, **kwargs: Any) -> list[Tensor]:
        arguments = list(args)
        if name.startswith("addc") and len(args) == 3:  # the factors may stand last
            kwargs["value"] = arguments.pop()
        for value in (*args, *kwargs.values()):
            if isinstance(value, (list, tuple)) and len(value) != len(self):
                raise RuntimeError(
                    f"_foreach_{name}: tensor lists must have the same number of tensors, got {len(self)} and "
                    f"{len(value)}"
                )
        results = []
        for number, tensor in enumerate(self):
            options = {_KEYWORDS.get(key, key): _of(value, number) for key, value in kwargs.items()}
            results.append(_apply(name, tensor, [_of(value, number) for value in arguments], options))
        return results

    foreach.__name__ = foreach.__qualname__ = f"_foreach_{name}"
    foreach.__doc__ = f"``Tensor.{name}`` of each tensor of a list."
    return foreach


def _of(value: Any, number: int) -> Any:
    """What one tensor gets of an argument."""
    return value[number] if isinstance(value, (list, tuple)) else value


def _apply(name: str, tensor: Tensor, args: list[Any], options: dict[str, Any]) -> Tensor:
    """A method, the one out of place where there is none that changes the tensor."""
    if hasattr(Tensor, name):
        result: Tensor = getattr(tensor, name)(*args, **options)
        return result
    return tensor.copy_(getattr(tensor, name.removesuffix("_"))(*args, **options))


globals().update({f"_foreach_{name}": _each(name) for name in NAMES})
