"""DOT: what stands in it, and that names are text."""

from __future__ import annotations

import math
import re

import pytest

from minigrad.viz.graph.dot import source, text
from minigrad.viz.graph.fold import tree
from minigrad.viz.graph.labels import label_of
from tests.support import graphs


def test_text_means_itself() -> None:
    assert text('say "hi"') == 'say \\"hi\\"'
    assert text("\\N") == "\\\\N" and text("a &lt; b") == "a &amp;lt; b"


def test_what_boxes_say_is_whole() -> None:
    kind = "TransformerDecoderLayerOfSomeLength"
    graph = graphs.transformer(12, listed=True, kind=kind)
    (label,) = re.findall(r'label="(blocks[^"]*)"', source(graph, tree(graph)))
    assert label.startswith(f"blocks × 12  {kind}\\n") and " parameters · ‖∇‖ " in label


def test_an_op_is_called_by_its_name_and_not_by_its_key() -> None:
    graph = graphs.small()
    add = next(node for node in graph.nodes if node.op == "add")
    graph.ops["add 2"], add.op = graph.ops["add"], "add 2"
    assert 'label="add\\n' in source(graph, tree(graph))


def test_a_section_is_called_by_what_is_at_its_ends() -> None:
    graph = graphs.linears(50)
    made = tree(graph)
    names = [label_of(graph, made, number) for kind, number in made.boxes(made.opened) if kind == "group"]
    assert (names[0].split(" … ")[0], names[-1].split(" … ")[1]) == ("x", "h49")
    assert all(f'label="{name}\\n' in source(graph, made) for name in names)
    deep = graphs.chain(3000)
    made = tree(deep)
    assert label_of(deep, made, made.boxes({0})[0][1]) == "x … tanh"  # of a section of sections


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


@pytest.mark.parametrize(("direction", "forward", "backward"), [("forward", 7, 0), ("backward", 0, 6), ("both", 7, 6)])
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


def test_what_is_not_finite_has_no_colour_and_changes_no_other() -> None:
    graph = graphs.small()
    before = source(graph, tree(graph), colour="gradient")
    graph.nodes[1].gradient = graphs.value(8, 8, norm=math.nan)
    fills = [
        dict(re.findall(r'id="(\w+)".*fillcolor="(#\w+)"', said))
        for said in (before, source(graph, tree(graph), colour="gradient"))
    ]
    assert fills[1].pop("n1") == "#ffffff" and fills[0].pop("n1") != "#ffffff"
    assert fills[0] == fills[1]
