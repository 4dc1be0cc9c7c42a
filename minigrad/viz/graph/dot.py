"""A folded graph in Graphviz' language (nested clusters, what boxes say, colours in six digits), and drawn by it.

All that a program named is quoted, and long names lose their middle: a box should be small, and older
programs have a limit to what a quoted text may hold.
"""

from __future__ import annotations

import math
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Literal

from ..palette import LIGHT, rgb
from .data import Graph, Node, Value
from .fold import Child, Total, Tree, norm, total, wires

Direction = Literal["forward", "backward", "both"]
Colour = Literal["none", "time", "bytes", "gradient"]
Format = Literal["svg", "png", "pdf"]
LONGEST = 40  # characters of a name
_JOINERS = "\u200c\u200d"  # within emoji and in many scripts
FORWARD, BACKWARD, LINE = "#35618f", "#9a4a1c", "#c9cbcd"
INK, QUIET, PAPER = LIGHT.ink, LIGHT.quiet, LIGHT.paper
TINTS = {"time": LIGHT.minus, "bytes": LIGHT.plus, "gradient": BACKWARD}
_LEAF = f', shape=ellipse, style=filled, height=0.25, margin="0.04,0.02", color="{LINE}"'
_LOOKS = {"folded": f', color="{INK}"', "repeat": f', color="{INK}", peripheries=2'}
_LOOKS |= dict.fromkeys(("parameter", "constant", "input"), _LEAF)
_MANY = 150  # boxes from which on the layout has to hurry
_HURRY = "nslimit=1, nslimit1=1, mclimit=0.1, splines=line, "
_DPI = 144  # of a PNG
_CODE = """
import sys, pygraphviz
graph = pygraphviz.AGraph(string=sys.stdin.buffer.read().decode())
sys.stdout.buffer.write(graph.draw(format=sys.argv[1], prog="dot"))
"""


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
    boxes = drawn(graph, tree, direction, colour)
    lines = [
        "digraph graph_ {",
        f"  graph [{_HURRY if len(boxes) > _MANY else ''}rankdir=TB, nodesep=0.25, ranksep=0.4, pad=0.2, "
        f'bgcolor="{PAPER}", fontname="Helvetica", fontsize=11, '
        f'tooltip="{text(shortened(graph.title))}"];',
        f'  node [shape=box, style="rounded,filled", height=0.4, margin="0.12,0.05", fontname="Helvetica", '
        f'fontsize=11, color="{QUIET}", fontcolor="{INK}", fillcolor="{PAPER}"];',
        "  edge [arrowsize=0.55, penwidth=0.9];",
    ]
    lines += _clusters(graph, tree, 0, boxes, "  ")
    lines += _edges(graph, tree, direction)
    return "\n".join([*lines, "}"]) + "\n"


def text(words: str) -> str:
    """A text within quotes of DOT: it means itself."""
    for before, after in (("&", "&amp;"), ("\\", "\\\\"), ('"', '\\"')):
        words = words.replace(before, after)
    return words


def shortened(words: str, longest: int = LONGEST) -> str:
    """In one line without control characters, and a long one without its middle."""
    shown = (c if c.isprintable() or c.isspace() or c in _JOINERS else "\ufffd" for c in words)
    words = " ".join("".join(shown).split())
    return words if len(words) <= longest else f"{words[: longest // 2]}…{words[1 - longest // 2 :]}"


# What boxes say --------------------------------------------------------------------------------------------


def drawn(graph: Graph, tree: Tree, direction: Direction, colour: Colour) -> list[Box]:
    """All visible boxes; leaves at the side of their op are boxes of their own here."""
    keys = [*tree.boxes(tree.opened)]
    keys += [("node", leaf) for leaf in tree.docks if tree.box_of(leaf, tree.opened) == ("node", leaf)]
    totals = [total(graph, [number] if kind == "node" else list(tree.nodes(number))) for kind, number in keys]
    measures = [_measure(each, direction, colour) for each in totals]
    known = [value for value in measures if value and math.isfinite(value)]
    scale = (min(known), max(known)) if known else (1.0, 1.0)
    boxes = []
    for (kind, number), each, value in zip(keys, totals, measures, strict=True):
        if kind == "node":
            node, group = graph.nodes[number], tree.group_of[number]
            lines, shape = (_name(graph, tree, node), _numbers(node, direction)), str(node.kind)
        else:
            group = tree.groups[number].parent or 0
            lines = (_title(graph, tree, number), _summary(each, direction))
            shape = "repeat" if tree.groups[number].kind == "repeat" else "folded"
        boxes.append(Box(key_of((kind, number)), shape, lines, _tint(value, scale, colour), group))
    return boxes


def _name(graph: Graph, tree: Tree, node: Node) -> str:
    op = graph.ops[node.op].name if node.kind == "op" else ""
    name = tree.names.get(node.id, node.name or op or node.kind)
    path = tree.groups[tree.group_of[node.id]].path
    if node.kind != "op":
        name = name.removeprefix(f"{path}.")
    return f"{shortened(name)}  {shortened(op) if name != op else ''}".rstrip()


def _title(graph: Graph, tree: Tree, number: int) -> str:
    group, label = tree.groups[number], label_of(graph, tree, number)
    module = graph.modules.get(group.path) if group.kind != "section" else None
    kind = shortened(module.kind) if module and module.kind != label else ""
    times = f" × {group.times}" if group.times else ""
    return f"{shortened(label)}{times}  {kind}".rstrip()


