"""``torch._C``: there is no C++ library; a few of its names stand in annotations and guards."""

from __future__ import annotations

from typing import Any

from ..backend.random import Generator
from ..ops.softmax import log_softmax_gradient, softmax_gradient
from ..tensor import Tensor
from .refused import refused_class

__all__ = ["Block", "Generator", "Graph", "Node", "Value"]

_ADVICE = "nothing records a program; use the public functions"
Block, Graph, Node, Value = (refused_class(f"torch._C.{name}", _ADVICE) for name in ("Block", "Graph", "Node", "Value"))


def softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any) -> Tensor:
    """The gradient of ``output = softmax(x, dim)`` for x, in a dtype: ``torch._softmax_backward_data``."""
    made: Tensor = softmax_gradient(grad_output, output, dim)
    return made.to(input_dtype)


def log_softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any) -> Tensor:
    """The gradient of ``output = log_softmax(x, dim)`` for x, in a dtype."""
    made: Tensor = log_softmax_gradient(grad_output, output, dim)
    return made.to(input_dtype)


def _get_tracing_state() -> None:
    """None: nothing is being traced."""


def _log_api_usage_once(event: str) -> None:
    """Nothing is logged."""


def _jit_set_profiling_mode(profiling_flag: bool) -> bool:
    """Nothing is compiled. Returns False, the mode before."""
    return False


_jit_set_profiling_executor: Any = _jit_set_profiling_mode
