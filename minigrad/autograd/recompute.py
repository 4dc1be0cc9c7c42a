"""Recomputation instead of memory: a region of the graph that keeps nothing and is run again when needed.

The forward records its nodes as ever, but what they keep is let go at once (Chen et al. 2016, "Training Deep Nets
with Sublinear Memory Cost"). The walk back, when it meets the first of them, has the region's function run a second
time on the same inputs, with the same random numbers: its n-th node has what the n-th node of the first run has lost.
The graph itself stays whole, so ``grad``, hooks and second order work as without.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import Any

from ..backend.random import default_generator
from ..ops.op import Op, watch
from .mode import at_end, carried, enable_grad
from .observer import Observer, observed
from .tape import Lost, Node

_new: Any = object.__new__

Contexts = Callable[[], tuple[AbstractContextManager[Any], AbstractContextManager[Any]]]


class Region(Observer):
    """One call of a function whose nodes keep nothing. ``contexts`` gives two contexts, for the first run and for the
    second; ``check`` refuses a second run that records other ops than the first."""

    def __init__(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        preserve_rng_state: bool = True,
        contexts: Contexts | None = None,
        check: bool = True,
    ) -> None:
        self.function, self.args, self.kwargs, self.check = function, args, kwargs, check
        self.random = default_generator.get_state() if preserve_rng_state else None
        self.first: AbstractContextManager[Any] = nullcontext()
        self.second: AbstractContextManager[Any] = nullcontext()
        if contexts is not None:
            self.first, self.second = contexts()
        self.around = states()
        self.names: list[str] = []
        self.complete = False  # whether the first run is over, and all names are known
        self.remaining = 0  # how many nodes have not got back what they lost
        self.again: list[tuple[Node, Node]] = []  # of the second run, each with a copy of what it kept

    def run(self) -> Any:
        """The function's result; its nodes keep nothing."""
        with within(self.around, self.first), observed(self):
            result = self.function(*self.args, **self.kwargs)
        self.complete = True
        return result

    def applied(self, op: Op, args: tuple[Any, ...], result: Any, node: Node | None) -> None:
        """Let go of what a node of the first run keeps."""
        if node is not None:
            node.free()
            node.saved = _Kept(self, len(self.names))
            self.names.append(op.name)
            self.remaining += 1

    def twin(self, number: int) -> Node:
        """A node of the second run, which the first that asks for one begins."""
        if not self.again:
            self._run_again()
        node, kept = self.again[number]
        self.remaining -= 1
        if not self.remaining:
            self.again = []
        return kept if node.saved is None else node

    def _run_again(self) -> None:
        again: list[tuple[Node, Node]] = []
        # Nodes of this run do not belong to other regions.
        others = (o for o in watch.observers if not isinstance(o, (Region, _Recorded)))
        random: Any = nullcontext()
        if self.random is not None:
            random = at_end(default_generator.set_state, default_generator.get_state())
        with random, random:
            if self.random is not None:
                default_generator.set_state(self.random)
            with within(self.around, enable_grad(), self.second), observed(*others, _Recorded(again), alone=True):
                self.function(*self.args, **self.kwargs)
        names = [node.op.name for node, _ in again]
        if not self.complete:  # the function asks for gradients itself, halfway through its first run
            names = names[: len(self.names)]
        if names != self.names if self.check else len(names) != len(self.names):
            pairs = enumerate(zip(self.names, names, strict=False))
            numbers = f"{len(self.names)} ops, then {len(names)}"
            other = next((f"op {i} was {a} and is {b}" for i, (a, b) in pairs if a != b), numbers)
            raise RuntimeError(
                f"checkpoint: the function recorded other ops when it was run again ({other}): it must do the same "
                f"both times"
            )
        self.again = again


class _Recorded(Observer):
    """Lists the nodes of a second run."""

    def __init__(self, nodes: list[tuple[Node, Node]]) -> None:
        self.nodes = nodes

    def applied(self, op: Op, args: tuple[Any, ...], result: Any, node: Node | None) -> None:
        if node is not None:
            kept = _new(Node)  # what a walk within the function frees is wanted again
            kept.op, kept.saved, kept.residual = op, node.saved, node.residual
            kept.out, kept.versions = node.out, node.versions
            self.nodes.append((node, kept))


class _Kept(Lost):
    """What a node of the first run would have kept: the node of the second run with this number has it."""

    def __init__(self, region: Region, number: int) -> None:
        self.region, self.number = region, number

    def restore(self, node: Node) -> None:
        twin = self.region.twin(self.number)
        node.saved, node.residual, node.out, node.versions = twin.saved, twin.residual, twin.out, twin.versions


def states() -> list[Callable[[], AbstractContextManager[Any]]]:
    """For each kind of state that a run depends on (``mode.carried``), a function that makes its context."""
    return [state() for state in carried]


def within(around: Sequence[Callable[[], AbstractContextManager[Any]]], *contexts: Any) -> ExitStack:
    """Enter the contexts that ``around`` makes, and then others."""
    with ExitStack() as stack:
        for context in (*(make() for make in around), *contexts):
            stack.enter_context(context)
        return stack.pop_all()


def is_in_first_run() -> bool:
    """Whether a region is in its first run, in which nodes keep nothing anyway."""
    return any(isinstance(o, Region) for o in watch.observers)