def label_of(graph: Graph, tree: Tree, number: int) -> str:
    """What a group is called: a section by what stands at its ends."""
    group = tree.groups[number]
    if group.kind != "section":
        return group.label or graph.title
    return " … ".join(shortened(_at_end(graph, tree, number, end), 16) for end in (0, -1))


def _at_end(graph: Graph, tree: Tree, section: int, end: Literal[0, -1]) -> str:
    """The name of the first or the last box that is seen in a section, or in one within it."""
    kind, number = tree.seen(tree.groups[section].children)[end]
    if kind == "node":
        node = graph.nodes[number]
        return tree.names.get(number, node.name or node.op)
    return tree.groups[number].label or _at_end(graph, tree, number, end)


def _summary(each: Total, direction: Direction) -> str:
    parts = [f"{each.nodes} nodes"]
    if direction != "backward" and each.parameters:
        parts.append(f"{each.parameters:,} parameters")
    if direction != "forward" and each.gradient is not None:
        parts.append(f"∇ {each.gradient:.4g}")
    return " · ".join(parts)


def _numbers(node: Node, direction: Direction) -> str:
    """The result's shape and the gradient's norm; of single numbers, these."""
    parts = []
    if direction != "backward" and node.value:
        one = _single(node.value)
        parts.append(f"{one:.4g}" if one is not None else " × ".join(map(str, node.value.shape)) or "scalar")
    if direction != "forward" and node.gradient:
        one = _single(node.gradient)
        size = norm(node.gradient) if one is None else one
        parts += [] if size is None else [f"∇ {size:.4g}"]
    return " · ".join(parts)


def _single(value: Value) -> float | None:
    table = value.table
    return table[0][0] if table is not None and len(table) == 1 and len(table[0]) == 1 else None


def _measure(each: Total, direction: Direction, colour: Colour) -> float | None:
    if colour == "time":
        back = None if direction == "forward" else each.backward_seconds
        return ((None if direction == "backward" else each.forward_seconds) or 0) + (back or 0)
    return {"bytes": float(each.bytes), "gradient": each.gradient}.get(colour)


def _tint(value: float | None, scale: tuple[float, float], colour: Colour) -> str:
    """White to not quite the colour's half, by the logarithm."""
    if not value or not math.isfinite(value) or colour == "none":
        return PAPER
    low, high = scale
    part = math.log(value / low) / math.log(high / low) if high > low and math.isfinite(high) else 1.0
    mixed = (round(255 - (255 - channel) * (0.05 + 0.4 * part)) for channel in rgb(TINTS[colour]))
    return "#" + "".join(f"{channel:02x}" for channel in mixed)


# Clusters and edges ----------------------------------------------------------------------------------------


def _clusters(graph: Graph, tree: Tree, number: int, boxes: list[Box], indent: str) -> Iterator[str]:
    for box in boxes:
        if box.group == number:
            label = "\\n".join(text(line) for line in box.lines if line)
            look = f'fillcolor="{box.fill}", tooltip="{label}"{_LOOKS.get(box.kind, "")}'
            yield f'{indent}{box.key} [id="{box.key}", label="{label}", {look}];'
    for kind, child in tree.groups[number].children:
        if kind == "group" and child in tree.opened:
            title = text(_title(graph, tree, child))
            yield f'{indent}subgraph "cluster_g{child}" {{'
            yield (
                f'{indent}  graph [id="g{child}", label="{title}", tooltip="{title}", labeljust=l, '
                f'style=rounded, color="{LINE}", fontcolor="{QUIET}"];'
            )
            yield from _clusters(graph, tree, child, boxes, f"{indent}  ")
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


def key_of(box: Child) -> str:
    """What a box is called in DOT, in SVG and in the page."""
    return f"{box[0][0]}{box[1]}"


# Graphviz: always in a child process, as a layout cannot be stopped from within, and some inputs have crashed it


class TooSlowError(TimeoutError):
    """The layout did not end within its time."""


def renderer() -> Literal["dot", "pygraphviz"] | None:
    """What draws: the program ``dot``, else pygraphviz, which brings Graphviz along, or nothing."""
    if shutil.which("dot"):
        return "dot"
    return "pygraphviz" if find_spec("pygraphviz") else None


def render(source: str, format: Format, seconds: float = 10.0) -> bytes:
    """A picture of some DOT. Raises TooSlowError: it took longer than ``seconds``; RuntimeError: nothing here can
    draw, or it failed."""
    program = renderer()
    if program is None:
        raise RuntimeError(
            f"nothing here draws {format.upper()}: pip install 'minigrad[viz]' brings Graphviz along (so "
            "does pip install pygraphviz), or install the program dot. SVG and HTML need neither"
        )
    if format == "png":
        source = source.replace("graph [", f"graph [dpi={_DPI}, ", 1)
    command = ["dot", f"-T{format}"] if program == "dot" else [sys.executable, "-P", "-c", _CODE, format]
    try:
        done = subprocess.run(command, input=source.encode(), capture_output=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired as late:
        raise TooSlowError(f"the layout took longer than {seconds:g} s") from late
    if done.returncode or not done.stdout:
        reason = done.stderr.decode(errors="replace").strip()[-500:] or f"it ended with {done.returncode}"
        raise RuntimeError(f"{program} could not draw: {reason}")
    return done.stdout
