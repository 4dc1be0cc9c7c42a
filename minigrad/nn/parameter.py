"""Parameter: a tensor that a module learns. Buffer: one that it holds and does not learn."""

from __future__ import annotations

from typing import Any

from ..functions.creation import empty
from ..tensor import Tensor

__all__ = ["Buffer", "Parameter"]


class Parameter(Tensor):
    """A leaf tensor that wants a gradient, and that a Module registers when it is assigned to one.

    Args:
        data: the values, whose memory the parameter shares. None stands for an empty tensor.
        requires_grad: whether a gradient is wanted.

    Raises:
        TypeError: ``data`` is no tensor.
        RuntimeError: a gradient is wanted of a dtype that has none (integers, bools).
    """

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Parameter:
        made: Parameter = _sharing(cls, data)
        made.requires_grad_(requires_grad)
        return made

    def __init__(self, data: Tensor | None = None, requires_grad: bool = True) -> None:
        pass  # __new__ has done it

    def __repr__(self, **kwargs: Any) -> str:
        return "Parameter containing:\n" + super().__repr__(**kwargs)

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        if id(self) not in memo:  # without its gradient, as in PyTorch
            memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        made: Parameter = memo[id(self)]
        return made


class Buffer(Tensor):
    """A tensor that a Module registers as a buffer when it is assigned to one: ``register_buffer`` as a type.

    Args:
        data: the values, whose memory the buffer shares. None stands for an empty tensor.
        persistent: whether it is part of ``state_dict``.

    Raises:
        TypeError: ``data`` is no tensor.
    """

    persistent: bool = True

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Buffer:
        made: Buffer = _sharing(cls, data)
        made.persistent = persistent
        return made

    def __init__(self, data: Tensor | None = None, *, persistent: bool = True) -> None:
        pass  # __new__ has done it


def _sharing(cls: type[Any], data: Tensor | None) -> Any:
    """A tensor of a class, without history, in the memory of another."""
    source = empty(0) if data is None else data
    if not isinstance(source, Tensor):
        raise TypeError(f"{cls.__name__} takes a Tensor, not {type(source).__name__}: make one with minigrad.tensor()")
    made = object.__new__(cls)
    made.array = source.array
    made._version = source._version  # the memory is shared, so a change through either counts for both
    return made
