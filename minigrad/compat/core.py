"""Single names of PyTorch that need a few lines each."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any

from ..autograd import Function
from ..autograd.mode import state
from ..backend.device import Device
from ..backend.dtype import bool_, float32
from ..cuda import is_available
from ..functions.arguments import in_float32
from ..functions.creation import tensor
from ..nn import LocalResponseNorm, Module
from ..nn import functional as F
from ..tensor import Tensor


def _of_core(function: Any) -> Any:
    """``F.softmax`` or the like, as PyTorch's core has it: of float16 in float32 with ``half_to_float``."""
    return lambda input, dim, half_to_float=False: function(input, dim, dtype=float32 if half_to_float else None)


_softmax, _log_softmax = _of_core(F.softmax), _of_core(F.log_softmax)


def _masked_softmax(x: Tensor, mask: Tensor, dim: int | None = None, mask_type: int | None = None) -> Tensor:
    """softmax of the elements that a mask leaves; the others are 0, also in rows where it leaves none (PyTorch: NaN).

    Args:
        x: (B, H, T, S), or of any shape with a mask of that shape.
        mask: bool, True where an element is left out.
        dim: None for the last axis.
        mask_type: 0 for a mask (T, S) of attention, 1 for one (B, S) of padding; ignored for one of the shape of ``x``.

    Raises:
        RuntimeError: the mask is not of bools, or its shape does not fit its type.
    """
    if mask.dtype is not bool_:
        raise RuntimeError("Mask should be a boolean tensor")
    if mask.shape != x.shape:
        if mask_type is None:
            raise RuntimeError("Mask Type should be defined")
        if mask.shape != {0: x.shape[-2:], 1: (x.shape[0], x.shape[-1])}.get(mask_type):
            raise RuntimeError(f"mask_type == {mask_type} does not take a mask of shape {list(mask.shape)}")
        mask = mask[:, None, None] if mask_type == 1 else mask
    return F.softmax(x.masked_fill(mask, float("-inf")), -1 if dim is None else dim)


class CrossMapLRN2d(LocalResponseNorm):
    """``nn.LocalResponseNorm`` of images, from the time of Lua. Its window has the channel in its middle, so of an even
    size it has an element less. (PyTorch's never drops channel 0 from its window, so it differs after the first ones.)

    Raises:
        ValueError: the input is not (N, C, H, W).
    """

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.ndim}D instead.")
        width = self.size - (self.size + 1) % 2
        return F.local_response_norm(input, width, self.alpha * width / self.size, self.beta, self.k)


def softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any) -> Tensor:
    """The gradient of ``output = softmax(x, dim)`` for x, in a dtype: ``torch._softmax_backward_data``."""
    g, y = in_float32(grad_output), in_float32(output)
    return (y * (g - (g * y).sum(dim, keepdim=True))).to(input_dtype)


def log_softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any) -> Tensor:
    """The gradient of ``output = log_softmax(x, dim)`` for x, in a dtype."""
    g, y = in_float32(grad_output), in_float32(output)
    return (g - y.exp() * g.sum(dim, keepdim=True)).to(input_dtype)


def current_accelerator(check_available: bool = False) -> Device | None:
    """The device "cuda", or None where there is none."""
    return Device("cuda") if is_available() else None


has_mps = False  # an attribute from before ``backends``


class OutOfMemoryError(RuntimeError):
    """A GPU's memory does not suffice: CuPy's error of that name, where there is CuPy."""


with suppress(ImportError):
    OutOfMemoryError = import_module("cupy").cuda.memory.OutOfMemoryError  # type: ignore[misc]


def _assert(condition: Any, message: Any) -> None:
    """``assert``, as a function, which stays under ``python -O``, too. Raises AssertionError."""
    if not condition:
        raise AssertionError(message)


class ScriptModule(Module):
    """The class of modules that PyTorch has compiled: nothing is compiled here, but programs ask and derive from it."""


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
            """Call a function at the end of the backward pass that runs.

            Raises:
                RuntimeError: none runs.
            """
            if state.walk is None:
                raise RuntimeError("Final callbacks can only be installed during backward pass.")
            state.walk.callbacks.append(callback)
