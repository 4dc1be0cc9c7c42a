"""Folds a graph into labelled boxes. Modules are nested, repeated modules are drawn once, and the graph fits on one
screen. Consecutive ops of a module share a box, so a module that ran twice has two boxes. Each box covers an interval
of time, so the edges between folded boxes cannot form cycles."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from .graph_data import Edge, Graph, Node, Value, common, ways

BUDGET = 40  # boxes that fit on one screen
CLICKS = 3  # maximum clicks needed to reach a node; the last one selects it
DOCKED = 3
Child = tuple[Literal["group", "node"], int]  # and its index


@dataclass
class Group:
    """A box that contains others."""

    kind: Literal["module", "repeat", "section"]  # a module; similar modules; part of a group with too many boxes
    label: str  # its name inside the parent box, "" for a section
    path: str  # of the module, of a repeat's first module, or of the module around a section
    parent: int | None  # the enclosing group; None for the outermost
    children: list[Child] = field(default_factory=list)  # in the program's order
    times: int = 0  # for a repeat, the number of modules
    opens: list[int] = field(default_factory=list)  # inner groups that open together with it


@dataclass
class Tree:
    """All groups, and their relations to the nodes."""

    groups: list[Group]  # group 0 contains everything
    group_of: list[int]  # the group that directly contains each node
    opened: set[int] = field(default_factory=set)  # the groups that are initially open
    docks: dict[int, int] = field(default_factory=dict)  # leaves drawn next to their only reader, by leaf
    names: dict[int, str] = field(default_factory=dict)  # the module's name for the only op of a module

    def seen(self, children: Iterable[Child]) -> list[Child]:
        """The children that have their own boxes."""
        return [(kind, number) for kind, number in children if kind == "group" or number not in self.docks]

    def size(self, group: int) -> int:
        return len(self.seen(self.groups[group].children))

    def inner(self, group: int) -> list[int]:
        return [child for kind, child in self.groups[group].children if kind == "group"]

    def around(self, group: int | None) -> Iterator[int]:
        """A group and its enclosing groups, innermost first."""
        while group is not None:
            yield group
            group = self.groups[group].parent

    def nodes(self, group: int) -> Iterator[int]:
        for kind, number in self.groups[group].children:
            if kind == "node":
                yield number
            else:
                yield from self.nodes(number)

    def box_of(self, node: int, opened: set[int]) -> Child:
        """The box that shows a node: itself, or the outermost closed group around it."""
        closed = [group for group in self.around(self.group_of[node]) if group not in opened]
        return ("group", closed[-1]) if closed else ("node", node)

    def boxes(self, opened: set[int], group: int = 0, docked: bool = False) -> list[Child]:
        """The visible boxes of a group, in order: nodes and closed groups. ``docked`` includes leaves next to an op."""
        if group not in opened:
            return [("group", group)]
        children = self.groups[group].children
        return [
            box
            for kind, number in (children if docked else self.seen(children))
            for box in ([(kind, number)] if kind == "node" else self.boxes(opened, number, docked))
        ]


def tree(graph: Graph, repeats: bool = True, budget: int = BUDGET, depth: int | None = None) -> Tree:
    """The nested boxes of a graph. Opens groups down to ``depth``, or by default until ``budget`` boxes are visible."""
    tree = _by_time(graph)
    _place_leaves(graph, tree)
    _dissolve(tree)
    if repeats:
        _fold_repeats(graph, tree)
    _fold_sections(tree, budget)
    if depth is None:
        tree.opened = {0, *_fitting(tree, 0, budget, repeats=False)}
        while len(visible := tree.boxes(tree.opened)) == 1 and visible[0][0] == "group":  # a single box shows nothing
            tree.opened.add(visible[0][1])
    else:
        modules = {number for number, group in enumerate(tree.groups) if group.kind == "module"}
        tree.opened = {number for number in modules if len(modules.intersection(tree.around(number))) <= depth}
    # The groups that open together with each group: as few as needed to select every node in CLICKS clicks.
    for most in (12, 18, 26, BUDGET, 60, 90, 140, 200):
        for number, group in enumerate(tree.groups):
            group.opens = _fitting(tree, number, most, repeats=most > BUDGET)
        if all(clicks(tree, node) <= CLICKS for node in range(len(tree.group_of))):
            break
    return tree


def wires(graph: Graph, tree: Tree, opened: set[int]) -> dict[tuple[Child, Child], list[Edge]]:
    """The edges between visible boxes, by pair of boxes, in the order of the first edge of each pair."""
    box = [tree.box_of(node.id, opened) for node in graph.nodes]
    wires: dict[tuple[Child, Child], list[Edge]] = {}
    for edge in graph.edges:
        if box[edge.source] != box[edge.target]:
            wires.setdefault((box[edge.source], box[edge.target]), []).append(edge)
    return wires


def clicks(tree: Tree, node: int) -> int:
    """The number of clicks needed to select a node from the initial state."""
    opened, count = set(tree.opened), 1
    while (box := tree.box_of(node, opened))[0] == "group":
        opened |= {box[1], *tree.groups[box[1]].opens}
        count += 1
    return count


@dataclass(frozen=True)
class Total:
    """Totals of the nodes in a box."""

    nodes: int
    parameters: int  # the number of elements in all parameters
    forward_seconds: float | None  # None if nothing was timed
    backward_seconds: float | None
    bytes: int  # of the results
    saved_bytes: int  # of values saved for the backward pass
    gradient: float | None  # the joint norm of its parameters' gradients


def total(graph: Graph, nodes: list[int]) -> Total:
    """The totals over some nodes. For a single node, ``gradient`` is the norm of that node's gradient."""
    members = [graph.nodes[number] for number in nodes]
    weights = [node for node in members if node.kind == "parameter"]
    forward = [node.forward_seconds for node in members if node.forward_seconds is not None]
    backward = [node.backward_seconds for node in members if node.backward_seconds is not None]
    norms = [norm(node.gradient) for node in (members if len(members) == 1 else weights)]
    finite_norms = [value for value in norms if value is not None]
    return Total(
        len(members),
        sum(math.prod(node.value.shape) for node in weights if node.value),
        math.fsum(forward) if forward else None,
        math.fsum(backward) if backward else None,
        sum(node.value.bytes for node in members if node.value),
        sum(saved.bytes for node in members for saved in node.saved),
        math.hypot(*finite_norms) if finite_norms else None,
    )


