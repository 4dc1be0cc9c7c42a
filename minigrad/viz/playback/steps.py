"""A backward pass, recorded step by step: at each node what arrives, what goes out, and what adds up."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from ...autograd.tape import Node, Variable
from ...backend.dtype import Array
from ..graph.build import Builder
from ..graph.data import Value
from ..graph.gradients import Shown
from ..graph.names import input_name
from ..graph.values import value_of

Target = tuple[Node | int, int]  # a node, or a leaf's id, and which of its results


@dataclass(frozen=True)
class Delivery:
    """A gradient on its way from a node to one of its inputs.

    Attributes:
        input: what the node's op calls it: "a", of a variadic op "xs 2". target: the number of the node or
            leaf in the graph that it goes to. slot: which of the target's results it is of.
        gradient: what the rule gave, before it is summed. total: the sum at the target with it, which is then
            that of ``count`` gradients out of ``of``.
    """

    input: str
    target: int
    slot: int
    gradient: Value
    total: Value
    count: int
    of: int


@dataclass(frozen=True)
class Step:
    """One node of the walk.

    Attributes:
        node: its number in the graph. arrived: the gradient of each of its results that got one, by slot.
        deliveries: what its rules gave, in the engine's order. seconds: that its rules took.
    """

    node: int
    arrived: dict[int, Value]
    deliveries: tuple[Delivery, ...]
    seconds: float


class Recorder(Shown):
    """Watches a walk, and keeps what is shown of each of its steps.

    Sums are added up here as the engine does it: in its order, in place, in its dtype.
    """

    def __init__(self, tape: list[Node]) -> None:
        super().__init__(tape)
        self._totals: dict[tuple[Node, int], tuple[Value, int]] = {}  # by edge: the sum, and of how many
        self._sums: dict[Target, Array] = {}  # those that are being added up
        self._counts: Counter[Target] = Counter()  # of gradients that have come
        self._targets: dict[tuple[Node, int], Target] = {  # while a node is passed, its edges are marked
            (node, position): _target(target, slot)
            for node in tape
            for position, (target, slot, *_) in enumerate(node.edges)
        }

    def passed(self, node: Node, position: int, gradient: Array) -> None:
        super().passed(node, position, gradient)
        target = self._targets[node, position]
        self._counts[target] += 1
        total = self.edges[node, position]
        if target in self._sums:
            with np.errstate(all="ignore"):  # the engine adds up the same, and warns
                self._sums[target] += gradient
            total = value_of(self._sums[target])
        elif len(self._readers[target]) > 1:
            self._sums[target] = gradient.copy()
        self._totals[node, position] = total, self._counts[target]

    def arrived(self, target: Node | Variable, slot: int, gradient: Array) -> None:
        super().arrived(target, slot, gradient)
        self._sums.pop(_target(target, slot), None)

    def steps(self, built: Builder) -> tuple[Step, ...]:
        """All of them in their order, with the numbers that nodes have in the graph."""
        return tuple(self._step(node, built) for node in self.seconds)

    def _step(self, node: Node, built: Builder) -> Step:
        arrived = {
            slot: self.results[node, slot]
            for slot in range(len(node.results or (None,)))
            if (node, slot) in self.results
        }
        deliveries = tuple(
            self._delivery(node, position, input_name(node, i), built)
            for position, i in enumerate(node.plan.inputs)
            if (node, position) in self._totals
        )
        return Step(built.number[node], arrived, deliveries, self.seconds[node])

    def _delivery(self, node: Node, position: int, name: str, built: Builder) -> Delivery:
        target = self._targets[node, position]
        total, count = self._totals[node, position]
        return Delivery(
            name, built.number[target[0]], target[1], self.edges[node, position], total, count, self._counts[target]
        )


def _target(target: Node | Variable, slot: int) -> Target:
    """A result of a node, or a leaf: by its id, as tensors compare element by element."""
    return target if isinstance(target, Node) else id(target), slot
