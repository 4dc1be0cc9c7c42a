"""``viz.playback``: a backward pass step by step, as an interactive page and as images of its steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..autograd.tape import Node, Variable
from ..backend.dtype import Array
from .graph import fold
from .graph.dot import SIZE, SMALL, Dot, span
from .graph.fold import Tree, key_of, labels
from .graph.graph_data import Edge, Graph, Value, summary, value_of
from .graph.graph_record import Builder, built
from .graph.graph_view import packed
from .graph.observe import Shown, Target, target_of, watch_backward
from .numbers import checked_number
from .page import Page
from .vector import cut
from .view import Picture

MOST = 6  # maximum number of gradients to list individually
_LONGEST = 120  # maximum characters of a line
_INDENT = "    "


def playback(loss_or_module: Variable | Callable[..., Any], /, *inputs: Any, **kwargs: Any) -> Playback:
    """Show the backward pass step by step: each node's rule with its file and line, the incoming gradient, the gradient
    on each edge, and the running sum at each target. Nodes run in the engine's order; no ``.grad`` changes.

        viz.playback(loss).save("backward.html")
        viz.playback(model, tokens)
        viz.playback(loss).save("third.svg", step=3)

    Args:
        loss_or_module: a tensor whose graph has not been freed (it is not freed here), or a module or function, as in
            ``viz.graph``. If the tensor is not a scalar, the backward pass starts from its sum.

    Raises RuntimeError if a backward pass has freed the graph, and the errors of ``viz.graph``.
    """
    nodes = built("playback", loss_or_module, inputs, kwargs)
    if nodes.is_released():
        raise RuntimeError(
            "playback: backward() has freed this graph, so its numbers are gone. Call playback before "
            "backward(), pass retain_graph=True to it, or pass playback a module and its inputs (or a function that "
            "does not run backward itself)"
        )
    recorder = _Recorder(nodes.tape)
    watch_backward(nodes.root, recorder, free=not isinstance(loss_or_module, Variable))
    return Playback(nodes.graph(recorder), tuple(recorder.steps(nodes)))


@dataclass(frozen=True)
class Delivery:
    """A gradient that a node passes to one of its inputs."""

    input: str  # the input's name in the node's op: "a", or "xs 2" in a variadic op
    target: int  # the index of the receiving node or leaf in the graph
    slot: int  # the index of the target's result
    gradient: Value  # the rule's result, before it is summed
    total: Value  # the sum at the target so far
    count: int  # the number of gradients in the sum
    of: int  # the final number of gradients


@dataclass(frozen=True)
class Step:
    """One node of the backward pass."""

    node: int  # its index in the graph
    arrived: dict[int, Value]  # the gradients of its results, by slot
    deliveries: tuple[Delivery, ...]  # the results of its rules, in the engine's order
    seconds: float  # time for its rules


class _Recorder(Shown):
    """Summarises each step of a backward pass. Gradients are summed in the engine's order and dtype."""

    def __init__(self, tape: list[Node]) -> None:
        super().__init__(tape)
        self._totals: dict[tuple[Node, int], tuple[Value, int]] = {}  # by edge: sum and number of gradients
        self._sums: dict[Target, Array] = {}  # incomplete sums
        self._counts: Counter[Target] = Counter()  # gradients received

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
        """All steps in order, with the indices of their nodes in the graph."""
        for node, seconds in self.seconds.items():
            slots = range(len(node.results or (None,)))
            arrived = {slot: self.results[node, slot] for slot in slots if (node, slot) in self.results}
            deliveries = []
            for place in ((node, position) for position in range(len(node.edges)) if (node, position) in self._totals):
                edge, target = nodes.edges[place], target_of(*node.edges[place[1]][:2])
                sums = *self._totals[place], self._counts[target]
                deliveries.append(Delivery(edge.input, edge.source, edge.slot, self.edges[place], *sums))
            yield Step(nodes.number[node], arrived, tuple(deliveries), seconds)


@dataclass(eq=False)
class Playback(Picture):
    """A recorded backward pass. At step 0 no node has run yet, so gradients are missing (not zero)."""

    graph: Graph  # all nodes and edges, drawn as by ``viz.graph``
    steps: tuple[Step, ...]  # in the engine's order, newest node first

    def __len__(self) -> int:
        return len(self.steps)

    def __repr__(self) -> str:
        return f"<playback of {self.graph.title}: {len(self)} steps; .save('x.html')>"

    def page(self) -> Page:
        steps = [{**vars(step), "arrived": list(step.arrived.items())} for step in self.steps]
        scripts = ("graph_panel.js", "playback_drawing.js", "playback.js")
        return Page.of("playback", f"Backward of {self.graph.title}", packed(self.graph, steps=steps), scripts)

    def svg(self, step: int = -1, dark: bool = False) -> str:
        """Draw the graph at a step with Graphviz's ``dot``, with the step's rules and numbers below. ``step`` counts
        from 1 (0 is before the first step) and is the last step by default; ``dark`` uses dark colours. Raises
        ValueError if the step is out of range, and ImportError if Graphviz is missing."""
        number = checked_number("step", step, len(self) + 1, "with the one before backward there are")
        return _StepDot(self.graph, fold.tree(self.graph), self.steps, number, dark).svg()


