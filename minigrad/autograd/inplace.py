"""Changes in place.

A change in place is recorded as the op that it amounts to, out of place, and the tensor takes over the history of
that op's result. A change of a view gives its base the history of a partial assignment (``assign_view``).
"""

from __future__ import annotations

from typing import Any

from ..backend import dtype as dt
from ..ops.indexing import assign_view
from ..ops.op import Op, watch
from .calls import apply
from .mode import state
from .observer import span
from .origin import let_go, note_change
from .places import caller
from .tape import Array, Node, record_observed, wanted, wrap
from .views import Viewing, move_retained


def mutate(target: Viewing, op: Op, args: tuple[Any, ...], out: Array | None = None) -> Any:
    """Change ``target`` in place to what ``op`` makes of ``args``, and give it that op's history.

    Args:
        target: the Variable to change; usually ``args[0]`` as well.
        op, args: the op without the change in place.
        out: where the memory has been changed already, after ``check_mutable``, the array that shows it (``x[i] = v``
            does that).

    Raises:
        RuntimeError: a leaf that wants a gradient, while gradients are recorded; a result of another shape or
            of a category of dtype that the target cannot hold.
    """
    with span("copy_" if op.name == "put" else f"{op.name}_", "call"):
        if out is None:
            check_mutable(target, op.name)
            result = apply(op, args)
            _check_fits(target, result.array, op)
            if result._node is not None:
                _keep_original(result._node, target)
            target.array[...] = result.array
        else:
            result = record_observed(op, args, wanted(op, args) if state.grad else 0, out)
        bump(target, op.name)
        if state.grad:
            rebase(target, result)
    return target


def _keep_original(node: Node, target: Viewing) -> None:
    """Where a node keeps the very Variable that is about to change, let it keep a copy (no cycle then)."""
    saved = node.saved
    if isinstance(saved, list) and any(a is target for a in saved):
        original: Viewing = wrap(target.array.copy())
        (original._node, original._slot), original._needs = target._source(), target._needs
        version_of_out = node.versions[-1]
        node.saved = saved = [original if a is target else a for a in saved]
        node.versions = [(a._changes, a._changes[0]) for a in saved if isinstance(a, Viewing)]
        if node.out is not None:
            node.versions.append(version_of_out)


def check_mutable(target: Viewing, name: str, written: Array | None = None) -> None:
    """Refuse to change what cannot be written to, and, while gradients are recorded, a leaf that wants one
    or a view of such a leaf. ``written`` is the part that will change, if not all."""
    for observer in watch.observers:
        observer.changing(target)
    array = target.array if written is None else written
    if not getattr(array.flags, "writeable", True) or (0 in array.strides and array.size):
        _check_own_memory(array, name)
    if not state.grad or (target._base is None and not target._needs):
        return
    wanted = target._wanted()
    leaf: Viewing | None = target
    while leaf is not None:
        if leaf._node is None and (wanted or leaf._needs):
            kind = "a leaf Variable" if leaf is target else "a view of a leaf Variable"
            raise RuntimeError(
                f"{kind} that requires grad is being used in an in-place operation ({name}_): its gradient "
                f"would have no meaning. Change it under minigrad.no_grad(), or work on a copy (x.clone())"
            )
        leaf = leaf._base


def _check_own_memory(array: Array, name: str) -> None:
    """Refuse to write where elements share memory (``expand``), or to read-only memory."""
    if any(step == 0 and n > 1 for step, n in zip(array.strides, array.shape, strict=True)):
        raise RuntimeError(
            f"{name}_: more than one element of the written-to tensor refers to a single memory location "
            f"(expand() makes such tensors): clone() it before changing it in place"
        )
    if not getattr(array.flags, "writeable", True):
        raise RuntimeError(f"{name}_: the tensor's memory is read-only: clone() it before changing it in place")


def _check_fits(target: Viewing, result: Array, op: Op) -> None:
    if result.shape != target.array.shape:
        raise RuntimeError(
            f"output with shape {list(target.array.shape)} doesn't match the broadcast shape "
            f"{list(result.shape)}: {op.name}_ cannot change a tensor's shape in place; use {op.name} "
            f"without the underscore"
        )
    source, goal = dt.of(result), dt.of(target.array)
    if not dt.can_cast(source, goal):
        raise RuntimeError(f"result type {source} can't be cast to the desired output type {goal} in {op.name}_")


def bump(target: Viewing, name: str) -> None:
    """Count a change in place, and note where the program made it."""
    note_change(target._changes, "x[...] = value" if name == "put" else f"{name}_", caller())


def rebase(target: Viewing, result: Any) -> None:
    """Give ``target`` the history of ``result``; its base, if it is a view, that of a partial assignment."""
    before, slot = target._node, target._slot
    if result._node is not None:
        let_go(result._node, target)
    target._node, target._slot, target._needs = result._node, result._slot, result._needs
    target._seen = target._changes[0]
    move_retained(before, slot, target)
    base = target._base
    if base is None or not (result._needs or base._wanted()):
        return
    view, args, slot = target._view  # type: ignore[misc]
    mask = (1 if base._needs else 0) | (2 if result._needs else 0)
    rebase(base, record_observed(assign_view, (base, result, view, args, slot), mask, base.array))
    target._seen = -1  # from now on its history is the base's, as that of other views
    if target._node is not None and target._node.hooks:
        target._source()  # which moves what retain_grad keeps
