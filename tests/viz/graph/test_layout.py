"""The layout without Graphviz: ranks, room between boxes, and SVG whose names are text."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from itertools import pairwise

import pytest

from minigrad.viz.graph import view as view_module
from minigrad.viz.graph.dot import shortened
from minigrad.viz.graph.fold import tree
from minigrad.viz.graph.layout import GAP, layers, svg
from minigrad.viz.graph.view import graph as view
from tests.support import graphs

LINKS = [("a", "b"), ("b", "c"), ("a", "d"), ("c", "d"), ("e", "d"), ("a", "f")]


def test_links_lead_down_and_boxes_have_room() -> None:
    ranks, spots, ways = layers(dict.fromkeys("abcefd", 80.0), LINKS)
    rank = {id(spot): r for r, row in enumerate(ranks) for spot in row}
    for (source, target), way in zip(LINKS, ways, strict=True):
        assert way[0] is spots[source] and way[-1] is spots[target]
        assert all(rank[id(b)] == rank[id(a)] + 1 for a, b in pairwise(way))
    assert rank[id(spots["e"])] == rank[id(spots["d"])] - 1  # close to its reader
    for row in ranks:
        for before, spot in pairwise(row):
            assert spot.x - before.x >= (before.width + spot.width) / 2 + GAP - 1e-9


def test_a_chain_is_straight() -> None:
    _, spots, _ = layers(dict.fromkeys("abc", 50.0), [("a", "b"), ("b", "c")])
    assert len({round(spot.x, 6) for spot in spots.values()}) == 1


@pytest.mark.parametrize("direction", ["forward", "backward", "both"])
@pytest.mark.parametrize("make", [graphs.small, graphs.transformer, graphs.evil, lambda: graphs.chain(0)])
def test_svg(make, direction) -> None:
    graph = make()
    made = tree(graph)
    root = ElementTree.fromstring(svg(graph, made, direction, "time"))
    assert {e.tag.split("}")[-1] for e in root.iter()} <= {"svg", "title", "g", "rect", "text", "path"}
    ids = {e.get("id") for e in root.iter() if e.get("id")}
    assert {f"{kind[0]}{number}" for kind, number in made.boxes(made.opened)} <= ids


def test_wide_letters_have_room() -> None:
    def width(name: str) -> float:
        make = graphs.Builder()
        graph = make.done(make.op("tanh", "", make.leaf("input", "x"), name=name))
        rects = ElementTree.fromstring(svg(graph, tree(graph))).findall("{*}g/{*}rect")
        return max(float(rect.get("width", 0)) for rect in rects)

    assert width("注意力的权重注意力的权重") > width("abcdefabcdef") + 12 * 5


def test_repeats_tell_how_many() -> None:
    graph = graphs.transformer(12, listed=True)
    assert "blocks × 12  Block" in svg(graph, tree(graph))


def test_names_are_text() -> None:
    root = ElementTree.fromstring(svg(graphs.evil(), tree(graphs.evil())))
    said = "\n".join("".join(e.itertext()) for e in root.iter())
    assert shortened(graphs.EVIL) in said and shortened(graphs.EMOJI) in said


def test_it_draws_where_there_is_no_graphviz(monkeypatch) -> None:
    monkeypatch.setattr(view_module, "renderer", lambda: None)
    assert view(graphs.small()).svg() == svg(graphs.small(), tree(graphs.small()), "both")
