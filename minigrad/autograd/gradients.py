"""``autograd.grad`` with all of its arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..ops.joining import stack
from . import walk
from .tape import Variable

Variables = Variable | Sequence[Variable]


def grad(
    outputs: Variables,
    inputs: Variables,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """The gradients of ``outputs`` for ``inputs``, returned and not accumulated.

    Args:
        only_inputs: without effect, as in PyTorch: only the paths that lead to ``inputs`` are walked.
        is_grads_batched: each of ``grad_outputs`` has rows, for which the graph is walked one after the other; so has
            each result.
        allow_unused: an input that is not in the graph has None as its gradient.
        materialize_grads: it has zeros. See ``backward`` for the other arguments.

    Raises:
        RuntimeError: an input is not in the graph, and neither is said.
        ValueError: ``materialize_grads`` with an ``allow_unused`` of False.
    """
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: False")
    if not is_grads_batched:
        return walk.grad(outputs, inputs, grad_outputs, retain_graph, create_graph, allow_unused, materialize_grads)
    starts = list(zip(*((grad_outputs,) if isinstance(grad_outputs, Variable) else grad_outputs), strict=True))
    keep = [True] * (len(starts) - 1) + [create_graph if retain_graph is None else retain_graph]
    options = (create_graph, allow_unused, materialize_grads)
    rows = [walk.grad(outputs, inputs, start, kept, *options) for start, kept in zip(starts, keep, strict=True)]
    return tuple(None if parts[0] is None else stack(0, *parts) for parts in zip(*rows, strict=True))
