"""Graphs from tensors that are there already, and from calls that are watched while they run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...autograd.tape import Variable
from ...backend import of
from ...nn.module import Module
from ...ops.op import REGISTRY
from .build import Builder
from .data import Graph
from .gradients import Shown, tape_of, watch_backward
from .names import Modules, argument_names, fields_of, user_frame, variables_of
from .observe import Observation, clock


def record_call(function: Callable[..., Any], *inputs: Any, **named: Any) -> Graph:
    """Call a function or module, go back from its result, and record all that happens.

    The backward pass starts from the first tensor of the result that wants a gradient ("loss", where there is
    something of that name); of one that is no scalar, from its sum. It touches no ``.grad``. Where the
    function has gone back itself, as a training step does, the gradients are those that this has left.

    Args:
        function: a module, or any function of tensors. inputs, named: its arguments.

    Raises:
        RuntimeError: no tensor of the result wants a gradient, or a profile is running.
    """
    built, title = built_by_call(function, inputs, named)
    return built.graph(title, _went_back(built, True))


def from_tensor(tensor: Variable, backward: bool = True, modules: Mapping[str, Module] | None = None) -> Graph:
    """The graph that a tensor was computed by, with the values that are still alive.

    Tensors and parameters are called as the caller's variables and modules are.

    Args:
        tensor: a result of recorded ops.
        backward: whether to go back from it (from its sum), which keeps the graph and touches no ``.grad``.
            Where a backward has freed the graph already, the gradients that are left are those of the leaves:
            their ``.grad``, as it has added up.
        modules: by what they are called; "" for one whose parameters have no prefix.

    Raises:
        RuntimeError: no recorded op made the tensor.
    """
    built, title = built_from_tensor(tensor, modules)
    return built.graph(title, _went_back(built, backward))


# Before anything goes back: for playback and explain, too -------------------------------------------------


def built_by_call(function: Callable[..., Any], inputs: Sequence[Any], named: Mapping[str, Any]) -> tuple[Builder, str]:
    """The nodes of a call that is made now and watched, and what to call their graph; see ``record_call``."""
    owner = function if isinstance(function, Module) else getattr(function, "__self__", None)
    modules = Modules(owner if isinstance(owner, Module) else None)
    arguments = argument_names(function, tuple(inputs), dict(named))
    for op in REGISTRY.values():  # so that no op's time has the import of its kernel in it
        of(np.empty(0)).kernel(op.name)
    with Observation(modules) as observation:
        root = _leading(function(*inputs, **named))
    title = type(function).__name__ if isinstance(function, Module) else getattr(function, "__name__", "call")
    if root is None:
        raise RuntimeError(
            f"nothing in what {title} returned wants a gradient, so that no op was recorded: set "
            f"requires_grad on an input or a parameter, and call it outside no_grad()"
        )
    return Builder(root, modules, arguments, observation), title


def built_from_tensor(tensor: Variable, modules: Mapping[str, Module] | None = None) -> tuple[Builder, str]:
    """The nodes that lead to a tensor, and what to call their graph; see ``from_tensor``."""
    if not tensor._wanted() or tensor._source()[0] is None:
        raise RuntimeError(
            "no recorded op made this tensor, so that there is no graph: compute it from tensors that "
            "require a gradient, outside no_grad()"
        )
    variables, of_caller = variables_of(user_frame())
    known = Modules()
    for name, module in (of_caller if modules is None else modules).items():
        known.add(name, module)
    title = next((name for name, variable in variables if variable is tensor), "tensor")
    return Builder(tensor, known, variables), title


def _went_back(built: Builder, run: bool) -> Shown:
    """The gradients of a graph: if a backward has freed it, those that it has left; if ``run``, all."""
    gradients = Shown(built.tape, clock())
    if built.is_released():
        gradients.take(built.leaves())
    elif run:
        watch_backward(built.root, gradients)
    return gradients


def _leading(result: Any) -> Variable | None:
    """The tensor of a call's result that backward starts from."""
    if isinstance(result, Variable):
        return result if result._wanted() and result._source()[0] is not None else None
    result = fields_of(result)
    if isinstance(result, Mapping):
        parts = [result[key] for key in ("loss",) if key in result] + list(result.values())
    else:
        parts = list(result) if isinstance(result, tuple | list) else []
    return next((tensor for part in parts if (tensor := _leading(part)) is not None), None)


# For explain ----------------------------------------------------------------------------------------------


def graph_of(root: Variable, tensor: Variable, run: bool) -> tuple[Graph, int]:
    """The graph that leads to ``root``, and the number of a tensor in it.

    Args:
        run: go back for the numbers also where no backward has run: no leaf has a ``.grad``.

    Raises:
        RuntimeError: the tensor is no part of it.
    """
    built, title = built_from_tensor(root)
    source = tensor._source()[0]
    number = built.number.get(id(tensor) if source is None else source)
    if number is None:
        raise RuntimeError("explain: the tensor is no part of the graph: nothing was computed from it there")
    run = run or any(leaf._grad is not None for leaf in built.leaves())
    return built.graph(title, _went_back(built, run)), number


def last_result_of(tensor: Variable) -> Variable | None:
    """The youngest of the caller's variables that was computed from a tensor (or the tensor, if it is a result)."""
    source, last = tensor._source()[0], -1
    youngest = None if source is None else tensor
    for _, variable in variables_of(user_frame())[0]:
        node = variable._source()[0]
        if node is None or node.order <= last:
            continue
        tape = tape_of(variable)
        if source in tape if source else any(edge[0] is tensor for n in tape for edge in n.edges):
            youngest, last = variable, node.order
    return youngest
