"""Where the boxes of a graph stand, and how its wires run: in layers (Sugiyama, Tagawa and Toda 1981).

The page lays out what a person opens there by assets/graph_layout.js, which does the same with the same numbers: a
change here is one there (tests/viz/graph/test_same_in_browser.py).

Each open group is drawn by itself, from the inside out: ranks by longest path, order by barycentres, coordinates by
weighted medians that isotonic regression keeps apart. A result is one wire, however many read it. It crosses a group's
border at one port, and bends between ranks only.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise

GAP = 26.0  # between boxes of a rank
RANK = 30.0  # between ranks, at least
PAD = 16.0  # inside the border of a group
TITLE = 26.0  # above its first rank
SWEEPS = 12
Point = tuple[float, float]


@dataclass(frozen=True)
class Box:
    """What is to be placed. ``port``: where wires meet it, from its middle to the right."""

    key: str
    width: float
    height: float
    port: float = 0.0


@dataclass(frozen=True)
class Frame:
    """An open group, whose title is so wide. No wire runs back in the order of its children."""

    key: str
    children: tuple[Box | Frame, ...]
    title: float = 0.0


@dataclass(frozen=True)
class Place:
    """A rectangle."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Wire:
    """A piece of the wire of one result, straight down within a rank and bent between two."""

    source: str
    targets: tuple[str, ...]  # the boxes that read it by this piece
    points: tuple[Point, Point, Point, Point]
    first: bool  # whether it starts at a box, and not at a border
    last: bool  # whether it ends at one


@dataclass(frozen=True)
class Layout:
    """Places of boxes and of open groups by their keys, and the wires between them."""

    width: float
    height: float
    boxes: dict[str, Place]
    groups: dict[str, Place]
    wires: list[Wire]


def laid_out(root: Frame, wires: Iterable[tuple[str, str]]) -> Layout:
    """Places for all boxes in nested groups; ``wires`` lead from one box to another, by their keys."""
    links = _links(root, wires)
    levels: dict[str, _Level] = {}

    def inside(group: Frame) -> None:
        for child in group.children:
            if isinstance(child, Frame):
                inside(child)
        levels[group.key] = _level(group, [*links[group.key].values()], levels)

    inside(root)
    whole = levels[root.key]
    layout = Layout(whole.width, whole.height, {}, {}, [])
    _compose(root, 0.0, 0.0, levels, layout)
    return layout


# Wires by level --------------------------------------------------------------------------------------------


@dataclass
class _Link:
    """A part of a result's wire within one group: from a child or a port of its border to another."""

    start: str
    end: str
    source: str
    targets: dict[str, None] = field(default_factory=dict)


def _links(root: Frame, wires: Iterable[tuple[str, str]]) -> dict[str, dict[tuple[str, str, str], _Link]]:
    """Of each group the links at its level."""
    parents: dict[str, str] = {}
    links: dict[str, dict[tuple[str, str, str], _Link]] = {}

    def walk(group: Frame) -> None:
        links[group.key] = {}
        for child in group.children:
            parents[child.key] = group.key
            if isinstance(child, Frame):
                walk(child)

    def way(key: str) -> Iterator[str]:
        while key in parents:
            key = parents[key]
            yield key

    def add(group: str, start: str, end: str, source: str, target: str) -> None:
        link = links[group].setdefault((start, end, source), _Link(start, end, source))
        link.targets[target] = None

    walk(root)
    for source, target in wires:
        into = [*way(target)]
        start, end = source, target
        for group in way(source):
            if group in into:
                break
            add(group, start, f"out {source}", source, target)
            start = group
        common = next(group for group in way(source) if group in into)
        for group in into[: into.index(common)]:
            add(group, f"in {source}", end, source, target)
            end = group
        add(common, start, end, source, target)
    return links


# One group -------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class _Item:
    """A child of a group, or a port of its border: "in" above the first rank, "out" below the last."""

    key: str
    width: float
    height: float
    side: str = ""
    port: float = 0.0
    ports: dict[str, float] | None = None  # of an open group

    def port_of(self, side: str, source: str) -> float:
        return self.port if self.ports is None else self.ports.get(f"{side} {source}", 0.0)


