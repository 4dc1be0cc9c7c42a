"""A picture of a folded graph without Graphviz: layers, in plain Python (Sugiyama, Tagawa and Toda, 1981).

Ranks by longest path; wires that pass through a rank have a place there; order by barycentres; coordinates by
medians. The interactive page has its own (assets/graph_layout.js), which nests; this one writes a module's
path into the box instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from operator import attrgetter
from statistics import fmean, median
from unicodedata import east_asian_width

from ..vector import Drawing
from .data import Graph
from .dot import BACKWARD, FORWARD, INK, LINE, PAPER, QUIET, Box, Colour, Direction, drawn, key_of, shortened
from .fold import Tree, wires

GAP, RANK, HEIGHT, PAD = 24.0, 44.0, 40.0, 16.0
SWEEPS = 6  # down and up
Side = Callable[["Spot"], list["Spot"]]  # the spot's neighbours above or below


@dataclass(eq=False)
class Spot:
    """A place in a rank: of a box, or (width 0) of a wire that passes."""

    width: float
    rank: int = 0
    x: float = 0.0
    above: list[Spot] = field(default_factory=list)
    below: list[Spot] = field(default_factory=list)


def svg(graph: Graph, tree: Tree, direction: Direction = "both", colour: Colour = "none") -> str:
    """What is open in a tree, as SVG. Elements have the ids "n3" of nodes and "g4" of groups."""
    order = {key_of(box): place for place, box in enumerate(tree.boxes(tree.opened, docked=True))}
    boxes = sorted(drawn(graph, tree, direction, colour), key=lambda box: order[box.key])
    visible = wires(graph, tree, tree.opened)
    links = [(key_of(source), key_of(target)) for source, target in visible]
    ranks, spots, ways = layers({box.key: _width(box) for box in boxes}, links)
    left = min((spot.x - spot.width / 2 for row in ranks for spot in row), default=0.0) - PAD
    right = max((spot.x + spot.width / 2 for row in ranks for spot in row), default=0.0) + PAD
    drawing = Drawing(right - left, 2 * PAD + len(ranks) * (HEIGHT + RANK) - RANK, shortened(graph.title))
    for way, edges in zip(ways, visible.values(), strict=True):
        points = [(spot.x - left, PAD + spot.rank * (HEIGHT + RANK)) for spot in way]
        goes_back = any(edge.gradient for edge in edges)
        both = direction == "both" and goes_back
        if direction != "backward":
            _line(drawing, points, FORWARD, -2.5 * both)
        if direction != "forward" and goes_back:
            _line(drawing, points, BACKWARD, 2.5 * both, back=True)
    for box in boxes:
        spot = spots[box.key]
        _box(drawing, box, spot.x - left, PAD + spot.rank * (HEIGHT + RANK), spot.width)
    return drawing.svg(PAPER, "Helvetica, Arial, sans-serif")


def layers(
    widths: dict[str, float], links: list[tuple[str, str]]
) -> tuple[list[list[Spot]], dict[str, Spot], list[list[Spot]]]:
    """Ranks of spots with their x, for boxes in an order in which no link runs back; the spot of each box, and of
    each link the spots that it leads through."""
    spots = {key: Spot(width) for key, width in widths.items()}
    order = {key: place for place, key in enumerate(widths)}
    for source, target in sorted(links, key=lambda link: order[link[1]]):
        spots[target].rank = max(spots[target].rank, spots[source].rank + 1)
    inner = {target for _, target in links}
    for key, spot in spots.items():  # what nothing leads to stands just above its first reader
        if key not in inner and (below := [spots[target].rank for source, target in links if source == key]):
            spot.rank = min(below) - 1
    passing: dict[tuple[str, int], Spot] = {}
    ways = []
    for source, target in links:
        between = range(spots[source].rank + 1, spots[target].rank)
        through = [passing.setdefault((source, rank), Spot(0.0, rank)) for rank in between]
        ways.append([spots[source], *through, spots[target]])
        for upper, lower in pairwise(ways[-1]):
            if lower not in upper.below:
                upper.below.append(lower)
                lower.above.append(upper)
    ranks: list[list[Spot]] = [[] for _ in range(max((spot.rank for spot in spots.values()), default=-1) + 1)]
    for spot in (*spots.values(), *passing.values()):
        ranks[spot.rank].append(spot)
    _arrange(ranks)
    return ranks, spots, ways


def _arrange(ranks: list[list[Spot]]) -> None:
    """Order within each rank by barycentres, where x is the place in the rank; then x by medians, pushed apart."""
    for row in ranks:
        _number(row)
    for row, side in _sweeps(ranks):
        row.sort(key=partial(_barycentre, side))
        _number(row)
    for row in ranks:
        for spot in row:
            spot.x = 0.0
        _apart(row)
    for row, side in _sweeps(ranks):
        for spot in row:
            if near := side(spot):
                spot.x = median(other.x for other in near)
        _apart(row)


def _barycentre(side: Side, spot: Spot) -> float:
    return fmean(near.x for near in side(spot)) if side(spot) else spot.x


def _number(row: list[Spot]) -> None:
    for place, spot in enumerate(row):
        spot.x = place


def _sweeps(ranks: list[list[Spot]]) -> Iterator[tuple[list[Spot], Side]]:
    """The ranks, down and up in turn, with the neighbours of each spot on the side that the sweep comes from."""
    for _ in range(SWEEPS):
        yield from ((row, attrgetter("above")) for row in ranks)
        yield from ((row, attrgetter("below")) for row in reversed(ranks))


def _apart(row: list[Spot]) -> None:
    """Push neighbours apart, from the left and from the right, and take the middle."""
    if not row:
        return
    rightward, leftward = [row[0].x], [row[-1].x]
    for before, spot in pairwise(row):
        rightward.append(max(spot.x, rightward[-1] + (before.width + spot.width) / 2 + GAP))
    for after, spot in pairwise(row[::-1]):
        leftward.append(min(spot.x, leftward[-1] - (after.width + spot.width) / 2 - GAP))
    for spot, a, b in zip(row, rightward, leftward[::-1], strict=True):
        spot.x = (a + b) / 2


def _width(box: Box) -> float:
    """Of its text, as wide letters are; those of East Asia and emoji take twice as much."""
    first, second = (sum(1 + (east_asian_width(c) in "WF") for c in line) for line in box.lines)
    return max(7.6 * first, 6.4 * second, 24.0) + 20


def _line(drawing: Drawing, points: list[tuple[float, float]], colour: str, beside: float, back: bool = False) -> None:
    """Through all points, from the first box's lower edge to the last one's upper edge, with a tip."""
    path = ""
    for (x, y), (to, top) in pairwise(points):
        x, y, to = x + beside, y + HEIGHT, to + beside
        middle = (y + top) / 2
        path += f"V{y:.1f}" if path else f"M{x:.1f} {y:.1f}"
        path += f"C{x:.1f} {middle:.1f} {to:.1f} {middle:.1f} {to:.1f} {top:.1f}"
    tip = f"{points[0][0] + beside:.1f} {points[0][1] + HEIGHT:.1f}l-3.4 7" if back else f"{to:.1f} {top:.1f}l-3.4 -7"
    drawing.add("path", d=path, fill="none", stroke=colour, stroke_width=1.2)
    drawing.add("path", d=f"M{tip}h6.8z", fill=colour)


def _box(drawing: Drawing, box: Box, x: float, y: float, width: float) -> None:
    leaf = box.kind in ("parameter", "input", "constant")
    ink = INK if box.kind in ("folded", "repeat") else LINE if leaf else QUIET
    drawing.open("g", id=box.key)
    look = {"x": x - width / 2, "y": y, "width": width, "height": HEIGHT, "fill": box.fill, "stroke": ink}
    drawing.add("rect", "", **look, rx=20 if leaf else 5)
    drawing.text(x, y + (17 if box.lines[1] else 25), box.lines[0], "middle", 13, INK)
    drawing.text(x, y + 32, box.lines[1], "middle", 11, QUIET)
    drawing.close("g")
