"""Reruns the ops on a tape to recompute results that were not kept, or the results for changed numbers. User-defined
ops are not rerun, as they might draw random numbers; minigrad's ops do not. Lost results are computed only from values
that have not changed since the ops ran, and must agree with the results that are still known. For changed numbers, ops
run on copies. If a result is changed, its inputs stay unchanged, and its gradient uses the same rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...autograd.origin import WeakValue, is_changed, there
from ...autograd.tape import Node, Variable, apply, wrap
from ...backend import ARRAY_TYPES, dtype as dt, of
from ...backend.dtype import Array
from ...ops.op import Op

BUDGET = 4_000_000  # maximum number of elements read and written; larger models are not recomputed
CHANGED = "its inputs have changed since"
GONE = "its inputs are gone"
_APART = 100  # tolerance between two computations, as a multiple of the dtype's eps, relative to the largest number
Results = dict[Any, Array]  # by node and slot
Change = tuple[int | None, float]  # an element's flat index (None: all), and its new value
Changes = Mapping[int, Sequence[Change]]  # by node index, in order


class UnknownError(RuntimeError):
    """An op's argument or result is not known. The message gives the reason."""


def computed_again(tape: Sequence[Node], alive: Results) -> tuple[Results, dict[Node, str]]:
    """Known results on a tape (older nodes first), including those ``alive``, and reasons why others are unknown."""
    results_by_slot, reasons = dict(alive), dict[Node, str]()
    new: set[Node] = set()
    left = BUDGET

    def result(source: Node, slot: int) -> Array:
        if (source, slot) not in results_by_slot:
            raise UnknownError(reasons.get(source, GONE))
        return results_by_slot[source, slot]

    def unchanged(value: Any) -> Any:
        """A value that an op has read. Raises UnknownError if it has changed since then."""
        if isinstance(value, Variable) and is_changed(value._changes, node.order):
            raise UnknownError(CHANGED)
        return value.array if isinstance(value, Variable) else value

    for node in tape:
        is_missing = (node, 0) not in alive
        if not is_missing and not any(edge[0] in new for edge in node.edges if isinstance(edge[0], Node)):
            continue
        try:
            args = arguments_of(node, result, unchanged)
            if any(args[i].shape != edge[2] for i, edge in zip(node.plan.inputs, node.edges, strict=True)):
                raise UnknownError(CHANGED)
            left -= sum(a.size for a in args if hasattr(a, "strides"))
            results = _results(node.op, args, left)
        except UnknownError as error:
            reasons[node] = str(error)
            continue
        left -= sum(array.size for array in results)
        if is_missing:
            new.add(node)
            results_by_slot |= {(node, slot): array for slot, array in enumerate(results)}
        elif not _is_close(results[0], alive[node, 0]):
            return dict(alive), {node: CHANGED for node in tape if (node, 0) not in alive}
    return results_by_slot, reasons


def arguments_of(node: Node, result: Callable[[Node, int], Any], leaf: Callable[[Any], Any]) -> list[Any]:
    """A node's arguments: ``result(node, slot)`` for results of recorded ops, and ``leaf(value)`` for other values."""

    def read(value: Any) -> Any:
        if type(value) in (tuple, list):
            return type(value)(x.array if isinstance(x, Variable) else x for x in map(read, value))
        value = there(value)
        if isinstance(value, WeakValue):
            raise UnknownError(GONE)
        return leaf(value)

    args = {i: read(value) for i, value in other_arguments(node)}
    for i, (source, slot, *_) in zip(node.plan.inputs, node.edges, strict=True):
        args[i] = result(source, slot) if isinstance(source, Node) else read(source)
    return [args[i] for i in range(len(node.plan.needs))]


def other_arguments(node: Node) -> list[tuple[int, Any]]:
    """The arguments that require no gradient, by position. A freed tensor is represented by a WeakValue."""
    saved = dict(kept_arguments(node))
    return [(i, saved.get(i, value)) for i, value in zip(node.plan.others, node.others, strict=True)]


def kept_arguments(node: Node) -> list[tuple[int, Any]]:
    """The arguments that a node saves, by position."""
    is_kept = isinstance(node.saved, list) and node.op.backward is None
    return list(zip(node.plan.keep, node.saved, strict=True)) if is_kept else []  # type: ignore[arg-type]


@np.errstate(all="ignore")
def _results(op: Op, args: list[Any], left: int) -> tuple[Array, ...]:
    if op.backward is not None or not op.builtin:
        raise UnknownError(f"{op.name} is user-defined, so it is not rerun")
    if left < 0:
        raise UnknownError("the graph is too large to recompute")
    try:
        out = op.compute(args)[0]
    except Exception as error:  # an op that the program has replaced may raise anything
        raise UnknownError(f"recomputing it failed: {error}") from error
    results = out if isinstance(out, tuple) else (out,)
    return tuple(array if type(array) in ARRAY_TYPES else np.asarray(array) for array in results)


def _is_close(a: Array, b: Array) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    one, two = of(a).to_numpy(a), of(b).to_numpy(b)
    if one.dtype.kind not in "fc":
        return one.tobytes() == two.tobytes()
    finite = np.abs(two[np.isfinite(two)])
    apart = _APART * float(np.finfo(one.dtype).eps)
    return bool(np.allclose(one, two, rtol=apart, atol=apart * float(finite.max(initial=0)), equal_nan=True))


@np.errstate(all="ignore")
def run_again(node: Node, args: list[Any], changes: Sequence[Change]) -> tuple[Any, ...]:
    """Rerun a node with other arguments, and change numbers in its first result."""
    if node.op.backward is not None:
        raise UnknownError(f"{node.op.name} is a user-defined Function, so it is not rerun")
    try:
        result = apply(node.op, tuple(args))
    except Exception as error:  # the op may reject a number, such as an index
        raise UnknownError(f"{node.op.name} does not run with these numbers: {error}") from error
    results = result if isinstance(result, tuple) else (result,)
    results[0].array = _with_changes(results[0].array, changes)  # the node keeps its own result for its rules
    return results


def copied(leaf: Any, changes: Sequence[Change]) -> Variable:
    """A copy of a leaf with some changed numbers."""
    array = leaf.array if isinstance(leaf, Variable) else leaf
    copy: Variable = wrap(_with_changes(array.copy(), changes))
    copy._needs = isinstance(leaf, Variable) and leaf._needs
    return copy


def _with_changes(array: Array, changes: Sequence[Change]) -> Array:
    """The array, or a copy with changes. Raises IndexError for a wrong index, and ValueError for a wrong dtype."""
    if not changes:
        return array
    backend = of(array)
    host = backend.to_numpy(array).copy()
    for at, value in changes:
        if at is not None and not 0 <= at < host.size:
            raise IndexError(f"index {at} is out of range for {host.size} numbers")
        number = dt.converted(np.array(value), host.dtype)
        if host.dtype.kind in "iub" and number != value:
            raise ValueError(f"{value} cannot be represented in dtype {dt.of(array).name}")
        host.reshape(-1)[slice(None) if at is None else at] = number
    result: Array = backend.asarray(host, backend.device_of(array))
    return result
