"""A folded graph as SVG: boxes, groups, arrows, colours and a legend, as the page draws them (assets/graph_drawing.js).

Elements have the ids "n3" of nodes and "g4" of groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ..letters import width
from ..palette import DARK, LIGHT, Palette
from ..vector import SANS, Drawing
from .data import Edge, Graph
from .fold import Child, Tree
from .labels import (
    ASIDE,
    DOCK,
    DOCK_GAP,
    DOCK_WIRE,
    FONTS,
    SMALL,
    TITLE,
    Direction,
    Label,
    Look,
    key_of,
    labels,
    number,
)
from .layout import Box, Frame, Layout, Place, Point, Wire, laid_out
from .tints import INKS, Colour, Tints

SERIF = "'Iowan Old Style', 'Palatino Linotype', Palatino, Charter, Georgia, 'DejaVu Serif', serif"
WINDOW, SMALLEST = (1280, 720), 0.62  # where all should be seen, and the scale at which letters can still be read
MONO = "ui-monospace, 'Cascadia Mono', 'DejaVu Sans Mono', Menlo, Consolas, monospace"
_FAMILIES = {"sans": None, "serif": SERIF}
_TIPS = {"down": "l-3.4 -7h6.8z", "up": "l-3.4 7h6.8z", "right": "l-7 -3.2v6.4z", "left": "l7 -3.2v6.4z"}
_BESIDE = 2.5  # from the middle of two lines to each
_LEGEND = 34.0  # its height
_UNITS = {
    "bytes": ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")),
    "time": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")),
}


@dataclass(frozen=True)
class Scene:
    """What is visible of a graph, and where: ``svg`` draws it."""

    graph: Graph
    tree: Tree
    direction: Direction
    labels: dict[str, Label]
    layout: Layout
    reads: dict[str, dict[str, list[Edge]]]  # of each box the boxes that read it, and by which edges

    @classmethod
    def of(cls, graph: Graph, tree: Tree, direction: Direction, said: dict[str, Label] | None = None) -> Scene:
        """Lays out what is open in a tree, whose labels may be known."""
        said = said or labels(graph, tree)
        reads = joined(graph, tree)
        pairs = ((source, target) for source, targets in reads.items() for target in targets)
        return cls(graph, tree, direction, said, laid_out(_frame(tree, said, direction, 0), pairs), reads)

    def fitted(self) -> Scene:
        """With groups closed, the innermost first, until it can be read where all of it is seen in a WINDOW."""
        scene = self
        while open_ := [group for group in sorted(scene.tree.opened) if group and f"g{group}" in scene.layout.groups]:
            sides = zip(WINDOW, (scene.layout.width, scene.layout.height), strict=True)
            if all(room / (side + 16) >= SMALLEST for room, side in sides):
                break
            first = max(
                open_, key=lambda group: (len([*self.tree.around(group)]), len(self.tree.groups[group].children))
            )
            tree = replace(scene.tree, opened=scene.tree.opened - {first})
            scene = Scene.of(self.graph, tree, self.direction, self.labels)
        return scene


def joined(graph: Graph, tree: Tree) -> dict[str, dict[str, list[Edge]]]:
    """The edges between visible boxes, by the two that each joins; a leaf at the side of an op is in the op's box."""
    box = [key_of(tree.box_of(node.id, tree.opened)) for node in graph.nodes]
    for leaf, op in tree.docks.items():
        if box[leaf] == key_of(("node", leaf)):
            box[leaf] = box[op]
    reads: dict[str, dict[str, list[Edge]]] = {}
    for edge in graph.edges:
        source, target = box[edge.source], box[edge.target]
        if source != target:
            reads.setdefault(source, {}).setdefault(target, []).append(edge)
    return reads


def _frame(tree: Tree, said: dict[str, Label], direction: Direction, number: int) -> Frame:
    """An open group and what is visible in it."""
    children: list[Box | Frame] = []
    for child in tree.seen(tree.groups[number].children):
        key = key_of(child)
        if child[0] == "group" and child[1] in tree.opened:
            children.append(_frame(tree, said, direction, child[1]))
        else:
            label = said[key]
            wide = label.body(direction) + label.side
            children.append(Box(key, wide, label.height, label.side / 2))
    key = key_of(("group", number))
    return Frame(key, tuple(children), said[key].title)


def svg(scene: Scene, colour: Colour = "none", dark: bool = False) -> str:
    """The text of an SVG file."""
    return Painter(scene, colour, DARK if dark else LIGHT).picture()


# The picture -----------------------------------------------------------------------------------------------


class Stroke(NamedTuple):
    """How a wire looks."""

    colour: str
    width: float = 1.2
    dash: str | None = None
    opacity: float | None = None


