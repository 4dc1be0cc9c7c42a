"""A graph as one interactive page: what its script (assets/graph*.js) needs, in few bytes."""

from __future__ import annotations

import base64
import math
from dataclasses import asdict
from typing import Any, Literal

import numpy as np

from ..page import Page
from .data import Graph, Value
from .fold import Tree, total

Direction = Literal["forward", "backward", "both"]
Colour = Literal["none", "time", "bytes", "gradient"]
HEAT_BYTES = 1_500_000  # of all heat maps of a page together; where they are more, their cells get larger
_UNKNOWN = 255  # the cell of a number that is not finite
_BODY = """<div id="graph">
<header class="bar"></header>
<main><svg id="drawing" role="application" aria-label="compute graph" tabindex="0"></svg></main>
<aside id="panel" aria-live="polite" hidden></aside>
</div>"""


def page(graph: Graph, tree: Tree, direction: Direction, colour: Colour) -> Page:
    """The page of a graph, with what is open, shown and coloured at first."""
    data = {**_packed(graph), **_folded(graph, tree), "direction": direction, "colour": colour}
    scripts = ("graph_layout.js", "graph_panel.js", "graph.js")
    return Page(graph.title, data, scripts, ("graph.css",), body=_BODY, height=720)


def _packed(graph: Graph) -> dict[str, Any]:
    """The graph, each value once: nodes and edges tell its place in "values"."""
    values = _Values(graph)
    nodes = []
    for node in graph.nodes:
        told = {**vars(node)}
        told["saved"] = [vars(saved) for saved in node.saved]
        told["value"], told["gradient"] = values.place(node.value), values.place(node.gradient)
        nodes.append(told)
    edges = [
        [edge.source, edge.target, edge.input, edge.slot, values.place(edge.gradient)] for edge in graph.edges
    ]
    return {
        "title": graph.title,
        "backward": graph.backward,
        "output": graph.output,
        "nodes": nodes,
        "edges": edges,
        "values": values.packed(),
        "ops": {key: asdict(info) for key, info in graph.ops.items()},
        "modules": {path: asdict(info) for path, info in graph.modules.items()},
    }


def _folded(graph: Graph, tree: Tree) -> dict[str, Any]:
    """The nested boxes: of each child, "n" or "g" and its number."""
    groups = [
        {
            "kind": group.kind,
            "label": group.label,
            "path": group.path,
            "parent": group.parent,
            "children": [f"{kind[0]}{number}" for kind, number in group.children],
            "opens": group.opens,
            "total": asdict(total(graph, list(tree.nodes(number)))),
        }
        for number, group in enumerate(tree.groups)
    ]
    docks = [[leaf, op] for leaf, op in tree.docks.items()]
    names = [[op, name] for op, name in tree.names.items()]
    opened = sorted(tree.opened)
    return {"groups": groups, "groupOf": tree.group_of, "opened": opened, "docks": docks, "names": names}


class _Values:
    """Values, equal ones once: most gradients on an edge are those that arrive, as nothing else is added."""

    def __init__(self, graph: Graph) -> None:
        self.values: list[Value] = []
        self.places: dict[str, int] = {}
        self.seen: dict[int, int] = {}  # by id, as the graph keeps them alive: to write one out takes long
        everything = [*(node.value for node in graph.nodes), *(node.gradient for node in graph.nodes)]
        everything += [edge.gradient for edge in graph.edges]
        for value in everything:
            self.place(value)
        cells = sum(_cells(value) for value in self.values)
        self.step = math.ceil(math.sqrt(cells / HEAT_BYTES)) if cells else 1

    def place(self, value: Value | None) -> int | None:
        if value is None:
            return None
        if id(value) not in self.seen:
            key = repr(value)
            if key not in self.places:
                self.places[key] = len(self.values)
                self.values.append(value)
            self.seen[id(value)] = self.places[key]
        return self.seen[id(value)]

    def packed(self) -> list[dict[str, Any]]:
        return [{**vars(value), "heat": heat(value.heat, self.step)} for value in self.values]


def _cells(value: Value) -> int:
    return len(value.heat) * len(value.heat[0]) if value.heat else 0


def heat(cells: list[list[float]] | None, step: int = 1) -> dict[str, Any] | None:
    """A heat map, a byte a cell, from ``low`` (0) to ``high`` (254); means over ``step`` × ``step`` cells."""
    if not cells or not cells[0]:
        return None
    array = np.asarray(cells, np.float64)
    rows, columns = array.shape
    if step > 1:
        array = np.add.reduceat(array, range(0, rows, step), axis=0)
        array = np.add.reduceat(array, range(0, columns, step), axis=1)
        sizes = [np.diff([*range(0, length, step), length]) for length in (rows, columns)]
        array = array / np.outer(*sizes)
    known = array[np.isfinite(array)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 0.0)
    scale = (254 / (high - low)) if high > low else 0.0
    with np.errstate(invalid="ignore"):
        coded = np.where(np.isfinite(array), np.rint((array - low) * scale), _UNKNOWN)
    data = base64.b64encode(coded.astype(np.uint8).tobytes()).decode()
    return {"rows": array.shape[0], "columns": array.shape[1], "low": low, "high": high, "cells": data}
