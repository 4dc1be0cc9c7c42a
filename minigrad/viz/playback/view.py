"""``viz.playback``: the backward pass as it goes, forwards and back, on a page that needs no network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...autograd.tape import Variable
from ..graph.data import Graph
from ..graph.gradients import watch_backward
from ..graph.observe import clock
from ..graph.page import packed
from ..graph.record import built
from ..page import Page
from ..view import View
from .steps import Recorder, Step


class Playback(View):
    """A backward pass that can be played.

    Attributes:
        graph: all nodes and edges, as ``viz.graph`` draws them. steps: in the engine's order, the youngest
            node first. At step 0 of the page none has run: there is no gradient yet, which is not zero.
    """

    def __init__(self, graph: Graph, steps: tuple[Step, ...]) -> None:
        self.graph, self.steps = graph, steps

    def __len__(self) -> int:
        return len(self.steps)

    def __repr__(self) -> str:
        return f"<playback of {self.graph.title}: {len(self)} steps; .save('x.html')>"

    def page(self) -> Page:
        """The page that plays it."""
        arrived = [value for step in self.steps for value in step.arrived.values()]
        deliveries = [d for step in self.steps for d in step.deliveries]
        data, values = packed(self.graph, [*arrived, *(value for d in deliveries for value in (d.gradient, d.total))])

        def packed_delivery(d: Any) -> dict[str, Any]:
            return {**vars(d), "gradient": values.place(d.gradient), "total": values.place(d.total)}

        data["steps"] = [
            {
                **vars(step),
                "arrived": [[slot, values.place(value)] for slot, value in step.arrived.items()],
                "deliveries": [packed_delivery(d) for d in step.deliveries],
            }
            for step in self.steps
        ]
        scripts = ("graph_panel.js", "playback_drawing.js", "playback.js")
        return Page.of("playback", f"Backward of {self.graph.title}", data, scripts)


def playback(loss_or_module: Variable | Callable[..., Any], /, *inputs: Any, **named: Any) -> Playback:
    """Backward, step by step: at each node its rule with file and line, the gradient that arrives, what goes
    out on each edge, and the running sum at each target.

        viz.playback(loss).save("backward.html")
        viz.playback(model, tokens)

    The backward pass is run here, by the engine and in its order, and touches no ``.grad``.

    Args:
        loss_or_module: a tensor whose graph is still there, which is kept; or a module or function, that is
            called with ``inputs`` and ``named``, and then all values in between are known. Of a tensor that
            is no scalar, backward begins with its sum.

    Raises:
        RuntimeError: nothing wants a gradient, or a backward has freed the graph.
        TypeError: a tensor and inputs, or something that cannot be called.
    """
    nodes, title = built("playback", loss_or_module, inputs, named)
    if nodes.is_released():
        raise RuntimeError(
            "playback: a backward() has freed this graph, and its numbers are gone. Call playback before it, "
            "pass retain_graph=True to it, or give playback a module and its inputs (or a function that does "
            "not go back itself)"
        )
    recorder = Recorder(nodes.tape, clock())
    watch_backward(nodes.root, recorder, free=not isinstance(loss_or_module, Variable))
    return Playback(nodes.graph(title, recorder), recorder.steps(nodes))
