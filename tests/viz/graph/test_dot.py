"""DOT: what stands in it, and that names are text."""

import math
import re

from minigrad.viz.graph.dot import source, text
from minigrad.viz.graph.fold import tree
from minigrad.viz.graph.labels import label_of
from tests.support import graphs


def test_labels_are_text_and_whole() -> None:
    assert text('say "hi"') == 'say \\"hi\\"'
    assert text("\\N") == "\\\\N" and text("a &lt; b") == "a &amp;lt; b"
    graph = graphs.transformer(12, listed=True, kind="TransformerDecoderLayerOfSomeLength")
    (label,) = re.findall(r'label="(blocks[^"]*)"', source(graph, tree(graph)))
    assert label.startswith("blocks × 12  TransformerDecoderLayerOfSomeLength\\n") and " parameters · ‖∇‖ " in label
    graph = graphs.small()
    add = next(node for node in graph.nodes if node.op == "add")
    graph.ops["add 2"], add.op = graph.ops["add"], "add 2"
    assert 'label="add\\n' in source(graph, tree(graph))  # by its name, not by its key


def test_a_section_is_called_by_what_is_at_its_ends() -> None:
    graph = graphs.linears(50)
    boxes = tree(graph)
    names = [label_of(graph, boxes, number) for kind, number in boxes.boxes(boxes.opened) if kind == "group"]
    assert (names[0].split(" … ")[0], names[-1].split(" … ")[1]) == ("x", "h49")
    assert all(f'label="{name}\\n' in source(graph, boxes) for name in names)
    deep = graphs.chain(3000)
    boxes = tree(deep)
    assert label_of(deep, boxes, boxes.boxes({0})[0][1]) == "x … tanh"  # of a section of sections


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

    graph = graphs.small()
    for direction, forward, backward in (("forward", 7, 0), ("backward", 0, 6), ("both", 7, 6)):
        dot = source(graph, tree(graph), direction)
        assert (dot.count('color="#35618f"'), dot.count("dir=back")) == (forward, backward), direction


def test_colours_have_six_digits_and_what_is_not_finite_has_none() -> None:
    graph = graphs.transformer(2)
    for colour in ("time", "bytes", "gradient"):
        fills = re.findall(r'fillcolor="(#\w+)"', source(graph, tree(graph), colour=colour))
        assert all(re.fullmatch("#[0-9a-f]{6}", fill) for fill in fills)
        assert len(set(fills)) > 1, colour
    assert set(re.findall(r'fillcolor="(#\w+)"', source(graph, tree(graph)))) == {"#ffffff"}
    graph, colours = graphs.small(), []
    for _ in range(2):
        dot = source(graph, tree(graph), colour="gradient")
        colours.append(dict(re.findall(r'id="(\w+)".*fillcolor="(#\w+)"', dot)))
        graph.nodes[1].gradient = graphs.value(8, 8, norm=math.nan)
    assert colours[1].pop("n1") == "#ffffff" and colours[0].pop("n1") != "#ffffff"
    assert colours[0] == colours[1]
