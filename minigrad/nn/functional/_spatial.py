"""What functions over spatial axes share: a number for each axis, a batch axis for one sample, a function for each
number of axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from inspect import signature
from typing import Any, Concatenate, ParamSpec, TypeVar

from ...tensor import Tensor

P = ParamSpec("P")
R = TypeVar("R")
Each = int | Sequence[int]


def tuple_of(value: Any, n: int) -> tuple[Any, ...]:
    """``n`` numbers, as layers keep them: a sequence as it is, a number ``n`` times."""
    return tuple(value) if isinstance(value, Sequence) else (value,) * n


def each(name: str, argument: str, value: Any, n: int) -> tuple[int, ...]:
    """A number for each of ``n`` axes, from one for all or one for each.

    Raises:
        RuntimeError: too many, or too few.
    """
    if isinstance(value, Sequence):
        if len(value) == 1:
            return (int(value[0]),) * n
        if len(value) != n:
            raise RuntimeError(f"{name}: expected {argument} to be one integer or {n}, but got {list(value)}")
        return tuple(map(int, value))
    return (int(value),) * n


def batched(name: str, input: Tensor, n: int, run: Callable[[Tensor], Any]) -> Any:
    """``run`` on (N, C, *lengths); a batch axis is added to an input without one, and removed from the result.

    Raises:
        RuntimeError: the input has neither n + 1 nor n + 2 axes.
    """
    if input.array.ndim == n + 2:
        return run(input)
    if input.array.ndim != n + 1:
        raise RuntimeError(
            f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {name}, but got input of size: "
            f"{list(input.array.shape)}"
        )
    out = run(input.unsqueeze(0))
    return tuple(o.squeeze(0) for o in out) if isinstance(out, tuple) else out.squeeze(0)


def over(n: int, function: Callable[Concatenate[int, P], R]) -> Callable[P, R]:
    """A function of ``n`` axes from one that takes their number first: ``max_pool2d`` from ``_max_pool``."""

    @wraps(function)
    def of_n_axes(*args: P.args, **kwargs: P.kwargs) -> R:
        return function(n, *args, **kwargs)

    whole = signature(function)
    name = f"{function.__name__.strip('_')}{n}d"
    attributes: dict[str, Any] = {"__name__": name, "__qualname__": name}
    attributes["__signature__"] = whole.replace(parameters=list(whole.parameters.values())[1:])
    for key, value in attributes.items():
        setattr(of_n_axes, key, value)
    return of_n_axes
