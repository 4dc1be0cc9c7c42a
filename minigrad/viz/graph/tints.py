"""The colour of boxes: from what it is, and how strong."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Literal

from .data import Graph
from .fold import Child, Total, Tree, total
from .labels import Direction

Colour = Literal["none", "time", "bytes", "gradient"]
INKS: dict[str, str] = {"time": "minus", "bytes": "accent", "gradient": "backward"}  # as a palette calls them


class Tints:
    """Of some boxes, by the logarithm of what the colour stands for; none of what is not known, or not finite."""

    def __init__(self, graph: Graph, tree: Tree, boxes: Iterable[Child], direction: Direction, colour: Colour) -> None:
        self.colour = colour
        self._measures: dict[Child, float] = {}
        for box in boxes if colour != "none" else ():
            nodes = [box[1]] if box[0] == "node" else [*tree.nodes(box[1])]
            value = _measure(total(graph, nodes), direction, colour)
            if value and math.isfinite(value):
                self._measures[box] = value
        known = self._measures.values()
        self.scale = (min(known), max(known)) if known else None  # the lowest and the highest

    def opacity(self, box: Child) -> float | None:
        """From nearly nothing to not quite a half; None for no colour."""
        value = self._measures.get(box)
        if value is None or self.scale is None:
            return None
        low, high = self.scale
        return 0.05 + 0.4 * (math.log(value / low) / math.log(high / low) if high > low else 1.0)


def _measure(each: Total, direction: Direction, colour: Colour) -> float | None:
    if colour == "time":
        forward = None if direction == "backward" else each.forward_seconds
        return (forward or 0) + ((None if direction == "forward" else each.backward_seconds) or 0)
    return {"bytes": float(each.bytes), "gradient": each.gradient}.get(colour)
