"""Ops of a tape that run once more: for results that nobody has kept, and for a graph with other numbers.

The library's ops draw no random numbers, as a dropout's mask is an argument of them; a program's own might, and do not
run. For lost results nothing is used that a program has changed since, and what comes out has to agree with the results
that are still known. For other numbers ops run on copies; a change of a result adds the difference to it: what it was
computed from stays, and its gradient goes back by the same rules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ...autograd.mode import enable_grad
from ...autograd.origin import Faint, is_changed, there
from ...autograd.tape import Node, Variable, apply, node_of, wrap
from ...backend import ARRAY_TYPES, of
from ...backend import dtype as dt
from ...backend.dtype import Array
from ...ops.op import Op
from .graph_data import Edge, Graph, value_of
from .observe import Shown, place_in, watch_backward

BUDGET = 4_000_000  # numbers that are read and written for it at most: no large model is computed a second time
CHANGED = "what it was computed from has changed since"
GONE = "what it was computed from is gone"
_APART = 100  # times the dtype's rounding, by which two computations may differ, as a part of the largest number
Results = dict[Any, Array]  # by node and slot
Change = tuple[int | None, float]  # the place of an element in flat order (None: all of them), and its number
Changes = Mapping[int, Sequence[Change]]  # by the number of a node, in order


class UnknownError(RuntimeError):
    """An argument is not known any more; says why."""


def computed_again(tape: Sequence[Node], alive: Results) -> tuple[Results, dict[Node, str]]:
    """The results of a tape (older nodes first) that are not among those ``alive``, and why others are not known."""
    known, reasons = dict(alive), dict[Node, str]()
    new: set[Node] = set()
    left = BUDGET

    def result(source: Node, slot: int) -> Array:
        if (source, slot) not in known:
            raise UnknownError(reasons.get(source, GONE))
        return known[source, slot]

    for node in tape:
        is_missing = (node, 0) not in alive
        if not is_missing and not any(edge[0] in new for edge in node.edges if isinstance(edge[0], Node)):
            continue
        try:
            args = _arguments(node, result, partial(_unchanged, since=node.order))
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
            known |= {(node, slot): array for slot, array in enumerate(results)}
        elif not _is_close(results[0], alive[node, 0]):
            return dict(alive), {node: CHANGED for node in tape if (node, 0) not in alive}
    return known, reasons


def _unchanged(value: Any, since: int) -> Any:
    """What an op has read, as it was at that order of nodes. Raises UnknownError: it has changed since."""
    if not isinstance(value, Variable):
        return value
    if is_changed(value._changes, since):
        raise UnknownError(CHANGED)
    return value.array


def _arguments(node: Node, result: Callable[[Node, int], Any], leaf: Callable[[Any], Any]) -> list[Any]:
    """A node's arguments: ``result(node, slot)`` of results that a gradient goes back to, ``leaf(value)`` of others."""

    def read(value: Any) -> Any:
        if type(value) in (tuple, list):
            return type(value)(x.array if isinstance(x, Variable) else x for x in map(read, value))
        value = there(value)
        if isinstance(value, Faint):
            raise UnknownError(GONE)
        return leaf(value)

    args = {i: read(value) for i, value in other_arguments(node)}
    for i, (source, slot, *_) in zip(node.plan.inputs, node.edges, strict=True):
        args[i] = result(source, slot) if isinstance(source, Node) else read(source)
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
def _results(op: Op, args: list[Any], left: int) -> tuple[Array, ...]:
    if op.backward is not None or not op.builtin:
        raise UnknownError(f"{op.name} is the program's own, and does not run a second time unasked")
    if left < 0:
        raise UnknownError("the graph is too large to compute it again")
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


# A graph with other numbers --------------------------------------------------------------------------------


