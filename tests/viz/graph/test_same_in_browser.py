"""The page and the SVG are one drawing: the same boxes, arrows, words and colours at the same places."""

import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from typing import Any

import pytest

import minigrad
from minigrad import nn
from minigrad.viz.graph.drawing import Scene, svg
from minigrad.viz.graph.view import GraphView
from minigrad.viz.graph.view import graph as view
from tests.support import graphs
from tests.support.transformers import sentences, small

READY, TOLERANCE = "[data-state=done]", 0.02  # of a pixel: the file has hundredths
# All that is drawn, in its order: rectangles, ends and bends of lines, and texts.
DRAWN = """() => {
  const keyOf = (node) => node.closest("[data-key]")?.dataset.key ?? "";
  const at = (node, ...names) => names.map((name) => Number(node.getAttribute(name)));
  const port = document.getElementById("port"), all = (selector) => [...port.querySelectorAll(selector)];
  return {
    opened: [...graphView.opened],
    size: [graphView.places.width, graphView.places.height],
    rects: all("rect.body, rect.frame").map((node) => [keyOf(node), ...at(node, "x", "y", "width", "height", "rx")]),
    tints: all("rect.tint").map((node) => [keyOf(node), Number(node.getAttribute("opacity"))]),
    lines: all("path.wire, path.tip").map((node) => node.getAttribute("d")),
    texts: all("text").map((node) => [keyOf(node), ...at(node, "x", "y"), node.textContent]),
    wide: all("text").filter((node) => {
      const rect = [...node.parentNode.querySelectorAll("rect")].at(-1).getBBox(), own = node.getBBox();
      return own.x < rect.x + 2 || own.x + own.width > rect.x + rect.width - 2;
    }).map((node) => node.textContent),
  };
}"""


def parts(text: str) -> dict[str, Any]:
    """The same of an SVG file."""
    root = ElementTree.fromstring(text)
    (drawing,) = root.findall("{*}g[@id='drawing']")
    found: dict[str, Any] = {"rects": [], "tints": [], "lines": [], "texts": []}
    for group in [drawing, *drawing.findall("{*}g")]:
        key = "" if group is drawing else group.get("id")
        for node in group:
            kind, at = node.tag.split("}")[-1], lambda *names, node=node: [float(node.get(name, 0)) for name in names]
            if kind == "rect" and node.get("fill-opacity"):
                found["tints"].append([key, float(node.get("fill-opacity", 0))])
            elif kind == "rect":
                found["rects"].append([key, *at("x", "y", "width", "height", "rx")])
            elif kind == "path":
                found["lines"].append(node.get("d"))
            elif kind == "text":
                found["texts"].append([key, *at("x", "y"), "".join(node.itertext())])
    return found


def network() -> GraphView:
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
    x, y = minigrad.randn(5, 3), minigrad.randn(5, 2)
    return view(lambda: nn.functional.mse_loss(model(x), y), colour="time")


def translator() -> GraphView:
    return view(small().loss, *sentences(), colour="gradient")


CASES = {
    "network": network,
    "translator": translator,
    "blocks, forward": lambda: view(graphs.transformer(1), direction="forward", colour="bytes"),
    "blocks, backward": lambda: view(graphs.transformer(2), direction="backward"),
    "names": lambda: view(graphs.evil()),
}


def compare(page: Any, scene: Scene, text: str) -> None:
    """What a page shows is what stands in an SVG."""
    drawn, picture = page.evaluate(DRAWN), parts(text)
    assert {*drawn["opened"]} >= scene.tree.opened
    assert drawn["size"] == pytest.approx([scene.layout.width, scene.layout.height], abs=TOLERANCE)
    for kind in ("rects", "texts", "tints"):
        assert len(drawn[kind]) == len(picture[kind]), kind
    for kind in ("rects", "tints"):
        for found, wanted in zip(sorted(drawn[kind]), sorted(picture[kind]), strict=True):
            assert found[0] == wanted[0] and found[1:] == pytest.approx(wanted[1:], abs=TOLERANCE)
    for found, wanted in zip(drawn["texts"], picture["texts"], strict=True):
        assert [found[0], found[3].split()] == [wanted[0], wanted[3].split()]
        assert found[1:3] == pytest.approx(wanted[1:3], abs=TOLERANCE)
    assert len(drawn["lines"]) == len(picture["lines"])
    number = r"-?\d+(?:\.\d+)?(?:e-?\d+)?"
    for paths in zip(drawn["lines"], picture["lines"], strict=True):
        a, b = ([float(x) for x in re.findall(number, path)] for path in paths)
        kinds, known = (re.findall("[A-Za-z]+", re.sub(number, "", path)) for path in paths)
        assert kinds == known and a == pytest.approx(b, abs=TOLERANCE)


@pytest.mark.parametrize("case", CASES)
def test_the_page_and_the_picture_are_one_drawing(case: str, opened: Any) -> None:
    made = CASES[case]()
    page = opened(made, viewport={"width": 1280, "height": 800})
    compare(page, made.scene, made.svg())
    if case != "names":  # of letters that no font here has nobody knows the width
        assert page.evaluate(DRAWN)["wide"] == []
    tree = made.scene.tree
    closed = {group for kind, group in tree.boxes(tree.opened) if kind == "group"}
    page.evaluate("closed => { closed.forEach((group) => graphView.opened.add(group)); graphView.draw(); }", [*closed])
    scene = Scene.of(made.graph, replace(tree, opened=tree.opened | closed), made.direction)
    compare(page, scene, svg(scene, made.colour))
