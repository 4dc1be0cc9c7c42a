"""Watching a backward pass: what arrives at each node, what goes out, and what adds up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...autograd.tape import Node, Variable
from ...backend.dtype import Array
from ..graph.build import Builder
from ..graph.graph_data import Value
from ..graph.graph_values import value_of
from ..graph.observe import Shown, Target, target_of


@dataclass(frozen=True)
class Delivery:
    """A gradient on its way from a node to one of its inputs."""

    input: str  # what the node's op calls it: "a", of a variadic op "xs 2"
    target: int  # the number of the node or leaf in the graph that it goes to
    slot: int  # which of the target's results it is of
    gradient: Value  # the rule's result, before it is summed
    total: Value  # the sum at the target with it,
    count: int  # which is then that of so many gradients
    of: int  # out of so many


@dataclass(frozen=True)
class Step:
    """One node of the walk."""

    node: int  # its number in the graph
    arrived: dict[int, Value]  # the gradient of each of its results that got one, by slot
    deliveries: tuple[Delivery, ...]  # the results of its rules, in the engine's order
    seconds: float  # that its rules took


class Recorder(Shown):
    """Keeps what is shown of each step of a walk. Sums are added up as the engine does it: in its order and dtype."""

    def __init__(self, tape: list[Node]) -> None:
        super().__init__(tape)
        self._totals: dict[tuple[Node, int], tuple[Value, int]] = {}  # by edge: the sum, and of how many
        self._sums: dict[Target, Array] = {}  # those that are being added up
        self._counts: Counter[Target] = Counter()  # of gradients that have come

    def note(self, node: Node, position: int, gradient: Any) -> None:
        super().note(node, position, gradient)
        target = target_of(*node.edges[position][:2])
        self._counts[target] += 1
        total = self.edges[node, position]
        if target in self._sums:
            with np.errstate(all="ignore"):
                self._sums[target] += gradient
            total = value_of(self._sums[target])
        elif len(self._readers[target]) > 1:
            self._sums[target] = gradient.copy()
        self._totals[node, position] = total, self._counts[target]

    def arrived(self, target: Node | Variable, slot: int, gradient: Any) -> None:
        super().arrived(target, slot, gradient)
        if not self._depth:
            self._sums.pop(target_of(target, slot), None)

    def steps(self, nodes: Builder) -> Iterator[Step]:
        """All of them in their order, with the numbers that nodes have in the graph."""
        for node, seconds in self.seconds.items():
            slots = range(len(node.results or (None,)))
            arrived = {slot: self.results[node, slot] for slot in slots if (node, slot) in self.results}
            deliveries = []
            for place in ((node, position) for position in range(len(node.edges)) if (node, position) in self._totals):
                edge, target = nodes.edges[place], target_of(*node.edges[place[1]][:2])
                sums = *self._totals[place], self._counts[target]
                deliveries.append(Delivery(edge.input, edge.source, edge.slot, self.edges[place], *sums))
            yield Step(nodes.number[node], arrived, tuple(deliveries), seconds)
