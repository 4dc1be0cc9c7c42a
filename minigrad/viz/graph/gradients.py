"""A backward pass that is watched: the gradient on each edge before it is summed, and what arrives at a node.

The walk is the engine's own, so each number is the one that ``backward()`` would have added up, in the same
order. It touches no ``.grad``, and keeps the graph unless told to free it. (What a checkpoint has computed
again is kept then, as by ``backward(retain_graph=True)``.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter_ns
from typing import Any

from ...autograd.tape import RETAINED, Node, Variable, wrap
from ...autograd.walk import _starts, _Walk
from ...backend import xp
from ...backend.dtype import Array
from .data import Value
from .values import value_of


class Watcher:
    """What is told of a backward pass, in its order. Arrays are the engine's: copy what is to be kept."""

    def arrived(self, target: Node | Variable, slot: int, gradient: Array) -> None:
        """The whole gradient of a node's result, before its rules run; of a leaf, at the end."""

    def passed(self, node: Node, position: int, gradient: Array) -> None:
        """What a rule gave for ``node.edges[position]``, summed over broadcast axes and in the input's dtype,
        before it is added to what others gave."""

    def done(self, node: Node, seconds: float) -> None:
        """A node's rules have run. The time is theirs and that of adding up what they gave."""


class Shown(Watcher):
    """Keeps what is shown of the gradients.

    Args:
        tape: all nodes. Where one edge alone leads to a result, its gradient and the result's are one Value.

    Attributes:
        edges: by node and position. results: by node, or a leaf's id, and slot. seconds: by node.
        ran: whether there are any.
    """

    def __init__(self, tape: list[Node]) -> None:
        self.edges: dict[tuple[Node, int], Value] = {}
        self.results: dict[tuple[Node | int, int], Value] = {}
        self.seconds: dict[Node, float] = {}
        self.ran = False
        self._readers: dict[tuple[Node | int, int], list[tuple[Node, int]]] = {}
        for node in tape:
            for position, (target, slot, *_) in enumerate(node.edges):
                self._readers.setdefault((_key(target), slot), []).append((node, position))

    def arrived(self, target: Node | Variable, slot: int, gradient: Array) -> None:
        key, self.ran = (_key(target), slot), True
        hooks = (target.hooks or {}).get(slot) if isinstance(target, Node) else target._hooks
        readers = self._readers.get(key, [])
        same = self.edges.get(readers[0]) if len(readers) == 1 and not hooks else None
        self.results[key] = same or value_of(gradient)

    def passed(self, node: Node, position: int, gradient: Array) -> None:
        self.edges[node, position] = value_of(gradient)

    def done(self, node: Node, seconds: float) -> None:
        self.seconds[node] = seconds

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


def _key(target: Any) -> Node | int:
    """A node itself; a leaf's id, as tensors compare element by element."""
    return target if isinstance(target, Node) else id(target)


class _Mark:
    """In the place of an edge's target while a node is passed: which edge it is."""

    __slots__ = ("position", "target")

    def __init__(self, target: Any, position: int) -> None:
        self.target, self.position = target, position


class _Watched(_Walk):
    """The engine's walk, which tells a watcher what goes by."""

    def __init__(self, root: Variable, start: Variable, watcher: Watcher, clock: Callable[[], int]) -> None:
        self.watcher, self.clock = watcher, clock
        self.now: Node | None = None
        self.aside = 0  # ns that the watcher has taken
        super().__init__((root,), [start], None, False)

    def deliver(self, target: Any, slot: int, gradient: Any, ours: bool) -> None:
        if target.__class__ is not _Mark:  # where the walk begins
            super().deliver(target, slot, gradient, ours)
            return
        begin = perf_counter_ns()
        assert self.now is not None
        self.watcher.passed(self.now, target.position, gradient)
        self.aside += perf_counter_ns() - begin
        super().deliver(target.target, slot, gradient, ours)

    def pass_on(self, node: Node, sums: dict[int, Any]) -> None:
        for slot, (gradient, _) in sorted(sums.items()):
            self.watcher.arrived(node, slot, gradient)
        edges, self.now, self.aside = node.edges, node, 0
        node.edges = [(_Mark(edge[0], i), *edge[1:]) for i, edge in enumerate(edges)]
        begin = self.clock()
        try:
            super().pass_on(node, sums)
        finally:
            node.edges = edges
        self.watcher.done(node, (self.clock() - begin - self.aside) / 1e9)


def watch_backward(
    root: Variable,
    watcher: Watcher,
    gradient: Variable | None = None,
    free: bool = False,
    clock: Callable[[], int] = perf_counter_ns,
) -> None:
    """Walk back from a tensor.

    Hooks that the program has registered on tensors run, as their results replace gradients; those that write
    to a ``.grad`` do not.

    Args:
        root: a tensor that recorded ops made. gradient: there; by default ones, as for its sum.
        watcher: is told of each step. free: whether what nodes keep is freed. clock: in ns.

    Raises:
        RuntimeError: nothing to differentiate, or the graph has been freed.
    """
    if gradient is None:
        gradient = wrap(xp(root.array).ones_like(root.array))
    (start,) = _starts((root,), gradient)
    with _without_retained(root):
        walk = _Watched(root, start, watcher, clock)
        walk.run(retain=not free)
    for leaf, (total, _) in walk.leaves.values():
        watcher.arrived(leaf, 0, total)


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
    taken = []
    for node in tape_of(root):
        for hooks in (node.hooks or {}).values():
            if RETAINED in hooks:
                taken.append((hooks, hooks.pop(RETAINED)))
    try:
        yield
    finally:
        for hooks, hook in taken:
            hooks[RETAINED] = hook
