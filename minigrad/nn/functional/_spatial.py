"""What is shared by all that goes over spatial axes: a number for each, and a batch axis for one sample."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...tensor import Tensor

Each = int | Sequence[int]


def tuple_of(value: Any, n: int) -> tuple[Any, ...]:
    """``n`` numbers as layers keep them: those that are given, or one ``n`` times."""
    return tuple(value) if isinstance(value, Sequence) else (value,) * n


def each(name: str, told: str, value: Any, n: int) -> tuple[int, ...]:
    """A number for each of ``n`` axes, from one for all or one for each.

    Raises:
        RuntimeError: too many, or too few.
    """
    if isinstance(value, Sequence):
        if len(value) == 1:
            return (int(value[0]),) * n
        if len(value) != n:
            raise RuntimeError(f"{name}: expected {told} to be one integer or {n}, but got {list(value)}")
        return tuple(map(int, value))
    return (int(value),) * n


def batched(name: str, input: Tensor, n: int, run: Callable[[Tensor], Any]) -> Any:
    """``run`` on (N, C, *lengths); an input without a batch axis gets one for the time.

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
