"""Parameter: a tensor that a module learns."""

from __future__ import annotations

from typing import Any

from ..functions.creation import empty
from ..tensor import Tensor


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
        source = empty(0) if data is None else data
        if not isinstance(source, Tensor):
            raise TypeError(
                f"Parameter takes a Tensor, not {type(source).__name__}: make one with minigrad.tensor()"
            )
        made: Parameter = object.__new__(cls)
        made.array = source.array
        made._version = source._version  # the memory is shared, so a change through either counts for both
        made.requires_grad_(requires_grad)
        return made

    def __init__(self, data: Tensor | None = None, requires_grad: bool = True) -> None:
        pass  # __new__ has done it

    def __repr__(self, **kwargs: Any) -> str:
        return "Parameter containing:\n" + super().__repr__(**kwargs)