@dataclass(eq=False)
class _Vertex:
    """A place in a rank: of an item, or of a wire that passes."""

    item: _Item | None
    rank: int
    width: float
    height: float
    turn: int  # the item's number, or that of the item the wire comes from
    up: list[_Joint] = field(default_factory=list)
    down: list[_Joint] = field(default_factory=list)
    place: int = 0
    mean: float = 0.0
    x: float = 0.0
    top: float = 0.0
    bottom: float = 0.0

    @property
    def is_box(self) -> bool:
        return self.item is not None and not self.item.side and self.item.ports is None


@dataclass(eq=False)
class _Joint:
    """Two vertices of neighbouring ranks, and where the wire meets each, from its middle."""

    above: _Vertex
    below: _Vertex
    ax: float
    bx: float
    weight: float
    source: str
    targets: dict[str, None]


@dataclass(frozen=True)
class _Level:
    """A group by itself: everything relative to its own corner, ports to the middle of its border."""

    width: float
    height: float
    boxes: list[tuple[str, Place]]
    wires: list[Wire]
    ports: dict[str, float]


_Layers = list[list[_Vertex]]


def _level(group: Frame, links: list[_Link], levels: dict[str, _Level]) -> _Level:
    items = [_Item(key, 2.0, 0.0, "in") for key in _ports("in ", (link.start for link in links))]
    for child in group.children:
        if isinstance(child, Frame):
            inner = levels[child.key]
            items.append(_Item(child.key, inner.width, inner.height, ports=inner.ports))
        else:
            items.append(_Item(child.key, child.width, child.height, port=child.port))
    items += [_Item(key, 2.0, 0.0, "out") for key in _ports("out ", (link.end for link in links))]
    layers = _ranked(items, links)
    _order(layers)
    _across(layers)
    return _down(group, layers)


def _ports(side: str, keys: Iterable[str]) -> list[str]:
    return [key for key in dict.fromkeys(keys) if key.startswith(side)]


def _ranked(items: list[_Item], links: list[_Link]) -> _Layers:
    """Ranks, and in the place of a wire that passes through one a vertex."""
    index = {item.key: i for i, item in enumerate(items)}
    edges = [(index[link.start], index[link.end], link) for link in links]
    ranks = _ranks(items, [(start, end) for start, end, _ in edges])
    layers: _Layers = [[] for _ in range(max(ranks, default=-1) + 1)]
    vertices = [
        _Vertex(item, rank, item.width, item.height, i) for i, (item, rank) in enumerate(zip(items, ranks, strict=True))
    ]
    for vertex in vertices:
        layers[vertex.rank].append(vertex)
    passing: dict[tuple[int, str, int], _Vertex] = {}
    for start, end, link in edges:
        above, below = vertices[start], vertices[end]
        ax = items[start].port_of("out", link.source)
        for rank in range(above.rank + 1, below.rank):
            between = passing.get((start, link.source, rank))
            if between is None:
                between = passing[start, link.source, rank] = _Vertex(None, rank, 2.0, 0.0, above.turn)
                layers[rank].append(between)
                _join(above, between, ax, 0.0, link)
            else:
                between.up[0].targets |= link.targets
            above, ax = between, 0.0
        _join(above, below, ax, items[end].port_of("in", link.source), link)
    return layers


def _ranks(items: list[_Item], edges: list[tuple[int, int]]) -> list[int]:
    """Longest paths; what has more readers than inputs stands close to them."""
    rank = [0 if item.side == "in" else 1 for item in items]
    out: list[list[int]] = [[] for _ in items]
    into: list[list[int]] = [[] for _ in items]
    for start, end in edges:
        out[start].append(end)
        into[end].append(start)
    for i, starts in enumerate(into):
        for start in starts:
            rank[i] = max(rank[i], rank[start] + 1)
    last = max([r for r, item in zip(rank, items, strict=True) if item.side != "out"], default=0) + 1
    rank = [last if item.side == "out" else r for r, item in zip(rank, items, strict=True)]
    for i in reversed(range(len(items))):
        if not items[i].side and out[i] and len(into[i]) < len(out[i]):
            rank[i] = max(rank[i], min(rank[end] for end in out[i]) - 1)
    least = 0 if any(item.side == "in" for item in items) else 1
    return [r - least for r in rank]