def norm(value: Value | None) -> float | None:
    """The Euclidean norm of a value, None if unknown."""
    if value is None or value.table is None:
        return None if value is None else (value.statistics or {}).get("norm")
    return math.hypot(*(number for row in value.table for number in row))


def _by_time(graph: Graph) -> Tree:
    """Group ops in order of creation: each call of a module becomes a group inside the group of its parent module."""
    tree = Tree([Group("module", graph.title, "", None)], [0] * len(graph.nodes))
    stack = [("", 0)]  # the open modules, and their groups
    for node in graph.nodes:
        if node.kind != "op":
            continue
        chain = ["", *(way for way in ways(node.module) if way in graph.modules or way == node.module)]
        same = len(common([chain, [path for path, _ in stack]]))
        del stack[same:]
        for path in chain[same:]:
            around, parent = stack[-1]
            stack.append((path, len(tree.groups)))
            tree.groups[parent].children.append(("group", len(tree.groups)))
            tree.groups.append(Group("module", path[len(around) :].lstrip("."), path, parent))
        tree.groups[stack[-1][1]].children.append(("node", node.id))
        tree.group_of[node.id] = stack[-1][1]
    return tree


def _place_leaves(graph: Graph, tree: Tree) -> None:
    """Put each leaf into the innermost group with all its readers, and next to its reader if there is only one."""
    readers: list[list[int]] = [[] for _ in graph.nodes]  # the readers of each node, one per edge
    for edge in graph.edges:
        readers[edge.source].append(edge.target)
    before: dict[Child | None, list[Child]] = {}
    docked: Counter[int] = Counter()
    for node in graph.nodes:
        if node.kind == "op":
            continue
        reading = readers[node.id]
        groups = common(list(tree.around(tree.group_of[reader]))[::-1] for reader in reading)
        tree.group_of[node.id] = groups[-1] if groups else 0
        first = tree.box_of(min(reading), {*groups}) if reading else None
        before.setdefault(first, []).append(("node", node.id))
        if node.kind != "input" and len(reading) == 1 and docked[reading[0]] < DOCKED:
            tree.docks[node.id] = reading[0]
            docked[reading[0]] += 1
    for group in tree.groups:
        group.children = [each for child in group.children for each in (*before.get(child, ()), child)]
    tree.groups[0].children[:0] = before.get(None, [])[::-1]


