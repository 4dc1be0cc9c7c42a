"""Ops that run once more on what they read: leaves, kept inputs, results that are still alive or were computed again.

The library's ops draw no random numbers, as a dropout's mask is an argument of it; a program's own might, and do not
run. What a program has changed since is not used, and what comes out has to agree with the results that are still
known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...autograd.origin import Faint, is_changed, there
from ...autograd.tape import Node, Variable
from ...backend import ARRAY_TYPES, of
from ...backend.dtype import Array
from ...ops.op import Op

BUDGET = 4_000_000  # numbers that are read and written for it at most: no large model is computed a second time
CHANGED = "what it was computed from has changed since"
GONE = "what it was computed from is gone"
LARGE = "the graph is too large to compute it again"
_APART = 100  # times the dtype's rounding, by which two computations may differ, as a part of the largest number
Results = dict[Any, Array]  # by node and slot


class UnknownError(RuntimeError):
    """An argument is not known any more; says why."""


def computed_again(tape: Sequence[Node], alive: Results) -> tuple[Results, dict[Node, str]]:
    """The results of a tape (older nodes first) that are not among those ``alive``, and why others are not known."""
    known, reasons = dict(alive), dict[Node, str]()
    new: set[Node] = set()
    left = BUDGET
    for node in tape:
        is_missing = (node, 0) not in alive
        if not is_missing and not any(edge[0] in new for edge in node.edges if isinstance(edge[0], Node)):
            continue
        try:
            args = _arrays(node, known, reasons)
            left -= sum(a.size for a in args if hasattr(a, "strides"))
            results = _run(node.op, args, left)
        except UnknownError as error:
            reasons[node] = str(error)
            continue
        left -= sum(result.size for result in results)
        if is_missing:
            new.add(node)
            known |= {(node, slot): result for slot, result in enumerate(results)}
        elif not _is_close(results[0], alive[node, 0]):
            return dict(alive), {node: CHANGED for node in tape if (node, 0) not in alive}
    return known, reasons


def _array_of(value: Any, since: int) -> Any:
    """What an op has read, from how it is remembered (``autograd.origin``), as it was at that order of nodes.

    Raises:
        UnknownError: it has changed since, or is gone.
    """
    if type(value) in (tuple, list):
        return type(value)(_array_of(inner, since) for inner in value)
    value = there(value)
    if isinstance(value, Faint):
        raise UnknownError(GONE)
    if not isinstance(value, Variable):
        return value
    if is_changed(value._changes, since):
        raise UnknownError(CHANGED)
    return value.array


def _arrays(node: Node, known: Results, reasons: dict[Node, str]) -> list[Any]:

    def read(source: Any, slot: int) -> Any:
        if isinstance(source, Node) and (source, slot) not in known:
            raise UnknownError(reasons.get(source, GONE))
        return known[source, slot] if isinstance(source, Node) else _array_of(source, node.order)

    args = arguments(node, read, lambda value: _array_of(value, node.order))
    if any(args[i].shape != edge[2] for i, edge in zip(node.plan.inputs, node.edges, strict=True)):
        raise UnknownError(CHANGED)
    return args


def arguments(node: Node, read: Callable[[Any, int], Any], other: Callable[[Any], Any]) -> list[Any]:
    """All arguments of a node's op: what ``read`` makes of the source and slot of those that want a gradient, and
    ``other`` of the rest."""
    args = {i: read(*edge[:2]) for i, edge in zip(node.plan.inputs, node.edges, strict=True)}
    args |= {i: other(value) for i, value in other_arguments(node)}
    return [args[i] for i in range(len(node.plan.needs))]


def other_arguments(node: Node) -> list[tuple[int, Any]]:
    """The arguments that want no gradient, by position, as they are remembered (``autograd.origin``)."""
    kept = dict(kept_arguments(node))
    return [(i, kept.get(i, value)) for i, value in zip(node.plan.others, node.others, strict=True)]


def kept_arguments(node: Node) -> list[tuple[int, Any]]:
    """The arguments that a node of an op keeps, by position."""
    is_kept = isinstance(node.saved, list) and node.op.backward is None
    return list(zip(node.plan.keep, node.saved, strict=True)) if is_kept else []  # type: ignore[arg-type]


@np.errstate(all="ignore")
def _run(op: Op, args: list[Any], left: int) -> tuple[Array, ...]:
    if op.backward is not None or not op.builtin:
        raise UnknownError(f"{op.name} is the program's own, and does not run a second time unasked")
    if left < 0:
        raise UnknownError(LARGE)
    try:
        out = op.compute(args)[0]
    except Exception as error:  # of what a program has replaced
        raise UnknownError(f"to compute it again failed: {error}") from error
    results = out if isinstance(out, tuple) else (out,)
    return tuple(array if type(array) in ARRAY_TYPES else np.asarray(array) for array in results)


def _is_close(a: Array, b: Array) -> bool:
    """Whether two arrays are the same but for rounding."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    one, two = of(a).to_numpy(a), of(b).to_numpy(b)
    if one.dtype.kind not in "fc":
        return one.tobytes() == two.tobytes()
    finite = np.abs(two[np.isfinite(two)])
    apart = _APART * float(np.finfo(one.dtype).eps)
    return bool(np.allclose(one, two, rtol=apart, atol=apart * float(finite.max(initial=0)), equal_nan=True))
