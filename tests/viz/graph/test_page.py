"""The page's data, the object that viz.graph returns, and their size."""

import dataclasses
import math
import os
import re
from functools import partial

import numpy as np
import pytest

import minigrad
from minigrad import viz
from minigrad.viz.graph import GraphView as view
from tests.support import graphs
from tests.support.browser import texts, wait_for
from tests.support.cases import raises


def test_a_large_graph_is_a_small_file() -> None:
    graph = graphs.transformer(20, listed=True)
    random = np.random.default_rng(0)
    for node in graph.nodes:
        node.value = graphs.value(512, 512, norm=float(random.random()))
        object.__setattr__(node.value, "heat", random.standard_normal((32, 32)).tolist())
    assert len(graph.nodes) > 600
    page = view(graph).page()
    assert len(page.html().encode()) < 2_500_000
    groups = page.data["groups"]
    assert [(g["label"], g["times"]) for g in groups if g["kind"] == "repeat"] == [("blocks", 20)]
    for node, entry in zip(graph.nodes, page.data["nodes"], strict=True):
        assert page.data["values"][entry["value"]]["shape"] == node.value.shape
        assert (entry["gradient"] is None) == (node.gradient is None)


def test_save_by_ending(tmp_path) -> None:
    drawing = view(graphs.small())
    for ending, start in (
        (".html", b"<!doctype html>"),
        (".dot", b"digraph"),
        (".gv", b"digraph"),
        (".mmd", b"flowchart"),
    ):
        assert drawing.save(tmp_path / f"graph{ending}").read_bytes().startswith(start)
    raises(ValueError, r"extension must be one of .*\.pdf", lambda: drawing.save(os.fspath(tmp_path / "graph.jpg")))


def test_options() -> None:
    graph = graphs.small()
    assert view(graph).direction == "both" and view(graphs.small(backward=False)).direction == "forward"
    for wrong in ({"colour": "red"}, {"depth": -1}):
        raises(ValueError, next(iter(wrong)), partial(viz.graph, minigrad.ones(1, requires_grad=True) * 2, **wrong))
    assert repr(view(graph)) == "<graph of loss: 7 nodes, 5 boxes>"


WINDOW, READY = {"width": 1280, "height": 800}, "[data-state=done]"


@pytest.fixture
def show(opened):
    return lambda graph, **options: opened(view(graph, **options), viewport=WINDOW, color_scheme="light")


def named(graph, name: str) -> str:
    return f"#box-n{next(node.id for node in graph.nodes if node.name == name)}"


def test_the_panel_shows_numbers_rule_and_gradients(show) -> None:
    graph = graphs.small()
    page = show(graph)
    page.click(named(graph, "h"))
    text = page.inner_text("#panel")
    for part in ("matmul of x", "train.py:3", "h = matmul(x)", "minigrad/ops/made_up.py:12", "lambda g, x: g * x"):
        assert part in text
    assert texts(page, "#panel section:has(h3:text-is('Value')) td") == ["2.5", "1"]
    parts = texts(page, "#panel section:has(h3:text-is('Gradient')) li td")
    assert parts == ["1.25", "0.5", "1.5", "0.75", "2.75", "1.25"]  # from add, from product, and their sum
    assert "the sum of 2" in text and "kept alive by add" in text
    page.click("#panel .link >> text=product")
    assert page.inner_text("#panel h2") == "product"
    page.keyboard.press("Escape")
    assert page.is_hidden("#panel")


def test_numbers_heat_maps_and_formulas(show) -> None:
    graph = graphs.small()
    graph.nodes[0].value = graphs.value(1, 3, table=[[-1.5e-7, 2e-7, math.nan]])
    graph.nodes[2].value = dataclasses.replace(graphs.value(8, 8), heat=[[-2.0, 0.5]])
    graph.ops["matmul"] = dataclasses.replace(graph.ops["matmul"], formula="Of ``a`` and ``<b>``; not c.")
    page = show(graph)
    page.click(named(graph, "x"))
    assert texts(page, "#panel section:has(h3:text-is('Value')) td") == ["−1.50e−7", "2.00e−7", "NaN"]
    page.click(named(graph, "h"))
    assert page.inner_text("#panel .formula") == "Of a and <b>; not c."
    assert texts(page, "#panel .formula code") == ["a", "<b>"]
    note = page.locator("#panel section:has(h3:text-is('Value')) .heat + p")
    assert note.inner_text() == "means of cells, −2 to 0.5"
    page.hover("#panel section:has(h3:text-is('Value')) .heat", position={"x": 3, "y": 3})
    assert note.inner_text() == "the mean of this cell: −2"


