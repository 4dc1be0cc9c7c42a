"""The layout: ranks, room between boxes, nested groups, wires that are whole, and few crossings."""

import random
from itertools import combinations, pairwise

import pytest

from minigrad.viz.graph.layout import GAP, PAD, TITLE, Box, Frame, Layout, laid_out

LINKS = [("a", "b"), ("b", "c"), ("a", "d"), ("c", "d"), ("e", "d"), ("a", "f")]


def flat(letters: str, width: float = 80.0) -> Frame:
    return Frame("g0", tuple(Box(letter, width, 40.0) for letter in letters))


def ends(layout: Layout) -> dict[tuple[str, str], tuple[tuple[float, float], tuple[float, float]]]:
    """Where the wire from a box to another begins and ends, by following its pieces."""
    found = {}
    for wire in layout.wires:
        for target in wire.targets:
            start, end = found.get((wire.source, target), (None, None))
            start = wire.points[0] if wire.first else start
            end = wire.points[-1] if wire.last else end
            found[wire.source, target] = start, end
    return found


def test_links_lead_down_and_boxes_have_room() -> None:
    layout = laid_out(flat("abcefd"), LINKS)
    for source, target in LINKS:
        above, below = layout.boxes[source], layout.boxes[target]
        assert below.y >= above.y + above.height + 30
        (x, y), (to, top) = ends(layout)[source, target]
        assert (x, y) == pytest.approx((above.x + above.width / 2, above.y + above.height))
        assert (to, top) == pytest.approx((below.x + below.width / 2, below.y))
    assert layout.boxes["e"].y == layout.boxes["c"].y  # close to its reader
    for a, b in combinations(layout.boxes.values(), 2):
        assert a.y != b.y or abs(a.x - b.x) >= 80 + GAP - 1e-9
    assert min(box.x for box in layout.boxes.values()) >= PAD
    assert max(box.x + 80 for box in layout.boxes.values()) <= layout.width - PAD + 1e-9


def test_a_chain_is_straight_and_lines_do_not_cross() -> None:
    layout = laid_out(flat("abc"), [("a", "b"), ("b", "c")])
    assert len({box.x for box in layout.boxes.values()}) == 1
    assert [box.y for box in layout.boxes.values()] == [TITLE, TITLE + 70, TITLE + 140]

    boxes = laid_out(flat("abcd"), [("a", "d"), ("b", "c")]).boxes  # need not cross
    assert (boxes["a"].x < boxes["b"].x) == (boxes["d"].x < boxes["c"].x)


def test_groups_hold_their_boxes_and_wires_pass_their_borders() -> None:
    inner = Frame("g2", (Box("b", 60, 40), Box("c", 60, 40)), title=30)
    outer = Frame("g1", (inner, Box("d", 60, 40)), title=300)
    layout = laid_out(
        Frame("g0", (Box("a", 60, 40), outer, Box("e", 60, 40))),
        [("a", "b"), ("a", "e"), ("b", "c"), ("b", "d"), ("c", "e")],
    )
    groups = layout.groups
    assert groups["g1"].width == 300 + 2 * PAD  # as its title wants
    for inside, around in (("b", "g2"), ("c", "g2"), ("d", "g1")):
        box, group = layout.boxes[inside], groups[around]
        assert group.x < box.x and box.x + box.width < group.x + group.width
        assert group.y + TITLE <= box.y and box.y + box.height < group.y + group.height
    assert groups["g1"].y < groups["g2"].y
    found = ends(layout)
    assert len(found) == 5 and all(None not in both for both in found.values())
    for wire in layout.wires:  # pieces meet: each that does not start at a box starts where another ended
        if not wire.first:
            begin = pytest.approx(wire.points[0])
            assert any(each.points[-1] == begin for each in layout.wires if each.source == wire.source)


def test_ports_beside_the_middle() -> None:
    layout = laid_out(Frame("g0", (Box("a", 60, 40), Box("b", 160, 40, port=50.0))), [("a", "b")])
    (_, _), (x, _) = ends(layout)["a", "b"]
    assert x == pytest.approx(layout.boxes["b"].x + 80 + 50)
    assert layout.boxes["a"].x + 30 == pytest.approx(x)  # straight


def test_many_boxes() -> None:
    made = random.Random(0)
    links = [(str(made.randrange(max(0, i - 40), i)), str(i)) for i in range(1, 800) for _ in range(2)]
    layout = laid_out(Frame("g0", tuple(Box(str(i), 80, 40) for i in range(800))), links)
    rows: dict[float, list[float]] = {}
    for box in layout.boxes.values():
        rows.setdefault(box.y, []).append(box.x)
    for row in map(sorted, rows.values()):
        assert all(b - a >= 80 + GAP - 1e-6 for a, b in pairwise(row))
