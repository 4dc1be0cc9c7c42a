"""The page in Chromium, offline: clicking, reading, toggling, searching, saving, and how it looks."""

from __future__ import annotations

import dataclasses
import math
import os
import re

import pytest

import minigrad as torch
from minigrad.viz.graph.record import record
from minigrad.viz.graph.view import graph as view
from tests.support import graphs
from tests.support.browser import contrast, texts, wait_for

WINDOW = {"width": 1280, "height": 800}


@pytest.fixture
def show(open_file, tmp_path):
    def shown(graph, **options):
        look = options.pop("look", "light")
        path = view(graph, **options).save(tmp_path / "graph.html")
        page = open_file(path, viewport=WINDOW, color_scheme=look)
        page.wait_for_selector("[data-state=done]")
        return page

    return shown


def named(graph, name: str) -> str:
    return f"#box-n{next(node.id for node in graph.nodes if node.name == name)}"


def test_the_panel_tells_numbers_rule_and_gradients(show) -> None:
    graph = graphs.small()
    page = show(graph)
    page.click(named(graph, "h"))
    said = page.inner_text("#panel")
    for part in ("matmul of x", "train.py:3", "h = matmul(x)", "minigrad/ops/made_up.py:12", "lambda g, x: g * x"):
        assert part in said
    assert texts(page, "#panel section:has(h3:text-is('Value')) td") == ["2.5", "1"]
    parts = texts(page, "#panel section:has(h3:text-is('Gradient')) li td")
    assert parts == ["1.25", "0.5", "1.5", "0.75", "2.75", "1.25"]  # of add, of product, and their sum
    assert "the sum of 2" in said and "kept alive by add" in said
    page.click("#panel .link >> text=product")
    assert page.inner_text("#panel h2") == "product"
    page.keyboard.press("Escape")
    assert page.is_hidden("#panel")


def test_numbers_have_one_minus_and_heat_maps_tell_theirs(show) -> None:
    graph = graphs.small()
    graph.nodes[0].value = graphs.value(1, 3, table=[[-1.5e-7, 2e-7, math.nan]])
    graph.nodes[2].value = dataclasses.replace(graphs.value(8, 8), heat=[[-2.0, 0.5]])
    page = show(graph)
    page.click(named(graph, "x"))
    assert texts(page, "#panel section:has(h3:text-is('Value')) td") == ["−1.50e−7", "2.00e−7", "NaN"]
    page.click(named(graph, "h"))
    told = page.locator("#panel section:has(h3:text-is('Value')) .heat + p")
    assert told.inner_text() == "means of cells, −2 to 0.5"
    page.hover("#panel section:has(h3:text-is('Value')) .heat", position={"x": 3, "y": 3})
    assert told.inner_text() == "the mean of this cell: −2"
    page.hover("#panel h2")
    assert told.inner_text() == "means of cells, −2 to 0.5"


def test_code_in_a_formula(show) -> None:
    graph = graphs.small()
    graph.ops["matmul"] = dataclasses.replace(graph.ops["matmul"], formula="Of ``a`` and ``<b>``; not c.")
    page = show(graph)
    page.click(named(graph, "h"))
    assert page.inner_text("#panel .formula") == "Of a and <b>; not c."
    assert texts(page, "#panel .formula code") == ["a", "<b>"]


def test_gradients_of_several_results_are_not_one_sum(show) -> None:
    graph = graphs.small()
    h = next(node for node in graph.nodes if node.name == "h")
    second = next(edge for edge in graph.edges if edge.source == h.id)
    second.slot = 1
    page = show(graph)
    page.click(named(graph, "h"))
    said = page.inner_text("#panel section:has(h3:text-is('Gradient'))")
    assert "of result 2" in said and "what arrives, of result 1" in said and "sum of" not in said


def test_no_backward_yet(show) -> None:
    graph = graphs.small(backward=False)
    page = show(graph, direction="both")
    assert "no backward yet" in page.inner_text("#legend")
    page.click(named(graph, "h"))
    assert texts(page, "#panel .none") == ["no backward yet"]
    assert page.locator("#drawing .wire.backward").count() == 0


