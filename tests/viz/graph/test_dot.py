"""Pictures of graphs: their DOT source, escaped names, and Graphviz's drawings."""

import math
import re
import sys
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import minigrad as mg
from minigrad import nn, viz
from minigrad.viz.graph import GraphView as view
from minigrad.viz.graph.dot import Dot
from minigrad.viz.graph.fold import key_of, label_of, shortened, tree, wires
from minigrad.viz.graph.graph_data import Graph
from minigrad.viz.palette import DARK, LIGHT
from tests.support import graphs
from tests.support.cases import raises
from tests.support.graphviz import needs_dot

BOTH = f'"{LIGHT.forward}:{LIGHT.backward}"'


def source(graph: Graph, *args: Any, **look: Any) -> str:
    return Dot(graph, tree(graph), *args, **look).source()


def words(text: str) -> str:
    """The text between the tags of labels, or of an SVG."""
    return re.sub(r"<[^<>]*>", "", text)


def test_labels_are_whole_and_sections_are_named_by_their_ends() -> None:
    text = words(source(graphs.transformer(12, listed=True, kind="TransformerDecoderLayerOfSomeLength")))
    assert re.search(r"blocks   × 12  TransformerDecoderLayerOfSomeLength.* parameters · ‖∇‖ ", text)
    graph = graphs.small()
    add = next(node for node in graph.nodes if node.op == "add")
    graph.ops["add 2"], add.op = graph.ops["add"], "add 2"
    assert "label=<add(1, 2)" in words(source(graph))  # the name, not the key

    graph = graphs.linears(50)
    boxes = tree(graph)
    names = [label_of(graph, boxes, number) for kind, number in boxes.boxes(boxes.opened) if kind == "group"]
    assert (names[0].split(" … ")[0], names[-1].split(" … ")[1]) == ("x", "h49")
    assert all(f">{name}<" in source(graph) for name in names)
    deep = graphs.chain(3000)
    boxes = tree(deep)
    assert label_of(deep, boxes, boxes.boxes({0})[0][1]) == "x … tanh"  # a section of sections


def test_clusters_nest_and_boxes_have_ids() -> None:
    graph = graphs.transformer(2)
    folded = tree(graph, depth=2, repeats=False)
    text = Dot(graph, folded).source()
    assert text.count("{") == text.count("}") and text.startswith('digraph "GPT" {')
    clusters = {f"cluster_g{group}" for group in folded.opened - {0} if folded.groups[group].children}
    assert {*re.findall(r'subgraph "(\w+)"', text)} == clusters
    boxes = Counter(f"{kind[0]}{number}" for kind, number in folded.boxes(folded.opened))
    assert Counter(re.findall(r' (\w\d+) \[label=<.*?, id="\1"', text)) == boxes
    assert '  g0 [label=<<font color="#1b1c1e" point-size="12">GPT</font>' in view(graph, depth=0).dot()


def test_directions_and_dark_background() -> None:
    graph, forward, backward = graphs.small(), f'"{LIGHT.forward}"', f'"{LIGHT.backward}"'
    for direction, kinds in (
        ("forward", {f"color={forward}": 7}),
        ("backward", {f"color={backward}, dir=back": 6, f'color="{LIGHT.line}", dir=none': 1}),  # b is a constant
        ("both", {f"color={BOTH}, dir=both": 6, f"color={forward}": 1}),
    ):
        assert Counter(re.findall(r"-> \w+ \[(?:weight=\d, )?(.*)\];", source(graph, direction))) == kinds
    assert "↓ results    ↑ gradients" in words(source(graph))
    text = words(source(graphs.small(backward=False)))
    assert "no backward yet: there are no gradients to show" in text and "↑" not in text
    dark = view(graph).dot(dark=True)
    assert f'bgcolor="{DARK.paper}"' in dark and LIGHT.ink not in dark and DARK.forward in dark