def _join(above: _Vertex, below: _Vertex, ax: float, bx: float, link: _Link) -> None:
    """Chains and long wires are straight: they have more weight."""
    weight = 4.0 if above.item and below.item else 1.5 if above.item or below.item else 8.0
    joint = _Joint(above, below, ax, bx, weight, link.source, dict(link.targets))
    above.down.append(joint)
    below.up.append(joint)


# Order within ranks ----------------------------------------------------------------------------------------


def _order(layers: _Layers) -> None:
    """By the mean place of neighbours, down and up in turn; of all that were tried, that with fewest crossings."""
    for layer in layers:
        layer.sort(key=lambda vertex: vertex.turn)
        _number(layer)
    best, fewest = [[*layer] for layer in layers], _crossings(layers)
    for sweep in range(SWEEPS):
        if not fewest:
            break
        upward = sweep % 2 == 1
        for layer in reversed(layers) if upward else layers:
            for vertex in layer:
                vertex.mean = _mean(_near(vertex, upward), vertex.place)
            layer.sort(key=lambda vertex: (vertex.mean, vertex.place))
            _number(layer)
        if (count := _crossings(layers)) < fewest:
            best, fewest = [[*layer] for layer in layers], count
    layers[:] = best
    for layer in layers:
        _number(layer)


def _number(layer: list[_Vertex]) -> None:
    for place, vertex in enumerate(layer):
        vertex.place = place


def _near(vertex: _Vertex, upward: bool) -> list[float]:
    """The places of its neighbours on one side."""
    if upward:
        return [joint.below.place + _lean(joint.bx, joint.below) for joint in vertex.down]
    return [joint.above.place + _lean(joint.ax, joint.above) for joint in vertex.up]


def _mean(numbers: list[float], otherwise: float) -> float:
    total = 0.0
    for number in numbers:  # not sum(): newer Pythons round it otherwise than a browser does
        total += number
    return total / len(numbers) if numbers else otherwise


def _lean(x: float, vertex: _Vertex) -> float:
    """How far from its vertex's middle a wire meets it, as a part of one place."""
    return 0.9 * x / vertex.width if vertex.width > 2 else 0.0


def _crossings(layers: _Layers) -> int:
    """How many pairs of joints cross."""
    count = 0
    for layer in layers:
        ends = sorted(
            (joint.above.place + _lean(joint.ax, joint.above), joint.below.place + _lean(joint.bx, joint.below))
            for vertex in layer
            for joint in vertex.down
        )
        lower: list[float] = []  # of those at the left, in order
        for _, end in ends:
            place = bisect_right(lower, end)
            count += len(lower) - place
            lower.insert(place, end)
    return count


# Coordinates -----------------------------------------------------------------------------------------------


def _across(layers: _Layers) -> None:
    """x of each vertex: as near to its neighbours as the width of those beside it allows."""
    for layer in layers:
        x = layer[0].x = 0.0
        for before, vertex in pairwise(layer):
            x = vertex.x = x + _apart(before, vertex)
        for vertex in layer:
            vertex.x -= x / 2
    for sweep in range(SWEEPS):
        upward = sweep % 2 == 1
        both = sweep == SWEEPS - 1
        for layer in reversed(layers) if upward and not both else layers:
            _settle(layer, up=both or not upward, down=both or upward)


def _apart(a: _Vertex, b: _Vertex) -> float:
    boxes = (a.width > 2) + (b.width > 2)  # others are wires that pass, and ports
    return (a.width + b.width) / 2 + (10.0, 16.0, GAP)[boxes]


def _settle(layer: list[_Vertex], up: bool, down: bool) -> None:
    """Isotonic regression: the least squares distance to what each would like, in order and apart."""
    blocks: list[tuple[float, float, int]] = []  # sum, weight, count
    shift = 0.0
    shifts = []
    for i, vertex in enumerate(layer):
        if i:
            shift += _apart(layer[i - 1], vertex)
        shifts.append(shift)
        near = [(joint.above.x + joint.ax - joint.bx, joint.weight) for joint in vertex.up] if up else []
        near += [(joint.below.x + joint.bx - joint.ax, joint.weight) for joint in vertex.down] if down else []
        wish = _median(near) if near else vertex.x
        weight = 0.0
        for _, each in near:
            weight += each
        weight = weight or 0.05
        total, count = (wish - shift) * weight, 1
        while blocks and blocks[-1][0] / blocks[-1][1] > total / weight:
            before = blocks.pop()
            total, weight, count = total + before[0], weight + before[1], count + before[2]
        blocks.append((total, weight, count))
    i = 0
    for total, weight, count in blocks:
        for _ in range(count):
            layer[i].x = total / weight + shifts[i]
            i += 1


