"""``viz.playback``: a backward pass as it goes: what arrives at each node, what goes out, and what adds up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..autograd.tape import Node, Variable
from ..backend.dtype import Array
from .graph.build import Builder
from .graph.data import Graph, Value
from .graph.observe import Shown, Target, target_of, watch_backward
from .graph.record import built
from .graph.values import value_of
from .graph.view import packed
from .page import Page
from .view import View


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
    """Watches a walk, and keeps what is shown of each of its steps.

    Sums are added up here as the engine does it: in its order, in place, in its dtype.
    """

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
            for position, target in enumerate(node.edges):
                if (node, position) in self._totals:
                    edge, gradient = nodes.edges[node, position], self.edges[node, position]
                    sums = *self._totals[node, position], self._counts[target_of(*target[:2])]
                    deliveries.append(Delivery(edge.input, edge.source, edge.slot, gradient, *sums))
            yield Step(nodes.number[node], arrived, tuple(deliveries), seconds)


@dataclass(eq=False)
class Playback(View):
    """A backward pass that can be played. At step 0 of its page no node has run: there is no gradient yet, which is
    not zero."""

    graph: Graph  # all nodes and edges, as ``viz.graph`` draws them
    steps: tuple[Step, ...]  # in the engine's order, the youngest node first

    def __len__(self) -> int:
        return len(self.steps)

    def __repr__(self) -> str:
        return f"<playback of {self.graph.title}: {len(self)} steps; .save('x.html')>"

    def page(self) -> Page:
        """The page that plays it."""
        steps = [{**vars(step), "arrived": list(step.arrived.items())} for step in self.steps]
        scripts = ("graph_panel.js", "playback_drawing.js", "playback.js")
        return Page.of("playback", f"Backward of {self.graph.title}", packed(self.graph, steps=steps), scripts)


def playback(loss_or_module: Variable | Callable[..., Any], /, *inputs: Any, **named: Any) -> Playback:
    """Backward, step by step: at each node its rule with file and line, the gradient that arrives, what goes
    out on each edge, and the running sum at each target.

        viz.playback(loss).save("backward.html")
        viz.playback(model, tokens)

    The backward pass is run here, by the engine and in its order, and touches no ``.grad``.

    Args:
        loss_or_module: a tensor whose graph is still there, which is kept; or a module or function, as for
            ``viz.graph``. Of a tensor that is no scalar, backward begins with its sum.

    Raises:
        RuntimeError: a backward has freed the graph; otherwise as ``viz.graph``.
    """
    nodes = built("playback", loss_or_module, inputs, named)
    if nodes.is_released():
        raise RuntimeError(
            "playback: a backward() has freed this graph, and its numbers are gone. Call playback before it, "
            "pass retain_graph=True to it, or give playback a module and its inputs (or a function that does "
            "not go back itself)"
        )
    recorder = Recorder(nodes.tape)
    watch_backward(nodes.root, recorder, free=not isinstance(loss_or_module, Variable))
    return Playback(nodes.graph(recorder), tuple(recorder.steps(nodes)))