def _dissolve(tree: Tree) -> None:
    """Replace a module that contains a single op with that op, and label the op with the module's name."""
    for number in range(len(tree.groups) - 1, 0, -1):
        group = tree.groups[number]
        visible = tree.seen(group.children)
        if len(visible) != 1 or visible[0][0] == "group" or group.parent is None:
            continue
        around = tree.groups[group.parent]
        place = around.children.index(("group", number))
        around.children[place : place + 1] = group.children
        for _, child in group.children:
            tree.group_of[child] = group.parent
        tree.names[visible[0][1]] = group.label
        group.children = []


def _fold_repeats(graph: Graph, tree: Tree) -> None:
    """Fold adjacent modules of the same structure into one box: their parent's if it has no other op, or a new one."""

    def alike(*children: Child) -> bool:
        """Whether two children are numbered modules with the same structure, such as "layers.0" and "layers.1"."""
        paths = {tree.groups[number].path for kind, number in children if kind == "group"}
        modules = [graph.modules[path] for path in paths if path in graph.modules and graph.modules[path].alike]
        return len(modules) == 2 and len({(m.alike, re.sub(r"\d+", "0", m.path)) for m in modules}) == 1

    for parent, group in enumerate(tree.groups[:]):
        runs: list[list[Child]] = []
        for child in group.children:
            if runs and alike(runs[-1][-1], child):
                runs[-1].append(child)
            else:
                runs.append([child])
        computing = [run for run in runs if run[0][0] == "group" or graph.nodes[run[0][1]].kind == "op"]
        if parent and len(computing) == 1 and len(computing[0]) > 1:
            group.kind, group.times = "repeat", len(computing[0])
            group.path = tree.groups[computing[0][0][1]].path
        else:
            _adopt(tree, parent, runs, "repeat")


def _fold_sections(tree: Tree, budget: int) -> None:
    """Divide groups with too many boxes into sections of equal length."""
    most = max(budget, 2)
    for parent in range(len(tree.groups)):
        while (count := tree.size(parent)) > most:
            sections = -(-count // min(most, math.isqrt(count - 1) + 1))
            runs: list[list[Child]] = [[] for _ in range(sections)]
            place = 0  # counts visible boxes, as leaves next to an op precede it
            for child in tree.groups[parent].children:
                runs[place * sections // count].append(child)
                place += bool(tree.seen([child]))
            _adopt(tree, parent, runs, "section")


def _adopt(tree: Tree, parent: int, runs: list[list[Child]], kind: Literal["repeat", "section"]) -> None:
    """Move each run with several visible children into a new group."""
    children: list[Child] = []
    for run in runs:
        if len(tree.seen(run)) < 2:
            children += run
            continue
        number, group = len(tree.groups), Group(kind, "", tree.groups[parent].path, parent, run)
        if kind == "repeat":
            first, last = (tree.groups[child] for _, child in (run[0], run[-1]))
            group.label, group.path, group.times = f"{first.label} … {last.label}", first.path, len(run)
        tree.groups.append(group)
        for what, child in run:
            if what == "group":
                tree.groups[child].parent = number
            else:
                tree.group_of[child] = number
        children.append(("group", number))
    tree.groups[parent].children = children


def _fitting(tree: Tree, group: int, budget: int, repeats: bool) -> list[int]:
    """The groups in an open group that the budget allows to open too, level by level; ``repeats`` allows repeats."""
    count, fitting, level = tree.size(group), list[int](), tree.inner(group)
    while level:
        can = [inner for inner in level if tree.groups[inner].kind == "module" or repeats]
        whole = count + sum(tree.size(inner) - 1 for inner in can) <= budget
        if not whole and tree.groups[group].kind == "repeat":
            break
        for inner in can if whole else sorted(can, key=tree.size):
            if count + tree.size(inner) - 1 <= budget:
                count += tree.size(inner) - 1
                fitting.append(inner)
        level = [deeper for inner in can for deeper in tree.inner(inner)] if whole else []
    return fitting


Direction = Literal["forward", "backward", "both"]
Look = Literal["text", "name", "kind", "times"]
DIRECTIONS: tuple[Direction, ...] = ("forward", "backward", "both")
LONGEST, BESIDE = 40, 24  # maximum characters of a name, and of a leaf next to an op; the panel shows all
SEPARATOR = " · "
_JOINERS = "\u200c\u200d"  # used in emoji and in many scripts
_PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))


@dataclass(frozen=True)
class Label:
    """The text in a box."""

    line: tuple[tuple[str, Look], ...]  # the parts of its first line
    below: tuple[str, str, str]  # the second line, for each of DIRECTIONS; "" for none
    docks: tuple[tuple[int, str], ...] = ()  # the leaves next to it: node and text