def test_colours_and_their_meanings() -> None:
    graph, fills = graphs.small(), []
    fill = partial(re.findall, r'id="(\w+)", fillcolor="(#[0-9a-f]{6})"')
    for _ in range(2):
        fills.append(dict(fill(source(graph, colour="gradient"))))
        graph.nodes[4].gradient = graphs.value(8, 8, norm=math.nan)
    assert fills[1].pop("n4") == "#ffffff" != fills[0].pop("n4")  # numbers that are not finite have no colour,
    assert fills[0] == fills[1] and len({*fills[0].values()}) > 1  # and do not change other colours
    assert "gradient norm 0.5" in words(source(graph, colour="gradient"))
    assert "no time known" in words(source(graphs.chain(0), colour="time"))
    for colour in ("time", "bytes"):
        assert len({shade for _, shade in fill(source(graphs.transformer(2), colour=colour))}) > 1
    assert {shade for _, shade in fill(source(graph))} == {"#ffffff"}


@needs_dot
def test_graphviz_draws_all_that_is_visible() -> None:
    for drawing in (view(graphs.small(), colour="bytes"), view(graphs.evil()), view(graphs.transformer(2), depth=3)):
        svg = drawing.svg()
        root = ElementTree.fromstring(svg)
        assert svg.startswith("<svg") and not [e for e in root.iter() if e.tag.split("}")[1] in ("script", "image")]
        ids = Counter(e.get("id") for e in root.iter() if e.get("class", "") in ("node", "cluster"))
        boxes = [f"{kind[0]}{number}" for kind, number in drawing.tree.boxes(drawing.tree.opened)]
        assert all(ids[key] == 1 for key in boxes)
    text = "\n".join(
        "".join(e.itertext()).replace("\xa0", " ") for e in ElementTree.fromstring(view(graphs.evil()).svg())
    )
    assert all(shortened(name) in text for name in (graphs.EVIL, graphs.EMOJI, graphs.LONG))


@needs_dot
def test_arrow_tips_of_docked_leaves_are_at_the_correct_ends() -> None:
    """Each of three lines to the same box is next to its leaf, and a gradient's tip points to the leaf."""
    make = graphs.Builder()
    leaves = [make.leaf("parameter", "w"), make.leaf("constant", "b"), make.leaf("parameter", "v")]
    op = make.op("linear", "", make.leaf("input", "x"), *leaves)
    root = ElementTree.fromstring(view(make.done(op)).svg())
    edges = [e for e in root.findall(".//{*}g") if e.findtext("{*}title") == f"s{op}->n{op}"]
    rows = {(t.text or "").strip(): float(t.get("y", 0)) for t in root.findall(".//{*}text")}
    assert rows["w"] < rows["b"] < rows["v"]
    tips = []
    for edge in edges:
        points = [(e.get("fill"), e.get("points", "").split(" ")[1].split(",")) for e in edge.findall("{*}polygon")]
        tips.append({fill: tuple(map(float, point)) for fill, point in points})
    assert [{*each} for each in tips] == [
        {LIGHT.forward, LIGHT.backward},
        {LIGHT.forward},
        {LIGHT.forward, LIGHT.backward},
    ]
    for each in (tips[0], tips[2]):
        assert each[LIGHT.backward][0] < each[LIGHT.forward][0]
    assert tips[0][LIGHT.forward][1] > tips[1][LIGHT.forward][1] > tips[2][LIGHT.forward][1]  # starting with the lowest


@needs_dot
def mermaid(graph: Graph, **look: Any) -> tuple[dict[str, tuple[str, str]], list[tuple[str, str, str]]]:
    """The boxes by key, each with its brackets and label, and the wires; checks that there are no other lines."""
    first, *lines = view(graph, **look).mermaid().splitlines()
    boxes, wires, depth = {}, [], 0
    assert first == "flowchart TB"
    for line in map(str.strip, lines):
        if box := re.fullmatch(r'(subgraph )?(\w+)(\(\[|\[\[|\[)"([^"]+)"(\]\)|\]\]|\])', line):
            boxes[box[2]] = (box[1] or "") + box[3], box[4]
            depth += bool(box[1])
        elif wire := re.fullmatch(r"(\w+) (-->|<-->) (\w+)", line):
            wires.append((wire[1], wire[2], wire[3]))
        else:
            assert line in ("end", "direction TB"), line
            depth -= line == "end"
    assert depth == 0
    return boxes, wires


