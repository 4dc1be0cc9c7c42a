"""A backward pass that can be looked at: the page that plays it, and a picture of each of its steps."""

from __future__ import annotations

from dataclasses import dataclass

from ..graph import fold
from ..graph.graph_data import Graph
from ..graph.graph_view import packed
from ..numbers import checked_number
from ..page import Page
from ..view import Picture
from .picture import StepDot
from .playback_record import Step


@dataclass(eq=False)
class Playback(Picture):
    """A backward pass that can be played. At step 0 no node has run: there is no gradient yet, which is not zero."""

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

    def svg(self, step: int = -1, dark: bool = False) -> str:
        """A step on the graph's picture, and below it its rules and numbers. Graphviz's ``dot`` draws it.

        Args:
            step: 1 is the first; 0 is before it; by default the last. dark: in the colours of dark paper.

        Raises:
            ValueError: there is no such step. ImportError: as ``viz.graph``'s.
        """
        number = checked_number("step", step, len(self) + 1, "with the one before backward there are")
        return StepDot(self.graph, fold.tree(self.graph), self.steps, number, dark).svg()
