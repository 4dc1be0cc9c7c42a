"""Which boxes of a graph are drawn: modules nest, repeats are told once, a screen holds what is open.

The program's order makes the boxes. Ops of the same module that ran one after the other are one box, so that
a module which ran twice has two; a box is an interval of time, and folded boxes never wait for each other.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from .data import Graph, Value

BUDGET = 40  # boxes that one screen shows
CLICKS = 3  # the last of them selects the node
DOCKED = 3
_BUDGETS = (12, 18, 26, BUDGET, 60, 90, 140, 200)  # of what opens with a click: the least that will do
Child = tuple[Literal["group", "node"], int]  # and its number


@dataclass
class Group:
    """A box that holds others.

    Attributes:
        kind: "module"; "repeat", of modules with the same structure; "section", of what were too many.
        label: what it is called within the box around it, "" for a section. path: of the module, of the first
            of them, or of the one around a section.
        parent: the group around it, None of the outermost. children: in the program's order.
        times: of a repeat: how many modules it stands for.
        opens: groups inside that open with it, as there is room.
    """

    kind: Literal["module", "repeat", "section"]
    label: str
    path: str
    parent: int | None
    children: list[Child] = field(default_factory=list)
    times: int = 0
    opens: list[int] = field(default_factory=list)


@dataclass
class Tree:
    """All groups and how they stand to the nodes.

    Attributes:
        groups: number 0 holds everything. group_of: the group that each node is directly in.
        opened: the groups that are open at first.
        docks: leaves that stand at the side of the one op that reads them, and these ops: of the same group.
        names: of ops that are all there is in a module, which is then no box: the module's name.
    """

    groups: list[Group]
    group_of: list[int]
    opened: set[int] = field(default_factory=set)
    docks: dict[int, int] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)

    def seen(self, children: Iterable[Child]) -> list[Child]:
        """Those that are boxes of their own."""
        return [(kind, number) for kind, number in children if kind == "group" or number not in self.docks]

    def size(self, group: int) -> int:
        """How many boxes are seen when it is open."""
        return len(self.seen(self.groups[group].children))

    def around(self, group: int | None) -> Iterator[int]:
        """A group and those around it, from the inside."""
        while group is not None:
            yield group
            group = self.groups[group].parent

    def nodes(self, group: int) -> Iterator[int]:
        """All nodes inside, in the program's order."""
        todo = deque(self.groups[group].children)
        while todo:
            kind, number = todo.popleft()
            if kind == "node":
                yield number
            else:
                todo.extendleft(reversed(self.groups[number].children))

    def box_of(self, node: int, opened: set[int]) -> Child:
        """The box that shows a node: itself, or the outermost closed group around it."""
        box: Child = ("node", node)
        for group in self.around(self.group_of[node]):
            if group not in opened:
                box = ("group", group)
        return box

    def boxes(self, opened: set[int]) -> list[Child]:
        """What is visible: nodes and closed groups, in the program's order."""
        seen: list[Child] = []
        todo: deque[Child] = deque([("group", 0)])
        while todo:
            kind, number = todo.popleft()
            if kind == "group" and number in opened:
                todo.extendleft(reversed(self.groups[number].children))
            elif kind == "group" or number not in self.docks:
                seen.append((kind, number))
        return seen


@dataclass
class Wire:
    """Edges between the same two boxes, as one. ``edges``: their places in Graph.edges."""

    source: Child
    target: Child
    edges: list[int]


def tree(graph: Graph, repeats: bool = True, budget: int = BUDGET, depth: int | None = None) -> Tree:
    """The nested boxes of a graph, and which of them are open.

    Args:
        repeats: whether consecutive modules of the same structure are one box.
        budget: how many boxes are visible at first, if folding can achieve it.
        depth: open all modules nested less than this deep instead; 0 is one box. Repeats stay closed.
    """
    made = _by_time(graph)
    _place_leaves(graph, made)
    _dock(graph, made)
    _dissolve(made)
    if repeats:
        _fold_repeats(graph, made)
    _fold_sections(made, budget)
    if depth is None:
        made.opened = {0, *_fitting(made, 0, budget, repeats=False)}
        while len(seen := made.boxes(made.opened)) == 1 and seen[0][0] == "group":  # one box tells nothing
            made.opened.add(seen[0][1])
    else:
        made.opened = {
            number
            for number, group in enumerate(made.groups)
            if group.kind == "module" and _depth(made, number) < depth
        }
    _choose_opens(made)
    return made


def wires(graph: Graph, made: Tree, opened: set[int]) -> list[Wire]:
    """The edges between what is visible, those of two boxes as one, in the order of their first edge."""
    box = [made.box_of(node.id, opened) for node in graph.nodes]
    found: dict[tuple[Child, Child], Wire] = {}
    for number, edge in enumerate(graph.edges):
        pair = box[edge.source], box[edge.target]
        if pair[0] != pair[1]:
            found.setdefault(pair, Wire(*pair, [])).edges.append(number)
    return list(found.values())


