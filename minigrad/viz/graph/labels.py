"""What the boxes of a graph say: the same in the page and in the picture."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from .fold import Child, Total, Tree, norm, total
from .graph_data import Graph, Node, Value

Direction = Literal["forward", "backward", "both"]
Look = Literal["text", "name", "kind", "times"]
DIRECTIONS: tuple[Direction, ...] = ("forward", "backward", "both")
LONGEST, BESIDE = 40, 24  # characters of a name, and of a leaf's at the side of an op; the panel has all of it
SEPARATOR = " · "
_JOINERS = "\u200c\u200d"  # within emoji and in many scripts
_PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))


@dataclass(frozen=True)
class Label:
    """What a box says."""

    line: tuple[tuple[str, Look], ...]  # its first line, in parts
    below: tuple[str, str, str]  # the second one, for each of DIRECTIONS; "" for none
    docks: tuple[tuple[int, str], ...] = ()  # the leaves at its side: node, and what it says


def labels(graph: Graph, tree: Tree) -> dict[str, Label]:
    """Of all nodes and groups, by their keys."""
    docks: dict[int, list[int]] = {}
    for leaf, op in tree.docks.items():
        docks.setdefault(op, []).append(leaf)
    nodes = {key_of(("node", node.id)): _node(graph, tree, node, docks.get(node.id, [])) for node in graph.nodes}
    totals = (total(graph, list(tree.nodes(number))) for number in range(len(tree.groups)))
    return nodes | {key_of(("group", i)): _group(graph, tree, i, each) for i, each in enumerate(totals)}


def key_of(box: Child) -> str:
    """What a box is called in DOT, in SVG and in the page."""
    return f"{box[0][0]}{box[1]}"


def shortened(words: str, longest: int = LONGEST) -> str:
    """In one line without control characters, and a long one without its middle."""
    shown = (c if c.isprintable() or c.isspace() or c in _JOINERS else "\ufffd" for c in words)
    words = " ".join("".join(shown).split())
    return words if len(words) <= longest else f"{words[: longest // 2]}…{words[1 - longest // 2 :]}"


def _node(graph: Graph, tree: Tree, node: Node, leaves: Iterable[int]) -> Label:
    docks = []
    for leaf in (graph.nodes[number] for number in leaves):
        name, one = shortened(name_of(graph, tree, leaf), BESIDE), leaf.value and _single(leaf.value)
        docks.append((leaf.id, f"{name} = {one}" if one else name))
    said = _by_direction("", shown(node.value), shown(node.gradient, "∇"))
    return Label(_line(graph, tree, node), said, tuple(docks))


def _line(graph: Graph, tree: Tree, node: Node) -> tuple[tuple[str, Look], ...]:
    op = graph.ops[node.op].name if node.kind == "op" else ""
    if node.id in tree.names:
        module = graph.modules.get(node.module)
        kind = module.kind if module and module.kind else node.name or op
        return (shortened(tree.names[node.id]), "name"), (shortened(kind), "kind")
    name: tuple[str, Look] = (name_of(graph, tree, node), "text")
    return (name, (shortened(op), "kind")) if op and node.name not in ("", op) else (name,)


def name_of(graph: Graph, tree: Tree, node: Node) -> str:
    """A node's name without the path of the group around it."""
    reader = tree.docks.get(node.id)
    path = graph.nodes[reader].module if reader in tree.names else tree.groups[tree.group_of[node.id]].path
    return shortened((node.name.removeprefix(f"{path}.") if path else node.name) or node.op or node.kind)


def shown(value: Value | None, sign: str = "") -> str:
    """A single number as a value, of more numbers the shape; of a gradient (``sign``) their norm."""
    if value is None:
        return ""
    if (text := _single(value)) is not None:
        return f"{sign} {text}".strip()
    if not sign:
        return str(value.shape)
    size = norm(value)
    return "" if size is None else f"‖{sign}‖ {number(size)}"


def _single(value: Value) -> str | None:
    """The number of a scalar, and with the brackets of its axes that of an array of one; None of others."""
    if len(value.shape) > 2 or value.table is None or [len(row) for row in value.table] != [1]:
        return None
    return "[" * len(value.shape) + number(value.table[0][0]) + "]" * len(value.shape)


def _group(graph: Graph, tree: Tree, place: int, each: Total) -> Label:
    """A group's name, how many modules it stands for, and their class; what it holds when it is closed."""
    group, label = tree.groups[place], label_of(graph, tree, place)
    module = graph.modules.get(group.path) if group.kind != "section" else None
    parts: list[tuple[str, Look]] = [(shortened(label), "name")]
    if group.times:
        parts.append((f" × {group.times}", "times"))
    if module and module.kind and module.kind != label:
        parts.append((shortened(module.kind), "kind"))
    nodes = f"{each.nodes:,} node{'s' * (each.nodes != 1)}"
    parameters = f"{count(each.parameters)} parameter{'s' * (each.parameters != 1)}" if each.parameters else ""
    gradient = "" if each.gradient is None else f"‖∇‖ {number(each.gradient)}"
    return Label(tuple(parts), _by_direction(nodes, parameters, gradient))


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


def _by_direction(always: str, forward: str, backward: str) -> tuple[str, str, str]:
    """The second line in each of DIRECTIONS."""
    ways = ((always, forward), (always, backward), (always, forward, backward))
    a, b, c = (SEPARATOR.join(filter(None, parts)) for parts in ways)
    return a, b, c


def number(value: float) -> str:
    """A number as people read it: 4 digits that count, and a minus as it is printed. (As in assets/base.js.)"""
    if not math.isfinite(value):
        return "NaN" if value != value else "Infinity" if value > 0 else "−Infinity"
    size = abs(value)
    if value == int(value) and size < 1e6:
        text = str(int(value))
    elif size < 1e-3 or size >= 1e6:
        mantissa, exponent = f"{value:.2e}".split("e")
        text = f"{mantissa}e{int(exponent):+d}"
    else:
        text = f"{float(f'{value:.4g}'):.10g}"
    return text.replace("-", "−")


def count(amount: float, unit: str = "") -> str:
    """Three digits that count: "166 k"; with a unit "1.5 ms"."""
    size, prefix = next((each for each in _PREFIXES if amount >= each[0]), _PREFIXES[-1])
    return f"{float(f'{amount / size:.3g}'):g} {prefix}{unit}".rstrip()