class Note(NamedTuple):
    """A line of text below a picture."""

    text: str
    size: float = 12
    quiet: bool = False
    family: str | None = None
    indent: float = 0.0
    above: float = 0.0  # more room


class Painter:
    """Draws a scene in the colours of a palette.

    Another picture of a graph is another painter: ``kinds`` says which kinds of line it has, ``looks`` of which kind a
    wire's are, ``meanings`` what is in the legend; ``marked`` is a box that stands out in the colour of gradients, and
    ``notes`` are lines below all.
    """

    marked: str | None = None
    notes: Sequence[Note] = ()

    def __init__(self, scene: Scene, colour: Colour, palette: Palette) -> None:
        self.scene, self.graph, self.tree = scene, scene.graph, scene.tree
        self.palette = palette
        self.out = {edge.source: edge for edge in reversed(self.graph.edges)}  # of each node the first that reads it
        boxes = [*self.tree.boxes(self.tree.opened, docked=True)]
        self.tints = Tints(self.graph, self.tree, boxes, scene.direction, colour)
        self.strokes = self.kinds()
        self.legend = self._legend_parts(colour)

    def picture(self) -> str:
        layout = self.scene.layout
        wide = max(layout.width, sum(part[0] for part in self.legend) + 16 * (len(self.legend) + 1))
        wide = max(wide, *(32 + note.indent + width(note.text, note.size) for note in self.notes), 0)
        high = layout.height + _LEGEND + sum(_height(note) for note in self.notes)
        self.drawing = Drawing(wide, high, " ".join(self.graph.title.split())[:200])
        aside = (wide - layout.width) / 2
        self.drawing.open("g", id="drawing", transform=f"translate({aside:.2f} 0)" if aside > 0.005 else None)
        for key, place in layout.groups.items():
            if key != "g0":
                self._group(key, place)
        for wire in layout.wires:
            self._wire(wire)
        for key, place in layout.boxes.items():
            if key[0] == "g":
                self._folded(key, place)
            else:
                self._node(key, place)
        self.drawing.close("g")
        self._legend(layout.height)
        self._write_notes(layout.height + _LEGEND)
        return self.drawing.svg(self.palette.paper, SANS)

    # Boxes

    def _group(self, key: str, place: Place) -> None:
        """The frame of an open group."""
        depth = len([*self.tree.around(int(key[1:]))])
        fill = self.palette.field if depth % 2 else self.palette.paper
        self.drawing.open("g", id=key)
        self._rect(place, 7, fill, self.palette.line, 1.2)
        line = self.scene.labels[key].line
        self._line(place.x + 12, place.y + 17, line, "start", self.palette.quiet, around=fill)
        self.drawing.close("g")

    def _folded(self, key: str, place: Place) -> None:
        """A closed group; a repeat is a deck of cards."""
        label, box = self.scene.labels[key], ("group", int(key[1:]))
        deck = label.deck
        card = Place(place.x, place.y, place.width - 2 * deck, place.height - 2 * deck)
        self.drawing.open("g", id=key)
        for behind in (2 * deck, deck, 0.0) if deck else (0.0,):
            moved = Place(card.x + behind, card.y + behind, card.width, card.height)
            self._rect(moved, 6, self.palette.field, self.palette.ink, 1.2)
        quiet = self._tint(box, card, 6)  # type: ignore[arg-type]
        middle, y = card.x + card.width / 2, card.y + card.height / 2
        self._line(middle, y - 2, label.line, "middle", quiet)
        self._small(middle, y + 14, label.said(self.scene.direction), quiet)
        self._mark(key, card, 6)
        self.drawing.close("g")

    def _node(self, key: str, place: Place) -> None:
        """A node, and the leaves at its side."""
        label, node = self.scene.labels[key], self.graph.nodes[int(key[1:])]
        below = label.said(self.scene.direction)
        body = Place(place.x + label.side, place.y, place.width - label.side, place.height)
        round_ = 4.0 if node.kind == "op" else 20.0
        self.drawing.open("g", id=key)
        self._body(node.kind, body, round_)
        quiet = self._tint(("node", node.id), body, round_)
        middle, y = body.x + body.width / 2, body.y + body.height / 2
        self._line(middle, y - 3 if below else y + 5, label.line, "middle", quiet)
        if below:
            self._small(middle, y + 12, below, quiet)
        self._mark(key, body, round_)
        self.drawing.close("g")
        first = place.y + (place.height - len(label.docks) * (DOCK + DOCK_GAP) + DOCK_GAP) / 2
        for i, (leaf, text, wide) in enumerate(label.docks):
            beside = Place(body.x - DOCK_WIRE - wide, first + (DOCK + DOCK_GAP) * i, wide, DOCK)
            self._dock(leaf, text, beside, body.x)

    def _dock(self, leaf: int, text: str, body: Place, edge: float) -> None:
        """A leaf at the side of its reader, which begins at ``edge``, and its wire."""
        node = self.graph.nodes[leaf]
        self.drawing.open("g", id=key_of(("node", leaf)))
        self._body(node.kind, body, 9)
        self._tint(("node", leaf), body, 9)
        self._small(body.x + body.width / 2, body.y + 13, text, self.palette.ink)
        forward, backward = self.looks([self.out[leaf]])
        beside = _BESIDE if forward and backward else 0.0
        near, y = body.x + body.width, body.y + 9
        if forward:
            self._arrow([(near, y - beside), (edge, y - beside)], forward, "right")
        if backward:
            self._arrow([(edge, y + beside), (near, y + beside)], backward, "left")
        self.drawing.close("g")

    def _body(self, kind: str, place: Place, round_: float) -> None:
        paper, field, line = self.palette.paper, self.palette.field, self.palette.line
        fill, stroke, thick = {"op": (field, self.palette.quiet, 1.0), "input": (field, self.palette.accent, 1.4)}.get(
            kind, (paper, line, 1.0)
        )
        self._rect(place, round_, fill, stroke, thick)

    def _rect(self, place: Place, round_: float, fill: str, stroke: str, thick: float) -> None:
        self.drawing.add("rect", **vars(place), rx=round_, fill=fill, stroke=stroke, stroke_width=thick)

    def _mark(self, key: str, place: Place, round_: float) -> None:
        if key == self.marked:
            self._rect(place, round_, "none", self.palette.backward, 2.2)

    def _tint(self, box: Child, place: Place, round_: float) -> str:
        """Colours a box, and tells in which colour small text stands out from it."""
        opacity = self.tints.opacity(box)
        if opacity is None:
            return self.palette.quiet
        fill = getattr(self.palette, INKS[self.tints.colour])
        self.drawing.add("rect", **vars(place), rx=round_, fill=fill, fill_opacity=f"{opacity:.3f}")
        return self.palette.ink

    # Text

    def _line(
        self, x: float, y: float, line: Iterable[tuple[str, Look]], anchor: str, quiet: str, around: str | None = None
    ) -> None:
        """A first line, in its parts; of an open group with a rim ``around`` its letters, as wires may cross it."""
        rim: dict[str, Any] = {"stroke": around, "stroke_width": 3, "paint_order": "stroke"} if around else {}
        self.drawing.open("text", x=x, y=y, text_anchor=anchor, **rim)
        for i, (text, look) in enumerate(line):
            size, family = FONTS[look]
            self.drawing.add(
                "tspan",
                text,
                dx=ASIDE if i and look != "times" else None,
                font_size=TITLE if around and family == "serif" else size,
                font_family=_FAMILIES[family],
                font_weight="600" if look == "times" else None,
                fill=quiet if look == "kind" else self.palette.ink,
            )
        self.drawing.close("text")

    def _small(self, x: float, y: float, text: str, colour: str) -> None:
        self.drawing.text(x, y, text, "middle", SMALL, colour)

    # Wires

    def kinds(self) -> dict[str, Stroke]:
        """The kinds of line there are."""
        return {"forward": Stroke(self.palette.forward), "backward": Stroke(self.palette.backward)}

    def looks(self, edges: Iterable[Edge]) -> tuple[Stroke | None, Stroke | None]:
        """The line forward and the line backward of a wire, as far as it has them."""
        back = any(edge.gradient is not None for edge in edges)
        return (
            self.strokes["forward"] if self.scene.direction != "backward" else None,
            self.strokes["backward"] if self.scene.direction != "forward" and back else None,
        )

    def _wire(self, wire: Wire) -> None:
        forward, backward = self.looks(
            edge for target in wire.targets for edge in self.scene.reads[wire.source][target]
        )
        side = _BESIDE if forward and backward else 0.0
        if forward:
            self._arrow([(x - side, y) for x, y in wire.points], forward, "down" if wire.last else "", -side)
        if backward:
            self._arrow([(x + side, y) for x, y in wire.points], backward, "up" if wire.first else "", side)
        if not forward and not backward:
            self._path(_bent([*wire.points]), Stroke(self.palette.quiet, opacity=0.3))

    def _arrow(self, points: list[Point], look: Stroke, tip: str, beside: float = 0.0) -> None:
        """A line, and the tip at one of its ends."""
        line, (x, y) = [*points], points[0] if tip == "up" else points[-1]
        if tip == "down":
            line[-1] = (line[-1][0], line[-1][1] - 5)
        if tip == "up":
            line[0] = (line[0][0], line[0][1] + 5)
        self._path(f"M{_at(line[0])}L{_at(line[1])}" if len(line) == 2 else _bent(line, beside), look)
        if tip:
            self.drawing.add("path", d=f"M{_at((x, y))}{_TIPS[tip]}", fill=look.colour)

    def _path(self, path: str, look: Stroke) -> None:
        lines: dict[str, Any] = {"fill": "none", "stroke": look.colour, "stroke_width": look.width}
        self.drawing.add("path", d=path, **lines, stroke_dasharray=look.dash, opacity=look.opacity)

    # The legend

    def meanings(self) -> list[tuple[str, str]]:
        """Kind and text of what lines mean."""
        direction, backward = self.scene.direction, self.graph.backward
        parts = []
        if direction != "backward":
            parts.append(("forward", "results"))
        if direction != "forward" and backward == "done":
            parts.append(("backward", "gradients"))
        if direction != "forward" and backward == "none":
            parts.append(("told", "no backward yet: there are no gradients to show"))
        return parts

    def _legend_parts(self, colour: Colour) -> list[tuple[float, str, str]]:
        """Width, kind and text of what lines and colours mean."""
        parts = self.meanings()
        made = [(width(text, SMALL) + (26.0 if kind in self.strokes else 0.0), kind, text) for kind, text in parts]
        if colour != "none":
            name = "gradient norm" if colour == "gradient" else colour
            if self.tints.scale is None:
                text = f"no {name} known"
                made.append((width(text, SMALL), "plain", text))
            else:
                low, high = (_written(colour, value) for value in self.tints.scale)
                made.append((width(f"{name} {low}{high}", SMALL) + 92, "ramp", f"{name} {low}\n{high}"))
        return made

    def _legend(self, top: float) -> None:
        x, y = 16.0, top + 20
        self.drawing.open("g", id="legend")
        for wide, kind, text in self.legend:
            if kind in self.strokes:
                stroke = self.strokes[kind]
                self.drawing.line([(x, y - 4), (x + 20, y - 4)], stroke.colour, max(stroke.width, 2), stroke.dash)
                self.drawing.text(x + 26, y, text, size=SMALL, colour=self.palette.quiet)
            elif kind == "ramp":
                self._ramp(x, y, *text.split("\n"))
            else:
                colour = self.palette.backward if kind == "told" else self.palette.quiet
                self.drawing.text(x, y, text, size=SMALL, colour=colour)
            x += wide + 16
        self.drawing.close("g")

    def _write_notes(self, y: float) -> None:
        for note in self.notes:
            y += _height(note)
            colour = self.palette.quiet if note.quiet else self.palette.ink
            family: dict[str, Any] = {
                "font_family": note.family,
                "xml:space": "preserve" if note.family == MONO else None,
            }
            self.drawing.text(16 + note.indent, y - note.size / 2, note.text, size=note.size, colour=colour, **family)

    def _ramp(self, x: float, y: float, low: str, high: str) -> None:
        """From the faintest to the strongest colour."""
        ink, first = getattr(self.palette, INKS[self.tints.colour]), x + width(low, SMALL) + 6
        self.drawing.open("linearGradient", id="ramp")
        for offset, opacity in (("0", 0.05), ("1", 0.45)):
            self.drawing.add("stop", offset=offset, stop_color=ink, stop_opacity=opacity)
        self.drawing.close("linearGradient")
        self.drawing.text(x, y, low, size=SMALL, colour=self.palette.quiet)
        self.drawing.add("rect", x=first, y=y - 9, width=80.0, height=10, fill="url(#ramp)", stroke=self.palette.line)
        self.drawing.text(first + 86, y, high, size=SMALL, colour=self.palette.quiet)


def _height(note: Note) -> float:
    return 1.5 * note.size + note.above


def _bent(points: list[Point], beside: float = 0.0) -> str:
    """The path of a piece of wire: straight within a rank, bent between two."""
    a, b, c, d = points
    if abs(b[0] - c[0]) < 0.6:
        return f"M{_at(a)}L{_at(d)}"
    middle = (b[1] + c[1]) / 2 - beside * (1 if c[0] > b[0] else -1)
    return f"M{_at(a)}L{_at(b)}C{_at((b[0], middle))} {_at((c[0], middle))} {_at(c)}L{_at(d)}"


def _at(point: Point) -> str:
    """A point of a path, to hundredths."""
    return " ".join(f"{number:.2f}".rstrip("0").rstrip(".") for number in point)


def _written(colour: Colour, value: float) -> str:
    """A number on the legend: three digits that count, in the largest unit of which there is one at least."""
    if colour not in _UNITS:
        return number(value)
    units = _UNITS[colour]
    size, unit = next((each for each in units if value >= each[0]), units[-1])
    return f"{float(f'{value / size:.3g}'):g} {unit}"