def clicks(made: Tree, node: int) -> int:
    """How often one must click, from what is open at first, until a node is selected."""
    opened, count = set(made.opened), 1
    while (box := made.box_of(node, opened))[0] == "group":
        opened |= {box[1], *made.groups[box[1]].opens}
        count += 1
    return count


@dataclass(frozen=True)
class Total:
    """What a box stands for: how many nodes and numbers in parameters; seconds where any were timed; bytes of
    the results, and of what is kept for the backward pass; the norm of its parameters' gradients, as one."""

    nodes: int
    parameters: int
    forward_seconds: float | None
    backward_seconds: float | None
    bytes: int
    saved_bytes: int
    gradient: float | None


def total(graph: Graph, nodes: list[int]) -> Total:
    """The sum over some nodes; of one node, its gradient's norm is that of what arrives at it."""
    chosen = [graph.nodes[number] for number in nodes]
    weights = [node for node in chosen if node.kind == "parameter"]
    norms = [norm(node.gradient) for node in (chosen if len(chosen) == 1 else weights)]
    known = [value for value in norms if value is not None]
    return Total(
        nodes=len(chosen),
        parameters=sum(math.prod(node.value.shape) for node in weights if node.value),
        forward_seconds=_sum(node.forward_seconds for node in chosen),
        backward_seconds=_sum(node.backward_seconds for node in chosen),
        bytes=sum(node.value.bytes for node in chosen if node.value),
        saved_bytes=sum(saved.bytes for node in chosen for saved in node.saved),
        gradient=math.hypot(*known) if known else None,
    )


def norm(value: Value | None) -> float | None:
    """The Euclidean norm of a value, None where it is not known."""
    if value is None:
        return None
    if value.table is not None:
        return math.hypot(*(number for row in value.table for number in row))
    return (value.statistics or {}).get("norm")


# How the groups come about ---------------------------------------------------------------------------------


def _by_time(graph: Graph) -> Tree:
    """Ops in order of creation, each run of the same module a group in that of the module around it."""
    made = Tree([Group("module", graph.title, "", None)], [0] * len(graph.nodes))
    stack = [("", 0)]  # the modules that are open, and their groups
    for node in graph.nodes:
        if node.kind != "op":
            continue
        chain = ["", *_modules(graph, node.module)]
        same = 0
        while same < min(len(chain), len(stack)) and chain[same] == stack[same][0]:
            same += 1
        del stack[same:]
        for path in chain[same:]:
            around, parent = stack[-1]
            stack.append((path, len(made.groups)))
            made.groups[parent].children.append(("group", len(made.groups)))
            made.groups.append(Group("module", path[len(around) :].lstrip("."), path, parent))
        made.groups[stack[-1][1]].children.append(("node", node.id))
        made.group_of[node.id] = stack[-1][1]
    return made


def _modules(graph: Graph, path: str) -> list[str]:
    """The known modules on the way to one, from the outside: "a.b.c" has "a", "a.b" and "a.b.c"."""
    parts = path.split(".") if path else []
    ways = [".".join(parts[: i + 1]) for i in range(len(parts))]
    return [way for way in ways if way in graph.modules or way == path]


def _readers(graph: Graph) -> list[list[int]]:
    """The nodes that read each node, one for each edge."""
    found: list[list[int]] = [[] for _ in graph.nodes]
    for edge in graph.edges:
        found[edge.source].append(edge.target)
    return found


def _place_leaves(graph: Graph, made: Tree) -> None:
    """Tensors that no op made: in the innermost group with all their readers, before the first of them."""
    readers = _readers(graph)
    before: dict[Child, list[int]] = {}
    for node in graph.nodes:
        if node.kind == "op":
            continue
        ways = [list(made.around(made.group_of[reader]))[::-1] for reader in readers[node.id]]
        common = 0
        while ways and all(len(way) > common and way[common] == ways[0][common] for way in ways):
            common += 1
        home = ways[0][common - 1] if ways else 0
        made.group_of[node.id] = home
        if not ways:
            made.groups[home].children.insert(0, ("node", node.id))
            continue
        first: Child = ("node", min(readers[node.id]))
        for group in made.around(made.group_of[first[1]]):
            if group == home:
                break
            first = ("group", group)
        before.setdefault(first, []).append(node.id)
    for each_group in made.groups:
        each_group.children = [
            each
            for child in each_group.children
            for each in (*(("node", leaf) for leaf in before.get(child, ())), child)
        ]


def _dock(graph: Graph, made: Tree) -> None:
    """Leaves that a single op of their group reads stand at its side: no more than DOCKED of them."""
    readers = _readers(graph)
    count: dict[int, int] = {}
    for node in graph.nodes:
        if node.kind not in ("parameter", "constant") or len(readers[node.id]) != 1:
            continue
        op = readers[node.id][0]
        if made.group_of[op] == made.group_of[node.id] and count.get(op, 0) < DOCKED:
            made.docks[node.id] = op
            count[op] = count.get(op, 0) + 1


