"""``torch._foreach_*``: apply a Tensor method to each tensor in a list. Programs use them to write optimisers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from ..tensor import Tensor

Groups = dict[tuple[Any, Any], tuple[list[list[Tensor | None]], list[int]]]
_KEYWORDS = {"scalars": "value", "ord": "p", "weights": "weight"}
_SECOND = ("other", "scalar", "scalars", "tensors1", "exponent", "src")  # names for the method's first argument


@cache
def find(name: str) -> Callable[..., Any] | None:
    """The function for a name, if Tensor has the method, with or without a trailing underscore."""
    method = name.removeprefix("_foreach_")
    if method == name or not (hasattr(Tensor, method) or hasattr(Tensor, method.removesuffix("_"))):
        return None

    def foreach(self: Any, *args: Any, **kwargs: Any) -> Any:
        factors = method.startswith("addc")
        if not factors:  # the argument has a different name in each PyTorch overload
            args = (*args, *(kwargs.pop(key) for key in _SECOND if key in kwargs))
        elif len(args) == 3:  # the factors may be last
            kwargs["value"], args = args[-1], args[:2]
        options = {_KEYWORDS.get(key, key): value for key, value in kwargs.items()}
        if isinstance(options.get("value"), Tensor):  # a tensor with one element for each tensor in the list
            options["value"] = options["value"].tolist()
        results = []
        for n in range(_count(name, self, *args, *options.values())):
            tensor, *nth = (_of(value, n) for value in (self, *args))
            nth_options = {key: _of(value, n) for key, value in options.items()}
            if hasattr(Tensor, method):
                results.append(getattr(Tensor, method)(tensor, *nth, **nth_options))
            else:  # only the out-of-place method exists
                results.append(tensor.copy_(getattr(tensor, method.removesuffix("_"))(*nth, **nth_options)))
        return self if method.endswith("_") else tuple(results)

    foreach.__name__ = foreach.__qualname__ = name
    foreach.__doc__ = f"``Tensor.{method}`` for each tensor in a list. Other lists contain one argument per tensor."
    return foreach


def _count(name: str, *values: Any) -> int:
    """The common length of the list arguments. Raises RuntimeError if they are empty or differ in length."""
    first, *others = (len(value) for value in values if isinstance(value, (list, tuple)))
    if not first:
        raise RuntimeError("Tensor list must have at least one tensor.")
    if wrong := [length for length in others if length != first]:
        raise RuntimeError(f"{name}: tensor lists must have the same number of tensors, got {first} and {wrong[0]}")
    return first


def _of(value: Any, number: int) -> Any:
    return value[number] if isinstance(value, (list, tuple)) else value


def _group_tensors_by_device_and_dtype(
    tensorlistlist: Sequence[Sequence[Tensor | None]], with_indices: bool = False
) -> Groups:
    """Group lists of tensors by the first list's devices and dtypes. If ``with_indices``, also return positions."""
    groups: Groups = {}
    for place, tensors in enumerate(zip(*tensorlistlist, strict=True)):
        first: Any = tensors[0]
        lists, places = groups.setdefault((first.device, first.dtype), ([[] for _ in tensors], []))
        for each, tensor in zip(lists, tensors, strict=True):
            each.append(tensor)
        if with_indices:
            places.append(place)
    return groups


_has_foreach_support = lambda tensors, device: device.type in ("cpu", "cuda")
