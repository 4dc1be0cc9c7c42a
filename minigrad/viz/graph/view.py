"""``viz.graph``: the compute graph of a tensor or of a call, as an object that shows and saves itself."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ...autograd.tape import Variable
from ...nn.module import Module
from ..page import Page, written
from ..view import Picture
from . import dot, layout
from .data import Graph
from .dot import Colour, Direction
from .fold import BUDGET, Tree, tree
from .page import page
from .record import from_tensor, record_call
from .render import Format, TooSlowError, render, renderer

ENDINGS = (".html", ".svg", ".png", ".pdf", ".dot")


def graph(
    what: Graph | Variable | Callable[..., Any],
    /,
    *inputs: Any,
    direction: Direction | None = None,
    depth: int | None = None,
    fold: bool | int = True,
    colour: Colour = "none",
    seconds: float = 10.0,
    backward: bool = True,
    modules: Mapping[str, Module] | None = None,
    **named: Any,
) -> GraphView:
    """The compute graph of a tensor, or of a call of a module or function.

    In a notebook it shows itself; ``save`` writes an interactive page, SVG, PNG, PDF or DOT.

    Args:
        what: a result of recorded ops, or a module or function that is called with ``inputs`` and ``named``
            while it is watched, which tells most: all values, and times.
        direction: "forward", "backward" or "both"; by default both where there are gradients.
        depth: how many nested modules are open; by default as many as one screen can show.
        fold: whether repeated modules are one box, closed at first; a number: how many boxes are visible
            at first.
        colour: "time", "bytes" or "gradient" (its norm), from which boxes have their colour.
        seconds: how long a layout by Graphviz may take before more is folded.
        backward: whether to go back from a tensor to learn the gradients; ``.grad`` is not touched.
        modules: of a tensor: modules by what they are called.

    Raises:
        RuntimeError: no op was recorded.
        TypeError: a tensor and inputs, or something that cannot be called.
        ValueError: a direction or colour that is not known, or a depth or number of boxes below 0.
    """
    if isinstance(what, Graph):
        told = what
    elif isinstance(what, Variable):
        if inputs or named:
            raise TypeError("graph takes a tensor alone, or a module or function and its inputs")
        told = from_tensor(what, backward=backward, modules=modules)
    elif not callable(what):
        raise TypeError(f"graph takes a tensor, a module or a function, not {type(what).__name__}")
    else:
        told = record_call(what, *inputs, **named)
    direction = direction or ("forward" if told.backward == "none" else "both")
    _check("direction", direction, ("forward", "backward", "both"))
    _check("colour", colour, ("none", "time", "bytes", "gradient"))
    if (depth is not None and depth < 0) or (not isinstance(fold, bool) and fold < 1):
        raise ValueError(f"depth is {depth} and fold is {fold}; they must be 0 and 1 at least")
    return GraphView(told, direction, depth, fold, colour, seconds)


class GraphView(Picture):
    """A graph to look at; ``viz.graph`` makes it.

    Attributes:
        graph: what is known. tree: its nested boxes, and which are open.
    """

    def __init__(
        self, graph: Graph, direction: Direction, depth: int | None, fold: bool | int, colour: Colour, seconds: float
    ) -> None:
        self.graph, self.direction, self.colour, self.seconds = graph, direction, colour, seconds
        self._repeats, self._fit = fold is not False, depth is None and isinstance(fold, bool)
        self._budget = BUDGET if isinstance(fold, bool) else fold
        self.tree = self._folded(self._budget, depth)

    def __repr__(self) -> str:
        boxes = len(self.tree.boxes(self.tree.opened))
        return f"<graph of {self.graph.title}: {len(self.graph.nodes)} nodes, {boxes} boxes>"

    def page(self) -> Page:
        """The interactive page, which works offline."""
        return page(self.graph, self.tree, self.direction, self.colour, self._fit)

    def dot(self) -> str:
        """Graphviz' language, for what is visible at first."""
        return dot.source(self.graph, self.tree, self.direction, self.colour)

    def svg(self) -> str:
        """A vector picture: by Graphviz, and where there is none by a simpler layout of our own."""
        if renderer() is None:
            return layout.svg(self.graph, self.tree, self.direction, self.colour)
        return self._render("svg").decode()

    def png(self) -> bytes:
        """A picture of 144 points per inch.

        Raises:
            RuntimeError: there is no Graphviz, neither as a program nor in pygraphviz.
        """
        return self._render("png")

    def pdf(self) -> bytes:
        """A vector picture for a paper. Raises as ``png`` does."""
        return self._render("pdf")

    def save(self, path: str | os.PathLike[str], *args: Any, **look: Any) -> Path:
        """Write the file that the ending asks for (.html, .svg, .png, .pdf, .dot), whole or not at all.

        Raises:
            ValueError: another ending. OSError: it cannot be written. RuntimeError: as ``png``.
        """
        ending = Path(path).suffix.lower()
        if ending not in ENDINGS:
            raise ValueError(f"cannot save {Path(path).name}: the ending must be one of {', '.join(ENDINGS)}")
        if ending in (".html", ".svg"):
            return super().save(path, *args, **look)
        return written(path, getattr(self, ending[1:])(*args, **look))

    def _folded(self, budget: int, depth: int | None) -> Tree:
        return tree(self.graph, self._repeats, budget, depth)

    def _render(self, format: Format) -> bytes:
        """Fold further until the layout is done in time."""
        late: TooSlowError | None = None
        for folded in self._ever_fewer():
            try:
                source = dot.source(self.graph, folded, self.direction, self.colour)
                return render(source, format, self.seconds)
            except TooSlowError as error:
                late = error
        raise RuntimeError(f"even a single box was too slow: {late}. Give more seconds")

    def _ever_fewer(self) -> Iterator[Tree]:
        yield self.tree
        visible = len(self.tree.boxes(self.tree.opened))
        for budget in (BUDGET, 20, 10, 5):
            if budget < visible:
                yield self._folded(budget, None)
        closed = self._folded(self._budget, None)
        closed.opened = set()
        yield closed


def _check(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ValueError(f"{name} is {value!r}; it must be one of {', '.join(known)}")