def _median(pairs: list[tuple[float, float]]) -> float:
    """The weighted median of values and weights; between two where both halves weigh the same."""
    ordered = sorted(pairs, key=lambda pair: pair[0])
    half = 0.0
    for _, weight in ordered:
        half += weight
    half /= 2
    passed = 0.0
    for i, (value, weight) in enumerate(ordered):
        passed += weight
        if passed == half and i + 1 < len(ordered):
            return (value + ordered[i + 1][0]) / 2
        if passed > half:
            return value
    return ordered[-1][0]


def _down(group: Frame, layers: _Layers) -> _Level:
    """y of each rank, and the wires between them."""
    vertices = [vertex for layer in layers for vertex in layer]
    left = min((vertex.x - vertex.width / 2 for vertex in vertices), default=0.0)
    right = max((vertex.x + vertex.width / 2 for vertex in vertices), default=0.0)
    width = max(right - left, group.title) + 2 * PAD
    shift = (width - (right - left)) / 2 - left
    top, bottom = _rows(layers)
    leaves = bool(layers) and any(vertex.item and vertex.item.side == "out" for vertex in layers[-1])
    height = (bottom[-1] if layers else TITLE) + (0.0 if leaves else PAD)
    boxes, ports = [], {}
    for vertex in vertices:
        x, middle = vertex.x + shift, (top[vertex.rank] + bottom[vertex.rank]) / 2
        vertex.top = middle - vertex.height / 2 if vertex.item else top[vertex.rank]
        vertex.bottom = middle + vertex.height / 2 if vertex.item else bottom[vertex.rank]
        if vertex.item and vertex.item.side:
            ports[vertex.item.key] = x - width / 2
        elif vertex.item:
            boxes.append((vertex.item.key, Place(x - vertex.width / 2, vertex.top, vertex.width, vertex.height)))
    wires = [_wire(joint, shift, top, bottom) for vertex in vertices for joint in vertex.down]
    return _Level(width, height, boxes, wires, ports)


def _rows(layers: _Layers) -> tuple[list[float], list[float]]:
    """The upper and the lower edge of each rank; two are farther apart where wires between them go far."""
    top, bottom = [], []
    first = layers[0][0].item if layers else None
    y = 0.0 if first and first.side == "in" else TITLE
    for rank, layer in enumerate(layers):
        top.append(y)
        bottom.append(y + max(vertex.height for vertex in layer))
        spans = [abs(joint.above.x + joint.ax - joint.below.x - joint.bx) for vertex in layer for joint in vertex.down]
        y = bottom[rank] + RANK + min(40.0, 0.09 * max(spans, default=0.0))
        if rank == 0 and top[0] == 0:
            y = max(y, TITLE + 8)
    return top, bottom


def _wire(joint: _Joint, shift: float, top: list[float], bottom: list[float]) -> Wire:
    above, below = joint.above, joint.below
    ax, bx = above.x + joint.ax + shift, below.x + joint.bx + shift
    points = (
        (ax, above.bottom if above.item else top[above.rank]),
        (ax, bottom[above.rank]),
        (bx, top[below.rank]),
        (bx, below.top),
    )
    return Wire(joint.source, tuple(joint.targets), points, above.is_box, below.is_box)


def _compose(group: Frame, x: float, y: float, levels: dict[str, _Level], layout: Layout) -> None:
    """A group and all in it, at a place of the whole."""
    level = levels[group.key]
    layout.groups[group.key] = Place(x, y, level.width, level.height)
    for wire in level.wires:
        a, b, c, d = ((px + x, py + y) for px, py in wire.points)
        layout.wires.append(replace(wire, points=(a, b, c, d)))
    inner = {child.key: child for child in group.children}
    for key, place in level.boxes:
        child = inner[key]
        if isinstance(child, Frame):
            _compose(child, place.x + x, place.y + y, levels, layout)
        else:
            layout.boxes[key] = replace(place, x=place.x + x, y=place.y + y)
