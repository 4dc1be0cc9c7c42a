"""DOT: what stands in it, and that names are text."""

from __future__ import annotations

import re

import pytest

from minigrad.viz.graph.dot import source, text
from minigrad.viz.graph.fold import tree
from tests.support import graphs


def test_text_means_itself() -> None:
    assert text('say "hi"') == 'say \\"hi\\"'
    assert text("\\N") == "\\\\N" and text("a &lt; b") == "a &amp;lt; b"
    assert text("two\nlines\x00") == "two lines\ufffd"
    assert len(text(graphs.LONG)) == 40


def test_clusters_nest_and_nodes_have_ids() -> None:
    graph = graphs.transformer(2)
    made = tree(graph, depth=2, repeats=False)
    said = source(graph, made)
    assert said.count("{") == said.count("}")
    for group in made.opened - {0}:
        if made.groups[group].children:
            assert f'subgraph "cluster_g{group}"' in said
    for kind, number in made.boxes(made.opened):
        assert len(re.findall(rf'\bid="{kind[0]}{number}"', said)) == 1


@pytest.mark.parametrize(("direction", "forward", "backward"), [
    ("forward", 7, 0), ("backward", 0, 6), ("both", 7, 6),
])  # fmt: skip
def test_directions(direction, forward, backward) -> None:
    graph = graphs.small()
    said = source(graph, tree(graph), direction)
    assert said.count('color="#35618f"') == forward
    assert said.count("dir=back") == backward


def test_colours_have_six_digits() -> None:
    graph = graphs.transformer(2)
    for colour in ("time", "bytes", "gradient"):
        fills = re.findall(r'fillcolor="(#\w+)"', source(graph, tree(graph), colour=colour))
        assert all(re.fullmatch("#[0-9a-f]{6}", fill) for fill in fills)
        assert len(set(fills)) > 1, colour
    assert set(re.findall(r'fillcolor="(#\w+)"', source(graph, tree(graph)))) == {"#ffffff"}