class _StepDot(Dot):
    """Draws the graph after step ``number`` (0 is before the first), and opens the groups around that step's node."""

    def __init__(self, graph: Graph, tree: Tree, steps: Sequence[Step], number: int, dark: bool) -> None:
        self.steps, self.number = steps, number
        # The step in which each edge (source, target, input) carries its gradient.
        self.arrival = {(d.target, step.node, d.input): i for i, step in enumerate(steps, 1) for d in step.deliveries}
        node = steps[number - 1].node if number else graph.output
        tree = replace(tree, opened=tree.opened.union(tree.around(tree.group_of[node])))
        super().__init__(graph, tree, "backward", "none", dark)
        self.marked = key_of(("node", node))
        ran = {graph.output, *(step.node for step in steps[:number])}
        ran |= {d.target for step in steps[:number] for d in step.deliveries if d.count == d.of}
        nodes = [node if node.id in ran else replace(node, gradient=None) for node in graph.nodes]
        self.labels = labels(replace(graph, nodes=nodes), tree)  # without incomplete gradients

    def wire(self, edges: Sequence[Edge]) -> str:
        when = [self.arrival.get((edge.source, edge.target, edge.input)) for edge in edges]
        steps = [step for step in when if step is not None]
        if not steps:
            return f'color="{self.palette.line}", dir=none'  # including leaves that require no gradient
        if min(steps) > self.number:
            return f'color="{self.palette.quiet}", style=dashed, dir=back'
        return f'color="{self.palette.backward}", dir=back' + ", penwidth=2.2" * (self.number in steps)

    def legend(self) -> Iterator[str]:
        number, count, backward = self.number, len(self.steps), self.palette.backward
        parts = [span(f"━ step {number} of {count}", backward, SMALL)] * (number > 0)
        parts += [span("─ gradients of earlier steps", backward, SMALL)] * (number > 1)
        parts += [span("┄ gradients to come", self.palette.quiet, SMALL)] * (number < count)
        yield _INDENT.join(parts)
        if not number:
            yield span("Before the backward pass", self.palette.ink, SIZE + 2)
            begin = _called(self.graph, self.graph.output)
            yield self._row(f"There are no gradients yet, not even zeros. The backward pass will begin at {begin}.")
            return
        step = self.steps[number - 1]
        node = self.graph.nodes[step.node]
        op = self.graph.ops[node.op]
        makes = f" makes {node.name}" if node.name not in ("", op.name) else ""
        yield span(cut(f"{op.name}{makes}", 60), self.palette.ink, SIZE + 2)
        facts = (f"step {self.number} of {len(self.steps)}", node.module and f"in {node.module}", node.place)
        yield self._row(" · ".join(filter(None, facts)), quiet=True)
        if node.code:
            yield self._row(" ".join(node.code.split()), face="monospace")
        for slot, value in step.arrived.items():
            which = f" of result {slot + 1}" if len(step.arrived) > 1 or slot else ""
            yield self._row(f"arrives: g{which} {summary(value)}")
        if hooks := node.attributes.get("hooks"):
            yield self._row(f"hooks of the program have seen it, and may have changed it: {hooks}", quiet=True)
        for delivery in step.deliveries[:MOST]:
            formula = op.gradients.get(delivery.input) or op.gradients.get(delivery.input.partition(" ")[0], "")
            target = f"{delivery.input} → {_called(self.graph, delivery.target)}{_INDENT}{formula}"
            yield span(cut(target, _LONGEST), self.palette.ink)
            yield self._row(_INDENT + summary(delivery.gradient))
            if delivery.of > 1:
                running = "" if delivery.count == 1 else f": their sum is {summary(delivery.total)}"
                yield self._row(f"{_INDENT}{delivery.count} of {delivery.of} have arrived{running}", quiet=True)
        if (left := len(step.deliveries) - MOST) > 0:
            yield self._row(f"and {left} more", quiet=True)
        if not step.deliveries:
            yield self._row("nothing goes out")

    def _row(self, text: str, quiet: bool = False, face: str = "") -> str:
        return span(cut(text, _LONGEST), self.palette.quiet if quiet else self.palette.ink, SMALL, face)


def _called(graph: Graph, number: int) -> str:
    node = graph.nodes[number]
    return cut(node.name or (graph.ops[node.op].name if node.kind == "op" else node.kind), 60)
