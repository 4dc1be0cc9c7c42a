"""A backward pass that is watched: the gradient on each edge before it is summed, and what arrives at a node.

The walk is the engine's own, so each number is the one that ``backward()`` would have added up, in the same
order. It touches no ``.grad``, and keeps the graph unless asked to free it. (What a checkpoint has computed
again is kept then, as by ``backward(retain_graph=True)``.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter_ns
from typing import Any

from ...autograd.observer import Observer, observed
from ...autograd.tape import RETAINED, Node, Variable, wrap
from ...autograd.walk import pass_back
from ...backend import xp
from .data import Value
from .values import value_of

Target = tuple[Node | int, int]  # a node, or a leaf's id as tensors compare element by element; and the slot


class Shown(Observer):
    """Keeps what is shown of the gradients of all nodes on a tape. Where one edge alone leads to a result, its
    gradient and the result's are one Value."""

    def __init__(self, tape: list[Node], clock: Callable[[], int] = perf_counter_ns) -> None:
        self.edges: dict[tuple[Node, int], Value] = {}  # by node and position
        self.results: dict[Target, Value] = {}
        self.seconds: dict[Node, float] = {}  # of a node's rules and of adding up their results
        self.ran = False  # whether there are any gradients
        self._clock, self._begin, self._aside = clock, 0, 0
        self._depth = 0  # of walks within this one: a rule may go back itself
        self._readers: dict[Target, list[tuple[Node, int]]] = {}
        for node in tape:
            for position, (target, slot, *_) in enumerate(node.edges):
                self._readers.setdefault(target_of(target, slot), []).append((node, position))

    def arrived(self, target: Node | Variable, slot: int, gradient: Any) -> None:
        if self._depth:
            return
        self.ran = True
        hooks = (target.hooks or {}).get(slot) if isinstance(target, Node) else target._hooks
        key = target_of(target, slot)
        readers = self._readers.get(key, [])
        same = self.edges.get(readers[0]) if len(readers) == 1 and not hooks else None
        self.results[key] = same or value_of(gradient)

    def passing(self, node: Node) -> None:
        self._depth += 1
        if self._depth == 1:
            self._begin, self._aside = self._clock(), 0

    def delivered(self, node: Node, position: int, gradient: Any) -> None:
        if self._depth == 1:
            begin = perf_counter_ns()
            self.note(node, position, gradient)
            self._aside += perf_counter_ns() - begin

    def note(self, node: Node, position: int, gradient: Any) -> None:
        """Keep what is shown of the gradient on an edge."""
        self.edges[node, position] = value_of(gradient)

    def passed(self, node: Node, gradients: Any) -> None:
        self._depth -= 1
        if not self._depth:
            self.seconds[node] = (self._clock() - self._begin - self._aside) / 1e9

    def first(self, target: Node | int) -> Value | None:
        """The gradient of a leaf, or of the first of a node's results that got one."""
        slots = range(len(target.results or (None,)) if isinstance(target, Node) else 1)
        return next((self.results[target, slot] for slot in slots if (target, slot) in self.results), None)

    def take(self, leaves: Sequence[Variable]) -> None:
        """What a backward that is over has left: the leaves' ``.grad``."""
        self.ran = True
        for leaf in leaves:
            if leaf._grad is not None:
                self.results[id(leaf), 0] = value_of(leaf._grad.array)


def target_of(target: Node | Variable, slot: int) -> Target:
    """The key of a node's result, or of a leaf."""
    return target if isinstance(target, Node) else id(target), slot


def watch_backward(root: Variable, observer: Observer, gradient: Variable | None = None, free: bool = False) -> None:
    """Walk back from a tensor, with ones or another gradient there; ``free`` what nodes keep, or not.

    Hooks that the program has registered on tensors run, as their results replace gradients; those that write
    to a ``.grad`` do not.
    """
    if gradient is None:
        gradient = wrap(xp(root.array).ones_like(root.array))
    with _without_retained(root), observed(observer):
        pass_back(root, gradient, retain=not free)


def tape_of(root: Variable) -> list[Node]:
    """All nodes that lead to a tensor, the oldest first."""
    source = root._source()[0]
    stack, seen = [] if source is None else [source], set[Node]()
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            stack.extend(edge[0] for edge in node.edges if isinstance(edge[0], Node))
    return sorted(seen, key=lambda node: node.order)


@contextmanager
def _without_retained(root: Variable) -> Iterator[None]:
    """Within it, the hooks of ``retain_grad`` are away, which would add to a ``.grad``."""
    tables = [hooks for node in tape_of(root) for hooks in (node.hooks or {}).values() if RETAINED in hooks]
    away = [hooks.pop(RETAINED) for hooks in tables]
    try:
        yield
    finally:
        for hooks, hook in zip(tables, away, strict=True):
            hooks[RETAINED] = hook
