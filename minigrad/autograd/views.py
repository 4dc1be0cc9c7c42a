"""Views, which share memory and a version counter with their base.

If that memory changes in place, the change becomes part of the base's history (``inplace.py``). The counter shows that
a view's own node is out of date; the view then records a new node from the base.
"""

from __future__ import annotations

from typing import Any

from ..ops.op import Op
from .mode import state
from .tape import RETAINED, Node, Variable, record_observed, wanted


class Viewing(Variable):
    """A Variable that may be a view of another, in which case its history follows the base's."""

    _parent: Viewing | None = None
    _view: tuple[Op, tuple[Any, ...], int, Any] | None = None  # op, arguments, which result, the parent's own view
    _seen: int = 0  # the version at which its node was recorded
    _is_former: bool = False  # whether it represents a tensor's state before ``transpose_`` or similar

    def _wanted(self) -> bool:
        if self._parent is not None:
            self._source()
        return self._needs

    def _viewed(self) -> Viewing | None:
        """The tensor that this is a view of. (``transpose_`` also makes the parent a view of that tensor.)"""
        base = self._parent
        while base is not None and base._view is not self._view[3]:  # type: ignore[index]
            base = base._parent
        return base

    def _source(self) -> tuple[Node | None, int]:
        """As in Variable, but if a view's memory has changed, first record a new node from the base."""
        if self._parent is not None and self._seen != self._changes[0]:
            self._seen, base = self._changes[0], self._viewed()
            if base is not None and base._wanted():
                op, args, slot, _ = self._view  # type: ignore[misc]
                out = op.forward(base.array, *(a.array if isinstance(a, Variable) else a for a in args))
                args = (base, *args)
                again = record_observed(op, args, wanted(op, args), out)
                again = again[slot] if isinstance(again, tuple) else again
                before, old_slot = self._node, self._slot
                self._node, self._slot, self._needs = again._node, again._slot, again._needs
                move_retained(before, old_slot, self)
        return self._node, self._slot


def move_retained(before: Node | None, slot: int, target: Variable) -> None:
    """Make ``retain_grad`` keep the gradient of the new value after a tensor gets a new node."""
    hooks, node = None if before is None or before is target._node else before.hooks, target._node
    keep = hooks.get(slot, {}).pop(RETAINED, None) if hooks else None
    if keep is not None and node is not None:
        node.hooks = node.hooks or {}
        node.hooks.setdefault(target._slot, {})[RETAINED] = keep


def note_view(op: Op, args: tuple[Any, ...], result: Any, slot: int = 0) -> None:
    """Turn results that share memory with their input into views of it, with its version counter and history."""
    if result.__class__ is tuple:
        for slot, r in enumerate(result):
            note_view(op, args, r, slot)
        return
    base, shared = args[0], result.array.base
    array = base.array
    if shared is array or (shared is not None and shared is array.base):
        result._changes = version = base._changes
        if state.grad or not base._needs:  # a view made under no_grad is like ``detach()``
            result._parent, result._view, result._seen = base, (op, args[1:], slot, base._view), version[0]