def _dissolve(made: Tree) -> None:
    """A module that is one op is drawn as this op, under its own name."""
    for number in range(len(made.groups) - 1, 0, -1):
        group = made.groups[number]
        seen = made.seen(group.children)
        if len(seen) != 1 or seen[0][0] == "group" or group.parent is None:
            continue
        around = made.groups[group.parent]
        place = around.children.index(("group", number))
        around.children[place : place + 1] = group.children
        for _, child in group.children:
            made.group_of[child] = group.parent
        made.names[seen[0][1]] = group.label
        group.children = []


def _fold_repeats(graph: Graph, made: Tree) -> None:
    """Make neighbours of the same structure one box: the one around them, where it holds no other op."""
    for parent, group in enumerate(made.groups[:]):
        runs: list[list[Child]] = []
        for child in group.children:
            if runs and _alike(graph, made, runs[-1][-1], child):
                runs[-1].append(child)
            else:
                runs.append([child])
        computing = [run for run in runs if run[0][0] == "group" or graph.nodes[run[0][1]].kind == "op"]
        if parent and len(computing) == 1 and len(computing[0]) > 1:
            group.kind, group.times = "repeat", len(computing[0])
            group.path = made.groups[computing[0][0][1]].path
        else:
            _adopt(made, parent, runs, "repeat")


def _alike(graph: Graph, made: Tree, a: Child, b: Child) -> bool:
    """Whether two children are numbered modules of the same structure, such as "layers.0" and "layers.1"."""
    if a[0] != "group" or b[0] != "group":
        return False
    one, two = (graph.modules.get(made.groups[number].path) for _, number in (a, b))
    if not (one and two and one.path != two.path and one.alike and one.alike == two.alike):
        return False
    return re.sub(r"\d+", "0", one.path) == re.sub(r"\d+", "0", two.path)


def _fold_sections(made: Tree, budget: int) -> None:
    """Divide what groups show, where that is too much, into sections of equal length."""
    most = max(budget, 2)
    for parent in range(len(made.groups)):
        while (count := made.size(parent)) > most:
            sections = -(-count // min(most, math.isqrt(count - 1) + 1))
            runs: list[list[Child]] = [[] for _ in range(sections)]
            place = 0  # among those that are seen: leaves at the side of an op come before it
            for child in made.groups[parent].children:
                runs[place * sections // count].append(child)
                place += bool(made.seen([child]))
            _adopt(made, parent, runs, "section")


def _adopt(made: Tree, parent: int, runs: list[list[Child]], kind: Literal["repeat", "section"]) -> None:
    """Put each run of children, unless it is a single one, into a new group."""
    kept: list[Child] = []
    for run in runs:
        if len(made.seen(run)) < 2:
            kept += run
            continue
        number = len(made.groups)
        group = Group(kind, "", made.groups[parent].path, parent, run)
        if kind == "repeat":
            first, last = (made.groups[child] for _, child in (run[0], run[-1]))
            group.label, group.path, group.times = f"{first.label} … {last.label}", first.path, len(run)
        made.groups.append(group)
        for what, child in run:
            if what == "group":
                made.groups[child].parent = number
            else:
                made.group_of[child] = number
        kept.append(("group", number))
    made.groups[parent].children = kept


# What is open ----------------------------------------------------------------------------------------------


def _fitting(made: Tree, group: int, budget: int, repeats: bool) -> list[int]:
    """The groups inside an open one that can be open as well, within the budget: level by level. Of the level
    that is too large, those that fit; of repeats none, as they look alike."""
    count = made.size(group)
    chosen: list[int] = []
    level = _inner(made, group)
    alike = made.groups[group].kind == "repeat"
    while level:
        can = [inner for inner in level if made.groups[inner].kind == "module" or repeats]
        more = sum(made.size(inner) - 1 for inner in can)
        if count + more > budget:
            if not alike:
                for inner in sorted(can, key=made.size):
                    if count + made.size(inner) - 1 <= budget:
                        count += made.size(inner) - 1
                        chosen.append(inner)
            break
        count += more
        chosen += can
        level = [deeper for inner in can for deeper in _inner(made, inner)]
    return chosen


def _inner(made: Tree, group: int) -> list[int]:
    return [child for kind, child in made.groups[group].children if kind == "group"]


def _choose_opens(made: Tree) -> None:
    """What opens with each group: as little as can be, if no node is then more than CLICKS away."""
    for budget in _BUDGETS:
        for number, group in enumerate(made.groups):
            group.opens = _fitting(made, number, budget, repeats=budget > BUDGET)
        if all(clicks(made, node) <= CLICKS for node in range(len(made.group_of))):
            return


def _depth(made: Tree, group: int) -> int:
    """How many modules are around it: repeats and sections do not count."""
    return sum(made.groups[around].kind == "module" for around in made.around(group)) - 1


def _sum(values: Iterator[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) if known else None
