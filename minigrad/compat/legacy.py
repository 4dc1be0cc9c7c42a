"""What PyTorch keeps from its earlier releases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..autograd.mode import state
from ..functions.creation import tensor
from ..nn import LocalResponseNorm, Module
from ..nn import functional as F
from ..tensor import Tensor
from .function import Function

has_mps = False  # from before ``backends``


class CrossMapLRN2d(LocalResponseNorm):
    """``nn.LocalResponseNorm`` of images, from the time of Lua. Its window has the channel in its middle, so of an even
    size it has an element less. (PyTorch's never drops channel 0 from its window, so it differs after the first
    ones.) Raises ValueError: the input is not (N, C, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.ndim}D instead.")
        width = self.size - (self.size + 1) % 2
        return F.local_response_norm(input, width, self.alpha * width / self.size, self.beta, self.k)


class ScriptModule(Module):
    """The class of modules that PyTorch has compiled: nothing is compiled here, but programs ask and derive from it."""


class TracerWarning(Warning):
    """What PyTorch's recorder of programs warns with; here nothing does."""


class InplaceFunction(Function):
    """``torch.autograd.function.InplaceFunction``: a Function; ``inplace`` was its option."""


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


# torch.nn._reduction: losses took two bools before ``reduction``

_REDUCTIONS = {"none": 0, "mean": 1, "elementwise_mean": 1, "sum": 2}


def get_enum(reduction: str) -> int:
    """The number of a loss's reduction. Raises ValueError if there is none of that name."""
    if reduction not in _REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return _REDUCTIONS[reduction]


def legacy_get_string(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> str:
    """The reduction that the two arguments before it meant."""
    return "none" if reduce is False else "sum" if size_average is False else "mean"


def legacy_get_enum(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> int:
    """The number of ``legacy_get_string``."""
    return get_enum(legacy_get_string(size_average, reduce))