def test_three_clicks_to_a_node_and_back(show) -> None:
    graph = graphs.transformer(12, listed=True)
    page = show(graph)
    size = page.evaluate("document.getElementById('port').getBoundingClientRect().toJSON()")
    assert size["width"] <= WINDOW["width"] and size["height"] <= WINDOW["height"]
    weights = next(n for n in graph.nodes if n.name == "weights" and n.module.startswith("blocks.7."))
    (name,) = [text for text in texts(page, "#drawing .folded text") if text.startswith("blocks")]
    assert name == "blocks × 12Block"
    page.click("#drawing .folded:has-text('× 12')")
    assert page.inner_text("#panel h2") == "blocks × 12" and page.locator("#drawing .folded").count() == 12
    assert "12 of the same structure: Block" in page.inner_text("#panel")
    groups = page.evaluate("graphView.graph.groups.map(group => `${group.kind} ${group.path}`)")
    page.click(f"#box-g{groups.index('module blocks.7')}")
    page.click(f"#box-n{weights.id}")
    assert page.inner_text("#panel h2") == "weights" and "blocks.7.attention" in page.inner_text("#panel")
    assert page.locator("#panel canvas").count() >= 1
    page.click("#fold")
    assert page.locator(f"#box-n{weights.id}").count() == 0 and page.locator("#drawing .group").count() == 0


def test_texts_fit_into_their_boxes(show) -> None:
    page = show(graphs.transformer(2), depth=2)
    page.click("#drawing .folded >> nth=0")
    assert page.locator("#drawing .dock").count() and page.locator("#drawing .group").count()
    wide = """() => [...document.querySelectorAll("#port text")].filter((node) => {
      const rect = [...node.parentNode.querySelectorAll("rect")].at(-1).getBBox(), own = node.getBBox();
      return own.x < rect.x + 2 || own.x + own.width > rect.x + rect.width - 2;
    }).map((node) => node.textContent)"""
    assert page.evaluate(wide) == []


def test_toggles_and_colours(show) -> None:
    page = show(graphs.transformer(2))
    count = lambda kind: page.locator(f"#drawing .wire.{kind}").count()
    assert count("forward") and count("backward")
    page.click("#direction >> text=Forward")
    assert count("forward") and not count("backward")
    assert page.get_attribute("#direction [data-value=forward]", "aria-pressed") == "true"
    page.click("#direction >> text=Backward")
    assert count("backward") and not count("forward")
    for colour in ("time", "bytes", "gradient"):
        page.select_option("#colour", colour)
        assert page.locator(f"#drawing .tint.{colour}").count() > 2
    assert "gradient norm" in page.inner_text("#legend")
    page.select_option("#colour", "none")
    assert page.locator("#drawing .tint").count() == 0


def test_search_opens_the_boxes_around_a_match(show) -> None:
    page = show(graphs.transformer(12))
    for query in ("blocks.3.mlp.up.bias", "softmax blocks.3", "(8, 8) weights blocks.3"):
        page.keyboard.press("/")
        page.fill("#search", query)
        assert "blocks.3" in texts(page, "#matches li")[0]
        page.keyboard.press("Enter")
        assert "blocks.3" in page.inner_text("#panel")
        assert page.locator("#drawing .selected").count() == 1
    page.fill("#search", "no such thing")
    assert texts(page, "#matches li") == ["no matches"]


def test_keyboard_and_navigation(show) -> None:
    graph = graphs.small()
    page = show(graph)
    page.focus(named(graph, "h"))
    page.keyboard.press("Enter")
    assert page.inner_text("#panel h2") == "h"
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.id") == named(graph, "add")[1:]
    page.keyboard.press("Escape")
    middle = lambda: page.locator(f"{named(graph, 'h')} .body").evaluate(
        "node => { const { x, y, width, height } = node.getBoundingClientRect();"
        " return [x + width / 2, y + height / 2]; }"
    )
    x, y = middle()
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 50, y + 30)
    page.mouse.up()
    assert middle() == pytest.approx([x + 50, y + 30]) and page.is_hidden("#panel")  # a drag is not a click
    scale = page.evaluate("graphView.camera.at.scale")
    page.mouse.wheel(0, -400)
    wait_for(page, f"graphView.camera.at.scale > {scale}")
    assert middle() == pytest.approx([x + 50, y + 30], abs=1.5)  # the point at the pointer stays


def test_the_drawing_is_saved(show) -> None:
    page = show(graphs.small(), colour="bytes")
    with page.expect_download() as download:
        page.click("#save")
    text = download.value.path().read_text(encoding="utf-8")
    assert all(f">{meaning}</text>" in text for meaning in ("results", "gradients")) and ">bytes " in text
    assert page.locator("#drawing .legend").count() == 0
    assert text.startswith("<svg") and "product" in text and "var(" not in text.replace("--", "")
    assert re.search(r'viewBox="0 0 [\d.]+ [\d.]+"', text)


def test_names_are_escaped(show) -> None:
    graph = graphs.evil()
    page = show(graph)
    for node in graph.nodes:
        page.evaluate(f"graphView.reveal('n{node.id}')")
        assert page.inner_text("#panel h2").split() == node.name.split()
    page.fill("#search", "img")
    page.wait_for_selector("#matches li")
    assert page.locator("img, #panel script, #panel b, #drawing script").count() == 0
    assert page.title() == f"Graph of {' '.join(graphs.EVIL.split())}"
