"""A folded graph in Graphviz' language: nested clusters, what boxes say, colours in six digits.

All that a program named is quoted, and long names lose their middle: a box should be small, and older
programs have a limit to what a quoted text may hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..palette import LIGHT, rgb
from .data import Graph
from .fold import Tree, wires
from .labels import Direction, Label, key_of, labels, shortened
from .tints import INKS, Colour, Tints

FORWARD, BACKWARD, LINE = LIGHT.forward, LIGHT.backward, "#c9cbcd"
INK, QUIET, PAPER = LIGHT.ink, LIGHT.quiet, LIGHT.paper
_LEAF = f', shape=ellipse, style=filled, height=0.25, margin="0.04,0.02", color="{LINE}"'
_LOOKS = {"folded": f', color="{INK}"', "repeat": f', color="{INK}", peripheries=2'}
_LOOKS |= dict.fromkeys(("parameter", "constant", "input"), _LEAF)
_MANY = 150  # boxes from which on the layout has to hurry
_HURRY = "nslimit=1, nslimit1=1, mclimit=0.1, splines=line, "


@dataclass(frozen=True)
class Box:
    """What a visible box looks like: two lines of text, and the colour that fills it."""

    key: str
    kind: str
    lines: tuple[str, str]
    fill: str
    group: int


def source(graph: Graph, tree: Tree, direction: Direction = "both", colour: Colour = "none") -> str:
    """DOT of what is open in a tree. Ids are "n3" of nodes and "g4" of groups, also in the SVG made of it."""
    said = labels(graph, tree)
    boxes = _drawn(graph, tree, said, direction, colour)
    lines = [
        "digraph graph_ {",
        f"  graph [{_HURRY if len(boxes) > _MANY else ''}rankdir=TB, nodesep=0.25, ranksep=0.4, pad=0.2, "
        f'bgcolor="{PAPER}", fontname="Helvetica", fontsize=11, '
        f'tooltip="{text(shortened(graph.title))}"];',
        f'  node [shape=box, style="rounded,filled", height=0.4, margin="0.12,0.05", fontname="Helvetica", '
        f'fontsize=11, color="{QUIET}", fontcolor="{INK}", fillcolor="{PAPER}"];',
        "  edge [arrowsize=0.55, penwidth=0.9];",
    ]
    lines += _clusters(tree, said, 0, boxes, "  ")
    lines += _edges(graph, tree, direction)
    return "\n".join([*lines, "}"]) + "\n"


def text(words: str) -> str:
    """A text within quotes of DOT: it means itself."""
    for before, after in (("&", "&amp;"), ("\\", "\\\\"), ('"', '\\"')):
        words = words.replace(before, after)
    return words


# Boxes ------------------------------------------------------------------------------------------------------


def _drawn(graph: Graph, tree: Tree, said: dict[str, Label], direction: Direction, colour: Colour) -> list[Box]:
    """All visible boxes; leaves at the side of their op are boxes of their own here."""
    keys = [*tree.boxes(tree.opened)]
    keys += [("node", leaf) for leaf in tree.docks if tree.box_of(leaf, tree.opened) == ("node", leaf)]
    tints = Tints(graph, tree, keys, direction, colour)
    boxes = []
    for box in keys:
        (kind, number), label = box, said[key_of(box)]
        if kind == "node":
            look, group = str(graph.nodes[number].kind), tree.group_of[number]
        else:
            look = "repeat" if tree.groups[number].kind == "repeat" else "folded"
            group = tree.groups[number].parent or 0
        lines = (label.text, label.said(direction))
        boxes.append(Box(key_of(box), look, lines, _fill(tints.opacity(box), colour), group))
    return boxes


def _fill(opacity: float | None, colour: Colour) -> str:
    """A colour on white paper, in six digits."""
    if opacity is None:
        return PAPER
    mixed = (round(255 - (255 - channel) * opacity) for channel in rgb(getattr(LIGHT, INKS[colour])))
    return "#" + "".join(f"{channel:02x}" for channel in mixed)


# Clusters and edges ----------------------------------------------------------------------------------------


def _clusters(tree: Tree, said: dict[str, Label], number: int, boxes: list[Box], indent: str) -> Iterator[str]:
    for box in boxes:
        if box.group == number:
            label = "\\n".join(text(line) for line in box.lines if line)
            look = f'fillcolor="{box.fill}", tooltip="{label}"{_LOOKS.get(box.kind, "")}'
            yield f'{indent}{box.key} [id="{box.key}", label="{label}", {look}];'
    for kind, child in tree.groups[number].children:
        if kind == "group" and child in tree.opened:
            title = text(said[f"g{child}"].text)
            yield f'{indent}subgraph "cluster_g{child}" {{'
            yield (
                f'{indent}  graph [id="g{child}", label="{title}", tooltip="{title}", labeljust=l, '
                f'style=rounded, color="{LINE}", fontcolor="{QUIET}"];'
            )
            yield from _clusters(tree, said, child, boxes, f"{indent}  ")
            yield f"{indent}}}"


def _edges(graph: Graph, tree: Tree, direction: Direction) -> Iterator[str]:
    """Gradients are edges drawn back, so that both directions have the same ranks."""
    for (source, target), edges in wires(graph, tree, tree.opened).items():
        ends = f"  {key_of(source)} -> {key_of(target)}"
        weight = 4 if any(graph.nodes[edge.source].kind == "op" for edge in edges) else 1  # chains of ops are straight
        if direction != "backward":
            yield f'{ends} [color="{FORWARD}", weight={weight}];'
        if direction != "forward" and any(edge.gradient for edge in edges):
            free = ", constraint=false" if direction == "both" else ""
            yield f'{ends} [color="{BACKWARD}", dir=back{free}];'
        elif direction == "backward":
            yield f'{ends} [color="{LINE}", arrowhead=none];'
