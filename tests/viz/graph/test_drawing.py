"""The SVG of a graph: what stands in it, that arrows touch boxes, its colours, its legend, and names that are text."""

import math
import re
import xml.etree.ElementTree as ElementTree

import pytest

from minigrad.viz.graph.drawing import Scene, svg
from minigrad.viz.graph.fold import tree
from minigrad.viz.graph.labels import shortened
from minigrad.viz.graph.view import graph as view
from minigrad.viz.palette import DARK, LIGHT
from tests.support import graphs


def drawn(graph, direction="both", colour="none", **options):
    return svg(Scene.of(graph, tree(graph), direction), colour, **options)


def words(text: str) -> str:
    root = ElementTree.fromstring(text)
    return "\n".join("".join(e.itertext()) for e in root.iter() if e.tag.endswith("}text"))


def test_all_that_is_visible_stands_in_it() -> None:
    known = {"svg", "title", "g", "rect", "text", "tspan", "path", "polyline", "linearGradient", "stop"}
    cases = [(graphs.small(), "both"), (graphs.transformer(), "forward"), (graphs.evil(), "backward")]
    for graph, direction in [*cases, (graphs.chain(0), "both")]:
        boxes = tree(graph)
        root = ElementTree.fromstring(drawn(graph, direction, "time"))
        assert {e.tag.split("}")[-1] for e in root.iter()} <= known
        ids = [e.get("id") for e in root.iter() if e.get("id")]
        assert {f"{kind[0]}{number}" for kind, number in boxes.boxes(boxes.opened, docked=True)} <= {*ids}
        assert len(ids) == len({*ids})
    text = words(drawn(graphs.evil()))
    assert all(shortened(name) in text for name in (graphs.EVIL, graphs.EMOJI, graphs.LONG))


def test_arrows_of_leaves_at_the_side_touch_the_op() -> None:
    make = graphs.Builder()
    inputs = [make.leaf("parameter", f"w{i}") for i in range(3)]
    op = make.op("linear", "", make.leaf("input", "x"), *inputs)
    root = ElementTree.fromstring(drawn(make.done(op), "forward"))
    (body,) = root.findall(f".//{{*}}g[@id='n{op}']/{{*}}rect")
    x, y, height = (float(body.get(name, 0)) for name in ("x", "y", "height"))
    for leaf in inputs:
        (_, tip) = root.findall(f".//{{*}}g[@id='n{leaf}']/{{*}}path")
        to, at = map(float, re.findall(r"[\d.]+", tip.get("d", ""))[:2])
        assert to == pytest.approx(x, abs=0.01) and y + 4 <= at <= y + height - 4


def test_directions() -> None:
    lines = {way: drawn(graphs.small(), way) for way in ("forward", "backward", "both")}
    inks = [f'stroke="{ink}"' for ink in (LIGHT.forward, LIGHT.backward)]
    count = {way: [*map(text.count, inks)] for way, text in lines.items()}
    pieces = 8 + 1  # of seven edges one passes a rank; and one in the legend
    assert count["forward"] == [pieces, 0] and count["backward"] == [0, pieces - 1]  # none goes back to the constant
    assert count["both"] == [pieces, pieces - 1]
    assert words(lines["both"]).split("\n")[-2:] == ["results", "gradients"]


def test_no_backward_yet_and_dark() -> None:
    text = words(drawn(graphs.small(backward=False)))
    assert "no backward yet: there are no gradients to show" in text and "gradients\n" not in text
    dark = drawn(graphs.small(), dark=True)
    assert f'fill="{DARK.paper}"' in dark and LIGHT.ink not in dark and DARK.forward in dark


def test_colours_and_what_they_mean() -> None:
    graph = graphs.small()
    graph.nodes[1].gradient = graphs.value(8, 8, norm=math.nan)
    text = drawn(graph, colour="gradient")
    root = ElementTree.fromstring(text)
    tints = {g.get("id"): g.find("{*}rect[@fill-opacity]") for g in root.iter("{http://www.w3.org/2000/svg}g")}
    shown = {key: float(rect.get("fill-opacity", 0)) for key, rect in tints.items() if rect is not None and key}
    assert min(shown.values()) == 0.05 and max(shown.values()) == 0.45
    assert "n1" not in shown  # what is not finite has no colour, and changes no other
    assert "gradient norm 0.5\n3.021" in words(text)
    assert "no time known" in words(drawn(graphs.chain(0), colour="time"))


def test_a_picture_shows_what_the_page_shows_at_first() -> None:
    graph = graphs.transformer(1)  # too high for a window where all is open that a screen can hold
    picture, whole = view(graph), view(graph, fold=40)
    assert picture.scene.tree.opened < whole.scene.tree.opened == whole.tree.opened
    assert picture.scene.layout.height <= 720 / 0.62
    assert picture.svg() == view(graph).svg()
