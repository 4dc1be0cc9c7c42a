"""Graphs from tensors that are there already, and from calls that are watched while they run."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np

from ...autograd.tape import Variable
from ...autograd.tracebacks import user_frame, user_frames
from ...autograd.walk import nodes_behind
from ...backend import of
from ...nn.module import Module
from ...ops.op import REGISTRY
from .build import Builder
from .graph_data import Graph
from .graph_names import Modules, argument_names, tensors_within, variables_of
from .observe import Observation, Shown, watch_backward


def record(
    what: Variable | Callable[..., Any],
    inputs: Sequence[Any] = (),
    named: Mapping[str, Any] | None = None,
    backward: bool = True,
    modules: Mapping[str, Module] | None = None,
) -> Graph:
    """The graph of a tensor, or of a call of a module or function that is made now; see ``viz.graph``.

    The backward pass of a call starts from its result; of several that want a gradient, from the one that is called
    "loss"; else from the sum of the scalars (losses) if the first is one, or of those that are none (logits of several
    heads); of one that is no scalar, from its sum. Where a backward has freed the graph, the gradients are those that
    it has left: the leaves' ``.grad``.

    Of a tensor the values are those still alive; its names are those of the caller's variables and modules.
    """
    nodes = built("graph", what, inputs, named or {}, modules)
    return with_gradients(nodes, backward or not isinstance(what, Variable))


def graph_of(root: Variable, tensor: Variable, run: bool) -> tuple[Graph, int]:
    """The graph that leads to ``root``, and a tensor's number in it; ``run``: with gradients in any case."""
    nodes = _of_tensor(root)
    source = tensor._source()[0]
    number = nodes.number.get(id(tensor) if source is None else source)
    if number is None:
        raise RuntimeError("explain: the tensor is no part of the graph: nothing was computed from it there")
    return with_gradients(nodes, run or any(leaf._grad is not None for leaf in nodes.leaves())), number


def with_gradients(nodes: Builder, run: bool) -> Graph:
    """The graph; if a backward has freed it, with the gradients that it has left; if ``run``, with all."""
    gradients = Shown(nodes.tape)
    if nodes.is_released():
        gradients.take(nodes.leaves())
    elif run:
        watch_backward(nodes.root, gradients)
    return nodes.graph(gradients)


def built(
    caller: str, what: Any, inputs: Sequence[Any], named: Mapping[str, Any], modules: Mapping[str, Module] | None = None
) -> Builder:
    """The nodes of a tensor, or of a call that is made now and watched; see ``record``."""
    if isinstance(what, Variable):
        if inputs or named:
            raise TypeError(f"{caller} takes a tensor alone, or a module or function and its inputs")
        return _of_tensor(what, modules)
    if not callable(what):
        raise TypeError(f"{caller} takes a tensor, a module or a function, not {type(what).__name__}")
    return _of_call(what, inputs, named)


def _of_call(function: Callable[..., Any], inputs: Sequence[Any], named: Mapping[str, Any]) -> Builder:
    owner = function if isinstance(function, Module) else getattr(function, "__self__", None)
    modules = Modules(owner if isinstance(owner, Module) else None)
    arguments = argument_names(function, inputs, named)
    for op in REGISTRY.values():  # so that no op's time has the import of its kernel in it
        of(np.empty(0)).kernels(op.name)
    with Observation(modules, arguments) as observation:
        root = _start(function(*inputs, **named))
    title = type(function).__name__ if isinstance(function, Module) else getattr(function, "__name__", "call")
    if root is None:
        raise RuntimeError(
            f"nothing in what {title} returned wants a gradient, so that no op was recorded: set "
            f"requires_grad on an input or a parameter, and call it outside no_grad()"
        )
    return Builder(title, root, modules, arguments, observation)


def _start(result: Any) -> Variable | None:
    """Where the backward pass of a call starts; None if nothing in the result wants a gradient."""
    results = [(name, tensor) for name, tensor in tensors_within(result) if tensor._wanted() and tensor._source()[0]]
    losses = [tensor for name, tensor in results if "loss" in re.split("[. ]", name)][:1]
    like_first = [tensor for _, tensor in results if (tensor.array.ndim == 0) == (results[0][1].array.ndim == 0)]
    chosen: list[Any] = losses or like_first  # Tensors
    return reduce(operator.add, (x.sum() for x in chosen)) if len(chosen) > 1 else next(iter(chosen), None)


def _of_tensor(tensor: Variable, modules: Mapping[str, Module] | None = None) -> Builder:
    if not tensor._wanted() or tensor._source()[0] is None:
        raise RuntimeError(
            "no recorded op made this tensor, so that there is no graph: compute it from tensors that "
            "require a gradient, outside no_grad()"
        )
    variables, of_caller = variables_of(*user_frames())
    known = Modules()
    for name, module in (of_caller if modules is None else modules).items():
        known.add(name, module)
    title = next((name for name, variable in variables if variable is tensor), "tensor")
    return Builder(title, tensor, known, variables)


def last_result_of(tensor: Variable) -> Variable | None:
    """The youngest of the caller's variables that was computed from a tensor (or the tensor, if it is a result)."""
    source, last = tensor._source()[0], -1
    youngest = None if source is None else tensor
    for _, variable in variables_of(user_frame())[0]:
        node = variable._source()[0]
        if node is None or node.order <= last:
            continue
        tape = nodes_behind((variable,))
        if source in tape if source else any(edge[0] is tensor for n in tape for edge in n.edges):
            youngest, last = variable, node.order
    return youngest
