"""Hooks on a node of the graph, and on the accumulation of a leaf's gradient.

They see the gradients of all results, and those of the inputs. The walk (``autograd/walk.py``) calls them where a
program has registered some.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..autograd.hooks import check_like, shown
from ..autograd.tape import Node, Variable
from ..functions.creation import zeros_like

_OF_NUMBERS = ("add", "div", "mul", "sub", "where")


class Around:
    """Hooks on a node, or on the accumulation of a leaf's gradient.

    Attributes:
        first: called with the gradients that have arrived, before the node's rules run.
        last: called with the gradients of the inputs and with those that had arrived, when they have run.
    """

    def __init__(self) -> None:
        self.first: dict[int, Callable[..., Any]] = {}
        self.last: dict[int, Callable[..., Any]] = {}

    def before(self, node: Node, sums: dict[int, list[Any]]) -> None:
        """Let the first hooks see and replace the gradients that have arrived at a node."""
        arrived = _arrived(node, sums)
        for slot, gradient in enumerate(self.run_first(arrived)):
            if gradient is not arrived[slot]:
                gradient = zeros_like(arrived[slot]) if gradient is None else gradient
                sums[slot] = [_like(gradient, next(iter(sums.values()))[0]), False]

    def run_first(self, arrived: tuple[Any, ...]) -> tuple[Any, ...]:
        """The gradients that have arrived, as the first hooks change them."""
        for hook in list(self.first.values()):
            arrived = _replaced(hook(arrived), arrived)
        return arrived

    def after(self, node: Node, sums: dict[int, list[Any]], gradients: Any) -> list[Any]:
        """Let the last hooks see and replace the gradients of a node's inputs."""
        places = inputs_of(node)
        arrived, like = _arrived(node, sums), next(iter(sums.values()))[0]
        passed = tuple(None if i is None or gradients[i] is None else shown(gradients[i]) for i in places)
        for hook in list(self.last.values()):
            passed = _replaced(hook(passed, arrived), passed)
        by_edge = {i: g for i, g in zip(places, passed, strict=True) if i is not None}
        return [None if g is None else _like(g, like) for _, g in sorted(by_edge.items())]


def inputs_of(node: Node) -> list[int | None]:
    """For each input that may have a gradient the number of its edge, None where it wants none. (PyTorch makes tensors
    of numbers in some ops, and has another op for numbers in the rest.)"""
    op, edges = node.op, iter(range(len(node.edges)))
    others = dict(zip(node.plan.others, node.others, strict=False))
    kinds = (int, float, complex) if op.name in _OF_NUMBERS else ()
    places = [
        next(edges) if needs else None
        for i, needs in enumerate(node.plan.needs)
        if needs or (op.differentiable >> i & 1 and (hasattr(x := others.get(i), "shape") or isinstance(x, kinds)))
    ]
    if op.name in _OF_NUMBERS[:4] and isinstance(others.get(0), kinds):  # 2 * x is x * 2; 1 - x is an op of x
        return [0] if op.name == "sub" else [0, None]
    return places


def _arrived(node: Node, sums: dict[int, list[Any]]) -> tuple[Any, ...]:
    return tuple(shown(sums[i][0]) if i in sums else None for i in range(len(node.results or (0,))))


def _like(gradient: Any, other: Any) -> Any:
    """A gradient in the form that the walk goes on with: an array, or a tensor where the walk is recorded."""
    return gradient if gradient is None or isinstance(other, Variable) else gradient.array


def _replaced(result: Any, before: tuple[Any, ...]) -> tuple[Any, ...]:
    """The gradients after a hook on a node, whose result may be None for no change."""
    if result is None:
        return before
    if not isinstance(result, tuple):
        raise TypeError(f"a hook on a node must return a tuple or None, not {type(result).__name__}")
    if len(result) != len(before):
        raise RuntimeError(
            f"a hook on a node returned an incorrect number of gradients: {len(result)}, not {len(before)}"
        )
    for new, old in zip(result, before, strict=True):
        if new is not None:
            check_like(new, new if old is None else old)
    return result