def test_a_list_of_equal_modules_tells_how_many(show) -> None:
    page = show(graphs.transformer(12, listed=True))
    (name,) = [text for text in texts(page, "#drawing .folded text") if text.startswith("blocks")]
    assert name == "blocks × 12Block"
    page.click("#drawing .folded:has-text('× 12')")
    assert texts(page, "#drawing .group .title") == ["blocks × 12Block"]
    assert page.inner_text("#panel h2") == "blocks × 12"
    assert "12 of the same structure: Block" in page.inner_text("#panel")
    assert page.locator("#drawing .folded").count() == 12


def test_sections_open(show) -> None:
    graph = graphs.linears(120)
    page = show(graph)
    for section in texts(page, "#drawing .folded .name")[::-1]:
        page.keyboard.press("0")
        page.click(f"#drawing .folded:has-text('{section}')")
    assert page.locator("#drawing .dock").count() == 240
    assert page.locator("#drawing .folded").count() == 0


def test_three_clicks_to_a_node_and_back(show) -> None:
    graph = graphs.transformer(12)
    page = show(graph)
    size = page.evaluate("document.getElementById('port').getBoundingClientRect().toJSON()")
    assert size["width"] <= WINDOW["width"] and size["height"] <= WINDOW["height"]
    groups = page.evaluate("graphView.graph.groups.map(group => `${group.kind} ${group.path}`)")
    repeat, block = (f"#box-g{groups.index(name)}" for name in ("repeat blocks.0", "module blocks.7"))
    weights = next(n for n in graph.nodes if n.name == "weights" and n.module.startswith("blocks.7."))
    page.click(repeat)
    page.click(block)
    page.click(f"#box-n{weights.id}")
    assert page.inner_text("#panel h2") == "weights"
    assert "blocks.7.attention" in page.inner_text("#panel")
    assert page.locator("#panel canvas").count() >= 1
    page.click("#fold")
    assert page.locator(f"#box-n{weights.id}").count() == 0 and page.locator("#drawing .group").count() == 0


def test_a_click_beside_boxes_closes_nothing_and_one_on_the_bar_does(show) -> None:
    page = show(graphs.transformer(1))
    title = page.locator("#drawing .group .title").first
    frame = page.locator("#drawing .group .frame").first.bounding_box()
    count = page.locator("#drawing .group").count()
    page.mouse.click(frame["x"] + frame["width"] - 3, frame["y"] + frame["height"] - 3)
    assert page.locator("#drawing .group").count() == count and page.is_hidden("#panel")
    title.click()
    assert page.locator("#drawing .group").count() < count and page.is_visible("#panel")


def test_what_is_asked_for_is_open(show) -> None:
    page = show(graphs.transformer(6), depth=9, fold=False)
    assert page.locator("#drawing .folded").count() == 0
    assert page.locator("#drawing .group").count() == 18  # blocks, their attention and their mlp


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


@pytest.mark.parametrize("query", ["blocks.3.mlp.up.bias", "softmax blocks.3", "(8, 8) weights blocks.3"])
def test_search_opens_what_is_around(show, query) -> None:
    page = show(graphs.transformer(12))
    page.keyboard.press("/")
    page.keyboard.type(query)
    assert "blocks.3" in texts(page, "#found li")[0]
    page.keyboard.press("Enter")
    assert "blocks.3" in page.inner_text("#panel")
    assert page.locator("#drawing .selected").count() == 1
    page.fill("#search", "no such thing")
    assert texts(page, "#found li") == ["nothing found"]


