"""What PyTorch keeps from its earlier releases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..autograd.mode import state
from ..functions.creation import tensor
from ..nn import Module
from ..tensor import Tensor


class ScriptModule(Module):
    """The class of modules that PyTorch has compiled: nothing is compiled here, but programs ask and derive from it."""


class TracerWarning(Warning):
    """What PyTorch's recorder of programs warns with; here nothing does."""


class _AnyTensor(type):
    """``isinstance(x, Variable)`` is True of every tensor."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=_AnyTensor):
    """``torch.autograd.Variable``, from the time when a tensor alone had no gradient: a new leaf on a tensor's memory.

    Args:
        data: a tensor; None for an empty one.
        requires_grad: whether the leaf requires a gradient, whatever ``data`` does.
        volatile: from before ``no_grad``; without effect, as in PyTorch.

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

    class _execution_engine:
        """PyTorch's name of the engine, for libraries that let it call them when a backward pass is over."""

        @staticmethod
        def queue_callback(callback: Callable[[], None]) -> None:
            """Call a function at the end of the backward pass that runs. Raises RuntimeError: none runs."""
            if state.walk is None:
                raise RuntimeError("Final callbacks can only be installed during backward pass.")
            state.walk.callbacks.append(callback)
