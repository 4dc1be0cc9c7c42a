"""A backward pass, recorded step by step: at each node what arrives, what goes out, and what adds up."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

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
        hooked: whether hooks of the program have seen these, and may have changed them.
        deliveries: what its rules gave, in the engine's order. seconds: that its rules took.
    """

    node: int
    arrived: dict[int, Value]
    hooked: bool
    deliveries: tuple[Delivery, ...]
    seconds: float


class Recorder(Shown):
    """Watches a walk, and keeps what is shown of each of its steps.

    Sums are added up here as the engine does it: in its order, in place, in its dtype.
    """

    def __init__(self, tape: list[Node]) -> None:
        super().__init__(tape)
        self.order: list[Node] = []
        self._totals: dict[tuple[Node, int], tuple[Value, int]] = {}  # by edge: the sum, and of how many
        self._sums: dict[Target, tuple[Array, int]] = {}
        self._targets: dict[tuple[Node, int], Target] = {  # while a node is passed, its edges are marked
            (node, position): (target if isinstance(target, Node) else id(target), slot)
            for node in tape
            for position, (target, slot, *_) in enumerate(node.edges)
        }
        self._awaited = Counter(self._targets.values())

    def passed(self, node: Node, position: int, gradient: Array) -> None:
        super().passed(node, position, gradient)
        given, target = self.edges[node, position], self._targets[node, position]
        if target not in self._sums:
            count = 1
            if self._awaited[target] > 1:
                self._sums[target] = gradient.copy(), count
            total = given
        else:
            held, count = self._sums[target]
            held += gradient
            count += 1
            self._sums[target] = held, count
            total = value_of(held)
        self._totals[node, position] = total, count

    def arrived(self, target: Node | Variable, slot: int, gradient: Array) -> None:
        super().arrived(target, slot, gradient)
        self._sums.pop((target if isinstance(target, Node) else id(target), slot), None)

    def done(self, node: Node, seconds: float) -> None:
        super().done(node, seconds)
        self.order.append(node)

    def steps(self, built: Builder) -> tuple[Step, ...]:
        """All of them, with the numbers that nodes have in the graph."""
        self._given = Counter(self._targets[edge] for edge in self._totals)
        return tuple(self._step(node, built) for node in self.order)

    def _step(self, node: Node, built: Builder) -> Step:
        arrived = {slot: self.results[node, slot] for slot in range(len(node.results or (None,)))
                   if (node, slot) in self.results}  # fmt: skip
        deliveries = tuple(
            self._delivery(node, position, input_name(node, i), built)
            for position, i in enumerate(node.plan.inputs)
            if (node, position) in self._totals
        )
        return Step(built.number[node], arrived, bool(node.hooks), deliveries, self.seconds[node])

    def _delivery(self, node: Node, position: int, name: str, built: Builder) -> Delivery:
        target, slot = self._targets[node, position]
        total, count = self._totals[node, position]
        return Delivery(name, built.number[target], slot, self.edges[node, position], total, count,
                        self._given[target, slot])  # fmt: skip