def test_keyboard(show) -> None:
    graph = graphs.small()
    page = show(graph)
    page.focus(named(graph, "h"))
    page.keyboard.press("Enter")
    assert page.inner_text("#panel h2") == "h"
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.id") == named(graph, "add")[1:]
    before = page.get_attribute("#port", "transform")
    page.keyboard.press("+")
    assert page.get_attribute("#port", "transform") != before
    page.keyboard.press("0")
    page.mouse.move(200, 300)
    page.mouse.down()
    page.mouse.move(260, 330)
    page.mouse.up()
    assert page.inner_text("#panel h2") == "h"  # a drag is no click


def test_moving_about(show) -> None:
    graph = graphs.small()
    page = show(graph)
    middle = lambda: page.locator(f"{named(graph, 'h')} .body").evaluate(
        "node => { const { x, y, width, height } = node.getBoundingClientRect();"
        " return [x + width / 2, y + height / 2]; }"
    )
    x, y = middle()
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 50, y + 30)
    page.mouse.up()
    assert middle() == pytest.approx([x + 50, y + 30]) and page.is_hidden("#panel")  # a drag is no click
    scale = page.evaluate("graphView.camera.at.scale")
    page.mouse.wheel(0, -400)
    wait_for(page, f"graphView.camera.at.scale > {scale}")
    assert middle() == pytest.approx([x + 50, y + 30], abs=1.5)  # what is pointed at stays
    page.mouse.click(x + 50, y + 30)
    assert page.inner_text("#panel h2") == "h"


def test_heads_have_their_names_in_heat_maps(show) -> None:
    layer = torch.nn.MultiheadAttention(16, 4, batch_first=True)
    graph = record(layer, (torch.ones(1, 9, 16),) * 3, {"need_weights": False})
    page = show(graph)
    (attends,) = (node.id for node in graph.nodes if "attention" in node.op)
    page.evaluate(f"graphView.reveal('n{attends}')")
    names = page.locator("#panel figcaption").all_text_contents()
    assert names[:4] == [f"head {i}" for i in range(4)] and set(names) == set(names[:4])


def test_wires_tell_the_gradient(show) -> None:
    graph = graphs.small()
    page = show(graph)
    add, product = (named(graph, name).removeprefix("#box-") for name in ("add", "product"))
    page.locator(f".net[data-source={add}][data-targets={product}] .reach").first.dispatch_event("click")
    assert texts(page, "#panel li td") == ["3", "1.5", "1.25", "0.5"]


def test_the_drawing_is_saved(show) -> None:
    page = show(graphs.small(), colour="bytes")
    with page.expect_download() as download:
        page.click("#save")
    text = download.value.path().read_text(encoding="utf-8")
    assert all(f">{meaning}</text>" in text for meaning in ("results", "gradients")) and ">bytes " in text
    assert page.locator("#drawing .legend").count() == 0
    assert text.startswith("<svg") and "product" in text and "var(" not in text.replace("--", "")
    assert re.search(r'viewBox="0 0 [\d.]+ [\d.]+"', text)


def test_names_are_text(show) -> None:
    graph = graphs.evil()
    page = show(graph)
    for node in graph.nodes:
        page.evaluate(f"graphView.reveal('n{node.id}')")
        assert page.inner_text("#panel h2").split() == node.name.split()
    page.fill("#search", "img")
    page.wait_for_selector("#found li")
    assert page.locator("img, #panel script, #panel b, #drawing script").count() == 0
    assert page.title() == " ".join(graphs.EVIL.split())
    longest = page.evaluate(
        "Math.max(...[...document.querySelectorAll('#drawing tspan')].map(t => t.textContent.length))"
    )
    assert longest <= 40


@pytest.mark.parametrize("look", ["light", "dark"])
def test_light_and_dark(show, look, tmp_path) -> None:
    page = show(graphs.transformer(12), look=look, colour="time")
    for selector in ("#drawing text", "#drawing .name"):
        assert contrast(page, selector, "fill") >= 4.5
    assert contrast(page, "#drawing .wire.forward", "stroke") >= 3
    assert contrast(page, "#drawing .wire.backward", "stroke") >= 3
    page.screenshot(path=os.environ.get("SHOTS", str(tmp_path)) + f"/graph_{look}.png")
