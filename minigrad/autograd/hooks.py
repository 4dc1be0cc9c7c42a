"""Hooks: functions of the program that see gradients on their way back, and may replace them.

Hooks on a tensor belong to one result of a node, or to a leaf. Hooks on a node see the gradients of all of its results,
and those of its inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ops.elementwise import add, clone
from ..ops.op import bare
from .origin import note_change
from .tape import RETAINED, Node, Variable, wrap

_OF_NUMBERS = ("add", "div", "mul", "sub", "where")
AROUND = -1  # among a node's hooks, which stand by result, those on the node itself


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
        """Let the first hooks see and replace what has arrived at a node."""
        arrived = _arrived(node, sums)
        for slot, gradient in enumerate(self.seen(arrived)):
            if gradient is not arrived[slot]:
                sums[slot] = [_like(gradient, next(iter(sums.values()))[0]), False]

    def seen(self, arrived: tuple[Any, ...]) -> tuple[Any, ...]:
        """What the first hooks make of the gradients that have arrived."""
        for hook in list(self.first.values()):
            arrived = _replaced(hook(arrived), arrived)
        return arrived

    def after(self, node: Node, sums: dict[int, list[Any]], gradients: Any) -> list[Any]:
        """Let the last hooks see and replace what a node's rules gave for its inputs."""
        places = inputs_of(node)
        arrived, like = _arrived(node, sums), next(iter(sums.values()))[0]
        passed = tuple(None if i is None or gradients[i] is None else _shown(gradients[i]) for i in places)
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
    return tuple(_shown(sums[i][0]) if i in sums else None for i in range(len(node.results or (0,))))


def _shown(gradient: Any) -> Variable:
    return gradient if isinstance(gradient, Variable) else wrap(gradient)


def _like(gradient: Any, other: Any) -> Any:
    """A gradient in the form that the walk goes on with: an array, or a tensor where the walk is recorded."""
    return gradient if gradient is None or isinstance(other, Variable) else gradient.array


def _replaced(result: Any, before: tuple[Any, ...]) -> tuple[Any, ...]:
    """What a hook on a node gives in place of gradients; None stands for no change."""
    if result is None:
        return before
    result = (result,) if isinstance(result, Variable) else tuple(result)
    if len(result) != len(before):
        raise RuntimeError(f"a hook on a node returned an incorrect number of gradients: {len(result)}, not {len(before)}")
    for new, old in zip(result, before, strict=True):
        if new is not None and not isinstance(new, Variable):
            raise TypeError(f"a hook on a node must return Tensors or None, not {type(new).__name__}")
        if new is not None and old is not None:
            _check_shape(new, old)
    return result


def _check_shape(new: Variable, old: Variable) -> None:
    if new.array.shape != old.array.shape:
        raise RuntimeError(
            f"a hook returned a gradient of shape {tuple(new.array.shape)} for one of shape {tuple(old.array.shape)}: "
            f"it has changed the size of the value"
        )


def run_hooks(hooks: dict[int, dict[int, Any]], sums: dict[int, list[Any]]) -> None:
    """Let the hooks on a node's results (or on a leaf) see the gradient, and replace it."""
    for slot, held in sums.items():
        registered = hooks.get(slot, {})
        gradient = _shown(held[0])  # one object, which hooks may write on
        for key in sorted(registered, key=lambda k: k == RETAINED):  # retain_grad's comes last
            hook, held[1] = registered[key], False  # it may keep the gradient
            changed = hook(gradient)
            if changed is not None:
                if not isinstance(changed, Variable):
                    raise TypeError(f"a hook must return a Tensor or None, not {type(changed).__name__}")
                _check_shape(changed, gradient)
                held[0], gradient = changed if isinstance(held[0], Variable) else changed.array, changed


def accumulate(leaf: Variable, gradient: Any, ours: bool, create: bool, hooked: bool = True) -> None:
    """Add to ``.grad``, and run the hooks on that. An array that others may hold as well is copied first."""
    if hooked and leaf._around is not None:
        arrived = leaf._around.seen((_shown(gradient),))
        if arrived[0] is not None:
            accumulate(leaf, _like(arrived[0], gradient), False, create, False)
        for hook in list(leaf._around.last.values()):
            hook((), arrived)
        return
    if create:
        leaf._grad = clone(gradient) if leaf._grad is None else add(leaf._grad, gradient)
    elif leaf._grad is None:
        array = bare(gradient)
        leaf._grad = wrap(array if ours else array.copy())
    else:
        leaf._grad.array += bare(gradient)
        note_change(leaf._grad._changes, "the accumulation of gradients", "backward()")
    if after := leaf._after:
        for hook in list(after.values()):
            if hook(leaf) is not None:
                raise RuntimeError("Tensor post accumulate grad hooks should return None.")
