"""``viz.graph``: the compute graph of a tensor or a call, as an object that displays itself and can be saved."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, get_args

from ...autograd.tape import Variable
from ...nn.module import Module
from ..page import Page
from ..vector import cut
from ..view import Picture
from .dot import Colour, Dot, library
from .fold import SEPARATOR, Direction, Tree, key_of, label_of, labels, total, tree
from .graph_data import Graph, Stored
from .graph_record import MOST, Builder, built
from .observe import place_in
from .replay import Change

_SCRIPTS = tuple(
    f"graph{part}.js"
    for part in ("_layout", "_panel", "_change", "_boxes", "_drawing", "_legend", "_camera", "_search", "")
)
_BODY = """<div id="graph">
<header class="bar"></header>
<main><svg id="drawing" role="application" aria-label="compute graph" tabindex="0"></svg></main>
<aside id="panel" aria-live="polite" hidden></aside>
</div>"""


def graph(
    what: Variable | Callable[..., Any],
    /,
    *inputs: Any,
    depth: int | None = None,
    colour: Colour = "none",
    modules: Mapping[str, Module] | None = None,
    **kwargs: Any,
) -> GraphView:
    """The compute graph of a tensor, or of a call to a module or function.

    The graph displays itself in a notebook; ``save`` writes a page, SVG, PNG, PDF, DOT (.dot, .gv) or Mermaid (.mmd).

    Args:
        what: a result of recorded ops, or a module or function, whose call with ``inputs`` and ``kwargs`` is recorded.
            The graph of a call contains the most information: all values and times.
        depth: how many levels of nested modules to open; by default, as many as fit on one screen.
        colour: the quantity that colours the boxes: "time", "bytes" or "gradient" (its norm).
        modules: if ``what`` is a tensor, the modules to show, by name.

    Raises RuntimeError if no op was recorded because no tensor in the result requires a gradient, TypeError if ``what``
    is a tensor with inputs or is not callable, and ValueError for an unknown colour or a negative depth.
    """
    if colour not in get_args(Colour):
        raise ValueError(f"colour must be one of {', '.join(get_args(Colour))}, not {colour!r}")
    if depth is not None and depth < 0:
        raise ValueError(f"depth must be at least 0, not {depth}")
    nodes = built("graph", what, inputs, kwargs, modules)
    return GraphView(nodes.drawn(run=True), depth, colour, None if nodes.is_large() else nodes)


@dataclass(eq=False)
class GraphView(Picture):
    """The view of a graph that ``viz.graph`` returns."""

    endings = (".html", ".svg", ".png", ".pdf", ".dot", ".gv", ".mmd")
    graph: Graph  # the data
    depth: int | None = None
    colour: Colour = "none"
    replay: Builder | None = None  # recomputes the graph; None if that is impossible or takes too much memory
    changes: dict[int, list[Change]] = field(default_factory=dict)  # changed numbers, by node

    def __repr__(self) -> str:
        boxes = len(self.tree.boxes(self.tree.opened))
        return f"<graph of {self.graph.title}: {len(self.graph.nodes)} nodes, {boxes} boxes>"

    def change(self, node: int | str, value: float, at: int | None = None) -> GraphView:
        """Return a graph with a changed node and new results and gradients. The program's tensors do not change.

        Args:
            node: its index or unique name. If it is a result, the difference is added to it; its inputs do not change.
            at: the flat index of the element; by default, all elements change.

        Raises KeyError unless exactly one node has this name; IndexError if the node or element does not exist;
        ValueError if the dtype cannot represent the number; RuntimeError if the graph has a user-defined Function, its
        inputs are gone, its ops read over a million numbers, or it was created from plain data.
        """
        if self.replay is None:
            raise RuntimeError(
                f"this graph cannot be recomputed: it is only plain data, or its ops read over {MOST:,} numbers"
            )
        nodes = self.graph.nodes
        numbers = [nodes[node].id] if isinstance(node, int) else [one.id for one in nodes if one.name == node]
        if len(numbers) != 1:
            raise KeyError(f"{len(numbers) or 'no'} nodes are called {node!r}: pass the node's index")
        changes = {**self.changes, numbers[0]: [*self.changes.get(numbers[0], ()), (at, value)]}
        return replace(self, graph=self.replay.changed(changes), changes=changes)

    @cached_property
    def tree(self) -> Tree:
        return tree(self.graph, depth=self.depth)

    @property
    def direction(self) -> Direction:
        """The directions of the arrows: forward for results and, if there are gradients, also backward."""
        return "forward" if self.graph.backward == "none" else "both"

    def page(self) -> Page:
        # Without an explicit depth, the page may close more groups to fit.
        look = {"direction": self.direction, "colour": self.colour, "fit": self.depth is None}
        data = packed(self.graph, **_boxes(self.graph, self.tree), **look)
        return Page(f"Graph of {self.graph.title}", data, _SCRIPTS, ("graph.css",), body=_BODY, height=720)

    def dot(self, dark: bool = False) -> str:
        """The initially visible graph in the DOT language; ``dark`` uses dark colours."""
        return Dot(self.graph, self.tree, self.direction, self.colour, dark).source()

    def mermaid(self) -> str:
        """The visible graph in the Mermaid language, which GitHub renders from a ```mermaid block in Markdown."""
        return Dot(self.graph, self.tree, self.direction).mermaid()

    gv, mmd = dot, mermaid  # by file extension

    def graphviz(self, dark: bool = False) -> Any:
        """The visible graph as a ``graphviz.Source``, for other formats. Raises ImportError if Graphviz is missing."""
        return library().Source(self.dot(dark))

    def svg(self, dark: bool = False) -> str:
        """The image drawn by Graphviz's ``dot``. Raises ImportError if Graphviz is missing."""
        return Dot(self.graph, self.tree, self.direction, self.colour, dark).svg()


def make_dot(
    var: Variable,
    params: Mapping[str, Variable] | None = None,
    show_attrs: bool = False,
    show_saved: bool = False,
    max_attr_chars: int = 50,
) -> Any:
    """The whole graph of a tensor as a ``graphviz.Digraph``. The arguments are those of torchviz.

        viz.make_dot(loss, dict(model.named_parameters())).render("loss", format="pdf")

    Args:
        var: a result of recorded ops. params: tensors by name; other tensors keep their names from the program.
        show_attrs: show the non-tensor arguments of ops. show_saved: show the values saved for the backward pass.
        max_attr_chars: the maximum length of an argument in a box.

    Raises TypeError if var is not a tensor, RuntimeError if it has no graph, and ImportError if Graphviz is missing.
    """
    graphviz = library()
    if not isinstance(var, Variable):
        raise TypeError(f"make_dot takes a tensor, not {type(var).__name__}: viz.graph(function, inputs) draws a call")
    nodes = built("make_dot", var, (), {}, None)
    graph = nodes.drawn(run=False)
    for name, tensor in (params or {}).items():
        if (number := place_in(nodes.number, tensor)) is not None:
            graph.nodes[number].name = name
    dot = Dot(graph, tree(graph, repeats=False, budget=len(graph.nodes), depth=len(graph.nodes)), "forward")
    for node in graph.nodes:
        attributes = node.attributes.items() if show_attrs else ()
        details = [f"{name} = {cut(value, max_attr_chars)}" for name, value in attributes]
        if show_saved and node.saved:
            details.append(f"keeps {', '.join(saved.name for saved in node.saved)}")
        label = dot.labels[key := key_of(("node", node.id))]
        always, forward, backward = (SEPARATOR.join(filter(None, [text, *details])) for text in label.below)
        dot.labels[key] = replace(label, below=(always, forward, backward))
    return graphviz.Digraph(graph.title, body=dot.source().splitlines(keepends=True)[1:-1])


def packed(graph: Graph, **more: Any) -> dict[str, Any]:
    """Data for a page's script: a graph and more. Each value is stored once in "values" and replaced by its index."""
    stored = Stored()
    edges = [list(vars(edge).values()) for edge in graph.edges]
    return {**stored.encoded({**vars(graph), "edges": edges, **more}), "values": stored.packed()}


def _boxes(graph: Graph, tree: Tree) -> dict[str, Any]:
    """The nested boxes. A child is written as "n" (node) or "g" (group), followed by its index."""
    groups = []
    for number, group in enumerate(tree.groups):
        more = {"label": label_of(graph, tree, number), "children": [key_of(child) for child in group.children]}
        groups.append({**vars(group), **more, "total": total(graph, list(tree.nodes(number)))})
    texts = {key: vars(label) for key, label in labels(graph, tree).items()}
    docks, names = list(tree.docks.items()), list(tree.names.items())
    boxes = {"groups": groups, "groupOf": tree.group_of, "opened": sorted(tree.opened)}
    return {**boxes, "docks": docks, "names": names, "labels": texts}
