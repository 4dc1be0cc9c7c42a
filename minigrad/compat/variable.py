"""``torch.autograd.Variable``, from the time when tensors alone had no gradient: it makes a tensor."""

from __future__ import annotations

from typing import Any

from ..functions.creation import tensor
from ..tensor import Tensor

__all__ = ["Variable"]


class _AnyTensor(type):
    """``isinstance(x, Variable)`` is True of every tensor."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=_AnyTensor):
    """``Variable(data)``: a new leaf that shares the memory of a tensor.

    Args:
        data: a tensor; an empty one is made where it is None.
        requires_grad: whether the leaf wants a gradient, whatever ``data`` does.
        volatile: from before ``no_grad``; kept, and without effect as in PyTorch.

    Raises:
        TypeError: ``data`` is not a tensor.
        ValueError: ``volatile`` with ``requires_grad``.
    """

    def __new__(cls, data: Any = None, requires_grad: bool = False, volatile: bool | None = None) -> Any:
        if data is not None and not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        if volatile and requires_grad:
            raise ValueError("Variable can't be volatile and require_grad at the same time!")
        leaf = tensor([]) if data is None else data.detach()
        return leaf.requires_grad_(requires_grad)