@dataclass(eq=False, repr=False)
class Replay:
    """A tape that can run again, and the graph that was drawn of it, with the program's own numbers."""

    graph: Graph
    tape: list[Node]
    root: Variable
    number: Mapping[Node | int, int]  # in the graph, by node or by a leaf's id
    leaf_of: Mapping[int, Any]  # by number: what no recorded op made
    edges: Mapping[tuple[Node, int], Edge]  # those that a gradient goes back on, by node and position

    def changed(self, changes: Changes) -> Graph:
        """The same graph with other numbers of some nodes. Raises UnknownError: an op cannot run again."""
        known = {number: leaf for number, leaf in self.leaf_of.items() if not isinstance(leaf, Faint)}
        leaves = {number: _copy(leaf, changes.get(number, ())) for number, leaf in known.items()}
        results: dict[Node, tuple[Any, ...]] = {}

        def result(source: Any, slot: int) -> Any:
            return results[source][slot]

        def leaf(value: Any) -> Any:
            number = place_in(self.number, value) if isinstance(value, (Variable, *ARRAY_TYPES)) else None
            if number is None:
                return value
            return leaves[number] if number in leaves else wrap(result(*value._source()).array)  # of a result itself

        with enable_grad():
            for node in self.tape:
                args = _arguments(node, result, leaf)
                results[node] = _run(node, args, changes.get(self.number[node], ()))
        again: dict[Node, Any] = {node: node_of(results[node]) for node in self.tape}
        gradients = Shown(list(again.values()))
        if self.graph.backward == "done":
            watch_backward(result(*self.root._source()), gradients)
        values = {self.number[node]: value_of(results[node][0].array) for node in self.tape}
        values |= {number: value_of(leaf.array) for number, leaf in leaves.items()}
        arrived = {self.number[node]: gradients.first(again[node]) for node in self.tape}
        arrived |= {number: gradients.first(id(leaf)) for number, leaf in leaves.items()}
        nodes = [replace(node, gradient=arrived.get(node.id)) for node in self.graph.nodes]
        nodes = [replace(n, value=values[n.id], missing="") if n.id in values else n for n in nodes]
        back = {id(edge): gradients.edges.get((again[node], i)) for (node, i), edge in self.edges.items()}
        edges = [replace(edge, gradient=back.get(id(edge))) for edge in self.graph.edges]
        return replace(self.graph, nodes=nodes, edges=edges)


@np.errstate(all="ignore")
def _run(node: Node, args: list[Any], changes: Sequence[Change]) -> tuple[Any, ...]:
    if node.op.backward is not None:
        raise UnknownError(f"{node.op.name} is a Function of the program's own, and does not run again unasked")
    try:
        result = apply(node.op, tuple(args))
    except Exception as error:  # of numbers that an op does not take, such as an index
        raise UnknownError(f"{node.op.name} does not run with these numbers: {error}") from error
    results = result if isinstance(result, tuple) else (result,)
    results[0].array = _with_changes(results[0].array, changes)  # the node keeps what it has computed, for its rules
    return results


def _copy(leaf: Any, changes: Sequence[Change]) -> Variable:
    """A leaf with the numbers it has, but for changes."""
    array = leaf.array if isinstance(leaf, Variable) else leaf
    copy: Variable = wrap(_with_changes(array.copy(), changes))
    copy._needs = isinstance(leaf, Variable) and leaf._needs
    return copy


def _with_changes(array: Array, changes: Sequence[Change]) -> Array:
    """The array, or a copy with other numbers. Raises IndexError: no such place; ValueError: no such number."""
    if not changes:
        return array
    backend = of(array)
    host = backend.to_numpy(array).copy()
    for at, value in changes:
        if at is not None and not 0 <= at < host.size:
            raise IndexError(f"there is no place {at} among {host.size} numbers")
        number = dt.converted(np.array(value), host.dtype)
        if host.dtype.kind in "iub" and number != value:
            raise ValueError(f"{value} is no number of dtype {dt.of(array).name}")
        host.reshape(-1)[slice(None) if at is None else at] = number
    made: Array = backend.asarray(host, backend.device_of(array))
    return made
