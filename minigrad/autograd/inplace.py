"""In-place changes.

An in-place change is recorded as the equivalent out-of-place op, and the tensor takes over the history of that op's
result. A change to a view gives its base the history of a partial assignment (``assign_view``).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backend import dtype as dt
from ..ops.indexing import assign_view, put
from ..ops.op import Op, watch
from .calls import ERRORS, FLOAT32, FLOAT64, IGNORED, apply
from .mode import state
from .observer import span
from .origin import note_change, weak
from .tape import Array, Node, Variable, record_observed, wanted, wrap
from .tracebacks import caller
from .views import Viewing, move_retained


def at_once(target: Viewing, op: Op, others: tuple[Any, ...], factor: Any = 1) -> bool:
    """If no gradient is needed, nothing observes the op, and all operands are floats of one dtype, set ``target`` in
    place to ``op(target, *others)``, with the last operand multiplied by ``factor``. Returns whether it did so. If not
    (even after an error), nothing has changed, and ``mutate`` must make the change or raise the error."""
    array, grad = target.array, state.grad
    dtype, kind, operands = array.dtype, array.__class__, [array]
    if (dtype is not FLOAT32 and dtype is not FLOAT64) or watch.observers or 0 in array.strides:
        return False
    if grad and (target._needs or target._parent is not None):
        return False
    for a in others:
        if isinstance(a, Variable):
            other = a.array
            if other.dtype is not dtype or other.__class__ is not kind or (grad and a._wanted()):
                return False
            operands.append(other)
        elif a.__class__ is float or a.__class__ is int:
            operands.append(a)
        else:
            return False
    usual = ERRORS.get()
    try:
        try:
            ERRORS.set(IGNORED)
            if factor != 1:
                operands[-1] = operands[-1] * factor
            if kind is np.ndarray and (ufunc := _UFUNCS.get(op.name)):
                ufunc(*operands, out=array)
            else:
                result = op.compute(operands)[0]
                if result.dtype is not dtype or result.shape != array.shape:
                    return False
                array[...] = result
        finally:
            ERRORS.set(usual)
    except Exception:  # including read-only memory; ``mutate`` raises the error again
        return False
    finally:
        ERRORS.set(usual)  # twice, as Ctrl-C may interrupt before any line
    bump(target, op.name)
    return True


# Ops whose forward function is a single NumPy function, which can write to its first operand.
_UFUNCS: dict[str, Any] = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.true_divide}
_UFUNCS |= {"neg": np.negative, "sqrt": np.sqrt}


def mutate(target: Viewing, op: Op, args: tuple[Any, ...], out: Array | None = None) -> Any:
    """Change ``target``, usually ``args[0]``, in place to ``op(*args)``, and give it that op's history. ``out`` is
    memory that the caller has already changed (after ``check_mutable``), as ``x[i] = v`` does."""
    with span("copy_" if op.name == "put" else f"{op.name}_", "call"):
        if out is None:
            check_mutable(target, op.name)
            if any(observer.packs for observer in watch.observers):
                args = tuple(as_it_was(target) if a is target else a for a in args)
            result = apply(op, args)
            check_fits(target, result.array, op.name)
            node: Node | None = result._node
            if node is not None and isinstance(node.saved, list) and any(a is target for a in node.saved):
                # if a node saved the Variable that is about to change, give it a copy (which also avoids a cycle)
                original, version_of_out = as_it_was(target), node.versions[-1]
                node.saved = [original if a is target else a for a in node.saved]
                node.versions = [(a._changes, a._changes[0]) for a in node.saved if isinstance(a, Viewing)]
                node.versions += [version_of_out] if node.out is not None else []
            target.array[...] = result.array
        else:
            result = record_observed(op, args, wanted(op, args) if state.grad else 0, out)
        bump(target, op.name)
        if state.grad:
            rebase(target, result)
    return target


def as_it_was(target: Viewing) -> Viewing:
    """A copy of a tensor before a change, with its history, for nodes to save."""
    copy: Viewing = wrap(target.array.copy())
    (copy._node, copy._slot), copy._needs = target._source(), target._needs
    return copy


def check_mutable(target: Viewing, name: str, part: Array | None = None) -> None:
    """Raise an error if ``target`` (or ``part``) is read-only or overlaps itself, or is a leaf that requires grad."""
    watch.notify("changing", target)
    array = target.array if part is None else part
    if 0 in array.strides and array.size and repeats(array):
        raise RuntimeError(
            f"unsupported operation: {name}_: more than one element of the written-to tensor refers to a single memory "
            f"location (expand() makes such tensors): clone() it before changing it in place"
        )
    if not getattr(array.flags, "writeable", True):
        raise RuntimeError(f"{name}_: the tensor's memory is read-only: clone() it before changing it in place")
    check_no_leaf(target, name)


def check_no_leaf(target: Viewing, name: str) -> None:
    """While gradients are recorded, raise an error for a leaf that requires grad or a view of such a leaf."""
    if not state.grad or (target._parent is None and not target._needs):
        return
    needs = target._wanted()
    leaf: Viewing | None = target
    while leaf is not None:
        if leaf._node is None and (needs or leaf._needs):
            kind = "a leaf Variable" if leaf is target else "a view of a leaf Variable"
            raise RuntimeError(
                f"{kind} that requires grad is being used in an in-place operation ({name}_): its gradient "
                f"would be meaningless. Change it under minigrad.no_grad(), or work on a copy (x.clone())"
            )
        leaf = leaf._parent


def repeats(array: Array) -> bool:
    """Whether elements of an array share memory because an axis was expanded."""
    return bool(array.size) and any(step == 0 and n > 1 for step, n in zip(array.strides, array.shape, strict=True))


def check_fits(target: Viewing, result: Array, name: str) -> None:
    """Raise an error if the result's shape differs from the target's or its dtype is of a higher category."""
    if result.shape != target.array.shape:
        raise RuntimeError(
            f"output with shape {list(target.array.shape)} doesn't match the broadcast shape {list(result.shape)}: "
            f"{name}_ cannot change a tensor's shape in place; use {name} without the underscore"
        )
    source, goal = dt.of(result), dt.of(target.array)
    if not dt.can_cast(source, goal):
        raise RuntimeError(f"result type {source} can't be cast to the desired output type {goal} in {name}_")


def bump(target: Viewing, name: str) -> None:
    """Count an in-place change, and record where the program made it."""
    note_change(target._changes, "x[...] = value" if name == "put" else f"{name}_", caller(2))


def rebase(target: Viewing, result: Any) -> None:
    """Give ``target`` the history of ``result``; if it is a view, give its base the history of a partial assignment."""
    before, slot = target._node, target._slot
    if (node := result._node) is not None:  # keeping a small constant that becomes the result would create a cycle
        node.others = [weak(a, a.array) if a is target else a for a in node.others]
    target._node, target._slot, target._needs = result._node, result._slot, result._needs
    target._seen = target._changes[0]
    move_retained(before, slot, target)
    base = target._viewed()
    if base is None or not (result._needs or base._wanted()):
        return
    view, args, slot, _ = target._view  # type: ignore[misc]
    index: Any = None
    if view.name != "as_strided" and repeats(base.array):
        base, index = _places(target)
    is_strided = view.name == "as_strided" or (base._view is not None and base._view[0].name == "as_strided")
    if is_strided or repeats(target.array):
        raise RuntimeError(
            f"{view.name}: elements of the tensor share memory, so the change has no gradient: clone() it first"
        )
    mask = (1 if base._needs else 0) | (2 if result._needs else 0)
    change, rest = (assign_view, (view, args, slot)) if index is None else (put, (index,))
    rebase(base, record_observed(change, (base, result, *rest), mask, base.array))
    target._seen = -1  # from now on, its history is the base's, as for other views
    if target._node is not None and target._node.hooks:
        target._source()  # which also moves retain_grad's hook


def _places(target: Viewing) -> tuple[Viewing, Any]:
    """For a view of an expanded tensor: the tensor before ``expand``, and the view's index in that tensor."""
    steps, base = [target._view], target._viewed()
    while base is not None and base._view is not None and repeats(base.array):
        steps.append(base._view)
        base = base._viewed()
    assert base is not None
    numbers = np.arange(base.array.size).reshape(base.array.shape)
    for op, args, slot, _ in reversed(steps):
        numbers = op.forward(numbers, *args)
        numbers = numbers[slot] if isinstance(numbers, tuple) else numbers
    return base, np.unravel_index(numbers, base.array.shape)