def test_mermaid_has_the_same_boxes_and_wires() -> None:
    for graph in (graphs.small(), graphs.small(backward=False), graphs.transformer(12), graphs.evil()):
        image = view(graph)
        boxes, lines = mermaid(graph)
        keys = {key_of(box) for box in image.tree.boxes(image.tree.opened, docked=True)}
        assert {key for key, (look, _) in boxes.items() if not look.startswith("subgraph")} == keys
        is_seen = {f"g{group}": image.tree.opened.issuperset(image.tree.around(group)) for group in image.tree.opened}
        opened = {key for key, visible in is_seen.items() if visible}
        assert {key for key, (look, _) in boxes.items() if look.startswith("subgraph")} == opened
        expected = [
            (key_of(a), "<-->" if any(edge.gradient is not None for edge in edges) else "-->", key_of(b))
            for (a, b), edges in wires(graph, image.tree, image.tree.opened).items()
        ]
        assert lines == expected
    boxes, _ = mermaid(graphs.small())
    assert boxes["n0"][0] == "([" and {look for look, _ in boxes.values()} <= {"[", "([", "[[", "subgraph ["}


def test_names_from_the_program_are_escaped_in_mermaid() -> None:
    graph = graphs.evil()
    graph.nodes[0].name = "%%{init: {}}%%`md`#1; 1. b"
    labels = {key: label for key, (_, label) in mermaid(graph)[0].items()}
    for label in labels.values():
        assert re.fullmatch(r"(?:[\w ,()=∇‖·×…−]|\.(?! )|#\d+;|<br/>)+", label), label
    whole = re.sub(r"#(\d+);", lambda code: chr(int(code[1])), labels["n0"])
    assert whole.startswith("%%{init: {}}%%`md`#1; 1. b<br/>")


def test_a_graphviz_source(tmp_path: Path) -> None:
    drawing = view(graphs.small())
    graph = drawing.graphviz()
    assert type(graph).__module__.startswith("graphviz") and graph.source == drawing.dot()
    assert Path(graph.render(tmp_path / "g", format="pdf")).read_bytes().startswith(b"%PDF")


@needs_dot
def test_make_dot_takes_torchvizs_arguments() -> None:
    model, x = nn.Sequential(nn.Linear(2, 2), nn.Softmax(dim=1)), mg.ones(1, 2, requires_grad=True)
    y = model(x).sum()
    drawing = viz.make_dot(
        y, {"scale": model[0].weight, "input": x, "unused": mg.ones(1)}, show_attrs=True, show_saved=True
    )
    text = words(drawing.source)
    assert all(word in text for word in ("input", "scale", "dim = 1", "keeps out")) and "unused" not in text
    plain = viz.make_dot(y)
    assert "dim = 1" not in plain.source and "keeps" not in plain.source and plain.pipe("svg").count(b"<polygon") > 3
    short = viz.make_dot(x.reshape(2, 1).sum(), show_attrs=True, max_attr_chars=3)
    assert "= (2…" in words(short.source)
    raises(TypeError, "make_dot takes a tensor, not Sequential", lambda: viz.make_dot(model))  # type: ignore[arg-type]


@pytest.mark.parametrize("missing", ["package", "program"])
def test_without_graphviz_the_message_says_what_to_install(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if missing == "package":
        monkeypatch.setitem(sys.modules, "graphviz", None)
    monkeypatch.setenv("PATH", "")
    drawing = view(graphs.small())
    for ask in (drawing.svg, drawing.graphviz, lambda: viz.make_dot(mg.ones(1, requires_grad=True).sum())):
        raises(ImportError, r"its program dot .* pip install graphviz.*save\('x\.html'\) needs neither", ask)
    bundle = drawing._repr_mimebundle_()
    assert "image/svg+xml" not in bundle and "<iframe" in bundle["text/html"]  # a notebook shows the page
