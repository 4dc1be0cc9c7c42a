"""A graph as one interactive page: what its script (assets/graph*.js) needs, in few bytes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from ..page import Page
from .data import Graph, Value
from .dot import Colour, Direction, label_of
from .fold import Tree, total
from .values import Stored

_SCRIPTS = tuple(f"graph{part}.js" for part in ("_layout", "_panel", "_boxes", "_drawing", "_camera", "_search", ""))
_BODY = """<div id="graph">
<header class="bar"></header>
<main><svg id="drawing" role="application" aria-label="compute graph" tabindex="0"></svg></main>
<aside id="panel" aria-live="polite" hidden></aside>
</div>"""


def page(graph: Graph, tree: Tree, direction: Direction, colour: Colour, fit: bool = True) -> Page:
    """The page of a graph, with what is open, shown and coloured at first; ``fit``: with more closed, where not all
    can be read in the window."""
    data, _ = packed(graph)
    data |= {**_folded(graph, tree), "direction": direction, "colour": colour, "fit": fit}
    return Page(graph.title, data, _SCRIPTS, ("graph.css",), body=_BODY, height=720)


def packed(graph: Graph, more: Iterable[Value | None] = ()) -> tuple[dict[str, Any], Stored]:
    """A graph for a page's script, with each value once: nodes and edges have its place in "values"; and where
    the page's other values stand there."""
    of_nodes = [value for node in graph.nodes for value in (node.value, node.gradient)]
    values = Stored([*of_nodes, *(edge.gradient for edge in graph.edges), *more])
    nodes = [
        {
            **vars(node),
            "saved": [vars(saved) for saved in node.saved],
            "value": values.place(node.value),
            "gradient": values.place(node.gradient),
        }
        for node in graph.nodes
    ]
    edges = [[edge.source, edge.target, edge.input, edge.slot, values.place(edge.gradient)] for edge in graph.edges]
    data = {
        "title": graph.title,
        "backward": graph.backward,
        "output": graph.output,
        "nodes": nodes,
        "edges": edges,
        "values": values.packed(),
        "ops": {key: asdict(info) for key, info in graph.ops.items()},
        "modules": {path: asdict(info) for path, info in graph.modules.items()},
    }
    return data, values


def _folded(graph: Graph, tree: Tree) -> dict[str, Any]:
    """The nested boxes: of each child, "n" or "g" and its number."""
    groups = [
        {
            **vars(group),
            "label": label_of(graph, tree, number),
            "children": [f"{kind[0]}{number}" for kind, number in group.children],
            "total": asdict(total(graph, list(tree.nodes(number)))),
        }
        for number, group in enumerate(tree.groups)
    ]
    docks, names = list(tree.docks.items()), list(tree.names.items())
    return {"groups": groups, "groupOf": tree.group_of, "opened": sorted(tree.opened), "docks": docks, "names": names}
