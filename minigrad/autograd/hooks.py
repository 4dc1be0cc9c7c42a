"""Hooks: user functions that receive gradients during the backward pass and may replace them.

Hooks on a tensor belong to one result of a node, or to a leaf. ``compat/nodes.py`` defines the objects for hooks on a
node itself and on the accumulation of a leaf's gradient.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

from ..backend.deferred import Deferred
from ..ops.elementwise import add, clone
from .tape import RETAINED, Variable, wrap

if TYPE_CHECKING:  # few backward passes need these
    from . import errors as errors
else:
    errors = Deferred("minigrad.autograd.errors")

AROUND = -1  # the key of hooks on a node itself; the key of hooks on a result is the result's number


class RemovableHandle:
    """Adds a hook to ``hooks`` under a unique number, ``id``. Call ``remove()`` to remove it."""

    _keys = count()

    def __init__(self, hooks: dict[int, Any], hook: Any) -> None:
        self.hooks, self.id = hooks, next(self._keys)
        hooks[self.id] = hook

    def remove(self) -> None:
        self.hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *raised: object) -> None:
        self.remove()


def shown(gradient: Any) -> Variable:
    """The gradient as a Variable, for hooks."""
    return gradient if isinstance(gradient, Variable) else wrap(gradient)


def check_like(new: Variable, old: Variable) -> None:
    """Raise an error if a hook's result is not a tensor of the gradient's shape and dtype."""
    if not isinstance(new, Variable):
        raise TypeError(f"a hook must return a Tensor or None, not {type(new).__name__}")
    for name, word in (("shape", "size"), ("dtype", "type")):
        before, after = getattr(old.array, name), getattr(new.array, name)
        if before != after:
            raise RuntimeError(f"a hook has changed the {word} of the value: {name} {before} became {after}")


def run_hooks(hooks: dict[int, dict[int, Any]], sums: dict[int, list[Any]]) -> None:
    """Call the hooks on a node's results (or on a leaf) with the gradients, which they may replace."""
    for slot, total in sums.items():
        registered = hooks.get(slot, {})
        gradient = shown(total[0])  # one object, on which hooks may set attributes
        for _, hook in sorted(registered.items(), key=lambda item: item[0] == RETAINED):  # retain_grad's comes last
            total[1], changed = False, hook(gradient)  # the hook may keep the gradient
            if changed is not None:
                check_like(changed, gradient)
                total[0], gradient = changed if isinstance(total[0], Variable) else changed.array, changed


def accumulate(leaf: Variable, gradient: Any, ours: bool, create: bool, hooked: bool = True) -> None:
    """Add a gradient to a leaf's ``.grad``, and run the hooks on the accumulation."""
    if hooked and leaf._around is not None:
        arrived = leaf._around.run_first((shown(gradient),))
        if arrived[0] is not None:
            accumulate(leaf, arrived[0] if create else arrived[0].array, False, create, False)
        for hook in list(leaf._around.last.values()):
            hook((), arrived)
        return
    if create:
        leaf._grad = clone(gradient) if leaf._grad is None else add(leaf._grad, gradient)
    else:
        leaf.add_gradient(gradient, ours)
    if after := leaf._after:
        for hook in list(after.values()):
            if hook(leaf) is not None:
                raise RuntimeError("Tensor post accumulate grad hooks should return None.")