def labels(graph: Graph, tree: Tree) -> dict[str, Label]:
    """The labels of all nodes and groups, by their keys."""
    docks: dict[int, tuple[tuple[int, str], ...]] = {}
    for leaf, op in tree.docks.items():
        value, name = graph.nodes[leaf].value, shortened(name_of(graph, tree, graph.nodes[leaf]), BESIDE)
        text = f"{name} = {one}" if value and (one := _single(value)) else name
        docks[op] = (*docks.get(op, ()), (leaf, text))
    nodes = {key_of(("node", node.id)): _node(graph, tree, node, docks.get(node.id, ())) for node in graph.nodes}
    totals = (total(graph, list(tree.nodes(number))) for number in range(len(tree.groups)))
    return nodes | {key_of(("group", i)): _group(graph, tree, i, each) for i, each in enumerate(totals)}


def key_of(box: Child) -> str:
    """The id of a box in DOT, in SVG and on the page."""
    return f"{box[0][0]}{box[1]}"


def shortened(words: str, longest: int = LONGEST) -> str:
    """Put text on one line, replace control characters, and truncate it in the middle if it is long."""
    printable = (c if c.isprintable() or c.isspace() or c in _JOINERS else "\ufffd" for c in words)
    words = " ".join("".join(printable).split())
    return words if len(words) <= longest else f"{words[: longest // 2]}…{words[1 - longest // 2 :]}"


def _node(graph: Graph, tree: Tree, node: Node, docks: tuple[tuple[int, str], ...]) -> Label:
    op = graph.ops[node.op].name if node.kind == "op" else ""
    line: list[tuple[str, Look]] = [(name_of(graph, tree, node), "text")]
    if node.id in tree.names:
        module = graph.modules.get(node.module)
        kind = module.kind if module and module.kind else node.name or op
        line = [(shortened(tree.names[node.id]), "name"), (shortened(kind), "kind")]
    elif op and node.name not in ("", op):
        line.append((shortened(op), "kind"))
    return Label(tuple(line), _by_direction("", shown(node.value), shown(node.gradient, "∇")), docks)


def name_of(graph: Graph, tree: Tree, node: Node) -> str:
    """A node's name without the path of its group."""
    reader = tree.docks.get(node.id)
    path = graph.nodes[reader].module if reader in tree.names else tree.groups[tree.group_of[node.id]].path
    return shortened((node.name.removeprefix(f"{path}.") if path else node.name) or node.op or node.kind)


def shown(value: Value | None, sign: str = "") -> str:
    """The text for a value: a single number, or else the norm of a gradient (with a ``sign``), or the shape."""
    if value is None:
        return ""
    if (text := _single(value)) is not None:
        return f"{sign} {text}".strip()
    if not sign:
        return str(value.shape)
    size = norm(value)
    return "" if size is None else f"‖{sign}‖ {number(size)}"


def _single(value: Value) -> str | None:
    """The number in a scalar, or in a one-element array with its brackets; None for other values."""
    if len(value.shape) > 2 or value.table is None or [len(row) for row in value.table] != [1]:
        return None
    return "[" * len(value.shape) + number(value.table[0][0]) + "]" * len(value.shape)


def _group(graph: Graph, tree: Tree, place: int, each: Total) -> Label:
    """A group's label: its name, the number and class of its modules, and the totals to show when it is closed."""
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
    """A group's name. A section is named after its first and last boxes."""

    def at_end(section: int, end: Literal[0, -1]) -> str:
        kind, inner = tree.seen(tree.groups[section].children)[end]
        if kind == "node":
            return tree.names.get(inner, graph.nodes[inner].name or graph.nodes[inner].op)
        return tree.groups[inner].label or at_end(inner, end)

    if tree.groups[number].kind != "section":
        return tree.groups[number].label or graph.title
    return f"{shortened(at_end(number, 0), 16)} … {shortened(at_end(number, -1), 16)}"


def _by_direction(*parts: str) -> tuple[str, str, str]:
    """The second line for each of DIRECTIONS. ``parts`` are shown always, in forward, and in backward."""
    a, b, c = (SEPARATOR.join(filter(None, some)) for some in (parts[:2], parts[::2], parts))
    return a, b, c


def number(value: float) -> str:
    """Format a number with 4 significant digits and a typographic minus sign (as in assets/base.js)."""
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
    """Format an amount with three significant digits, such as "166 k", or "1.5 ms" with a unit."""
    size, prefix = next((each for each in _PREFIXES if amount >= each[0]), _PREFIXES[-1])
    return f"{float(f'{amount / size:.3g}'):g} {prefix}{unit}".rstrip()
