"""Single names of PyTorch that need a few lines each: the accelerator, its error, gradients of softmax."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from typing import Any

from ..backend.device import Device
from ..cuda import is_available
from ..tensor import Tensor


def softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any) -> Tensor:
    """The gradient of ``output = softmax(x, dim)`` for x, in a dtype: ``torch._softmax_backward_data``."""
    return (output * (grad_output - (grad_output * output).sum(dim, keepdim=True))).to(input_dtype)


def log_softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any) -> Tensor:
    """The gradient of ``output = log_softmax(x, dim)`` for x, in a dtype."""
    return (grad_output - output.exp() * grad_output.sum(dim, keepdim=True)).to(input_dtype)


def current_accelerator(check_available: bool = False) -> Device | None:
    """The device "cuda", or None where there is none."""
    return Device("cuda") if is_available() else None


class OutOfMemoryError(RuntimeError):
    """A GPU's memory does not suffice. Where there is CuPy, the name stands for CuPy's error of that name."""


with suppress(ImportError):
    OutOfMemoryError = import_module("cupy").cuda.memory.OutOfMemoryError  # type: ignore[misc]
