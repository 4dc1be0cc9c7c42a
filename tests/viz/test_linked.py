"""Attention and graph on one page: what leads from one to the other, in a real browser, offline."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn, viz
from minigrad.models.transformer import Transformer
from minigrad.viz.attention import AttentionView, Candidate
from minigrad.viz.linked import Linked
from tests.support.browser import texts, wait_for
from tests.support.engine import changed, parts
from tests.support.transformers import sentences, small

EVIL = "</script><img src=x onerror=\"document.title='x'\">"
LOSS = "graphView.graph.values[graphView.graph.nodes[graphView.graph.output].value].table"
PAPER = "getComputedStyle(document.body).backgroundColor"
TOLD = "document.querySelector('#panel')?.innerText.includes('in {}')"
WIDE, NARROW = {"width": 1500, "height": 850}, {"width": 900, "height": 700}


@pytest.fixture(scope="module")
def view() -> Linked:
    """A translator's attention for two texts, each with a graph of its own."""
    model = small().eval()
    source, target = sentences()
    known = viz.attention(model, source, target[:, :-1])
    beam = [Candidate(text, score, known.attentions) for text, score in (("first", -1.0), (EVIL, -2.0))]
    graphs = [viz.graph(model.loss, *pair) for pair in ((source, target), (target, source))]
    return Linked(AttentionView.of_beam(beam, EVIL), graphs)


@pytest.fixture
def opened(view: Linked, open_file: Callable[..., Any], tmp_path: Path) -> Callable[..., Any]:
    """Opens it: the page, and its frames in the order in which they were made."""

    def open_view(**options: Any) -> Any:
        page = open_file(view.save(tmp_path / "linked.html"), **options)
        page.wait_for_selector("iframe.graph", state="attached")
        attention, graph = frames(page)
        attention.wait_for_selector("#find", state="attached")
        graph.wait_for_selector("[data-state=done]", state="attached")
        return page, attention, graph

    return open_view


def frames(page: Any) -> list[Any]:
    return [handle.content_frame() for handle in page.query_selector_all("iframe")]


def seen(page: Any) -> list[str]:
    """The frames that can be seen."""
    return [frame.get_attribute("class") for frame in page.query_selector_all("iframe") if frame.is_visible()]


def test_from_attention_to_the_op_that_made_it(opened: Callable[..., Any]) -> None:
    page, attention, graph = opened(viewport=WIDE)
    assert seen(page) == ["attention", "graph"] and page.inner_text("h1") == page.title() == EVIL
    paths = "encoder.0.attention", "decoder.0.self_attention", "decoder.0.cross_attention"
    for kind, path in enumerate(paths):
        attention.click(f"#kind-{kind}")
        assert attention.inner_text("#path") == path
        attention.click("#find")
        wait_for(graph, TOLD.format(path))
        assert "scaled_dot_product_attention" in graph.inner_text("#panel")
    attention.click("#later")
    attention.click("#find")
    wait_for(graph, TOLD.format("decoder.1.cross_attention"))


def test_from_the_graph_to_the_heads(opened: Callable[..., Any]) -> None:
    page, attention, graph = opened(viewport=WIDE)
    attention.click("#view-model")
    graph.fill("#search", "scaled_dot_product_attention decoder.1.cross")
    graph.press("#search", "Enter")
    assert texts(graph, "#panel .look") == ["Cross-attention, layer 1"]
    graph.click("#panel .look")
    wait_for(attention, "document.querySelector('#path')?.innerText === 'decoder.1.cross_attention'")
    assert attention.get_attribute("#kind-2", "aria-pressed") == "true"
    assert page.evaluate("document.activeElement.tagName") != "INPUT"
    graph.fill("#search", "linear_cross_entropy")
    graph.press("#search", "Enter")
    assert "linear_cross_entropy" in graph.inner_text("#panel") and graph.locator("#panel .look").count() == 0


def test_a_module_leads_to_all_attention_in_it(opened: Callable[..., Any]) -> None:
    _, _, graph = opened(viewport=WIDE)
    boxes = graph.evaluate("graphView.graph.groups.map((g) => [g.path, g.kind])")
    layer = next(i for i, (path, kind) in enumerate(boxes) if path == "decoder.1" and kind == "module")
    graph.evaluate(f"graphView.reveal('g{layer}')")
    assert texts(graph, "#panel .look") == ["Decoder self-attention, layer 1", "Cross-attention, layer 1"]


def test_another_text_has_another_graph(opened: Callable[..., Any]) -> None:
    page, attention, first = opened(viewport=WIDE)
    losses = [first.evaluate(LOSS)]
    attention.click("#text-1")
    wait_for(page, "document.querySelectorAll('iframe').length === 3")
    second = frames(page)[2]
    second.wait_for_selector("[data-state=done]")
    losses.append(second.evaluate(LOSS))
    assert losses[0] != losses[1] and seen(page) == ["attention", "graph"]
    attention.click("#find")
    wait_for(second, TOLD.format("decoder.0.cross_attention"))
    assert first.is_hidden("#panel")
    attention.click("#text-0")
    wait_for(page, "document.querySelectorAll('iframe.away').length === 1")
    assert len(frames(page)) == 3 and page.title() == EVIL


def test_a_narrow_window_has_one_at_a_time(opened: Callable[..., Any]) -> None:
    page, attention, graph = opened(viewport=NARROW)
    assert seen(page) == ["attention"] and page.get_attribute("#show-attention", "aria-pressed") == "true"
    attention.click("#find")
    wait_for(page, "document.querySelector('#show-graph').ariaPressed === 'true'")
    assert seen(page) == ["graph"]
    assert graph.evaluate("graphView.camera.at.scale") > 0.3  # it was laid out in a window of some size
    graph.click("#panel .look")
    wait_for(page, "document.querySelector('#show-attention').ariaPressed === 'true'")
    page.click("#show-both")
    assert seen(page) == ["attention", "graph"]


def test_light_and_dark_are_chosen_once(opened: Callable[..., Any]) -> None:
    page, attention, graph = opened(viewport=WIDE, color_scheme="light")
    all_three = (page, attention, graph)
    paper = [each.evaluate(PAPER) for each in all_three]
    page.click("#theme")
    for each in all_three:
        wait_for(each, "document.documentElement.dataset.theme === 'dark'")
    assert not attention.is_visible("#theme") and not graph.is_visible("#theme")
    dark = [each.evaluate(PAPER) for each in all_three]
    assert len(set(paper)) == len(set(dark)) == 1 and paper != dark
    attention.click("#text-1")
    wait_for(page, "document.querySelectorAll('iframe').length === 3")
    wait_for(frames(page)[2], "document.documentElement.dataset.theme === 'dark'")


def test_pages_that_stand_alone_have_no_links(view: Linked, open_file: Callable[..., Any], tmp_path: Path) -> None:
    page = open_file(view.attention.save(tmp_path / "a.html"))
    page.wait_for_selector("#path")
    assert page.locator("#find").count() == 0 and page.is_visible("#theme") and page.is_visible("#top h1")
    page = open_file(view.graphs[0].save(tmp_path / "g.html"))
    page.wait_for_selector("[data-state=done]")
    page.fill("#search", "scaled_dot_product_attention decoder.1.cross")
    page.press("#search", "Enter")
    assert page.locator("#panel h2").count() == 1 and page.locator("#panel .look").count() == 0


def test_a_page_hears_only_the_one_around_it(opened: Callable[..., Any]) -> None:
    """Not its own windows, and nothing that is not for it."""
    page, _, graph = opened(viewport=WIDE)
    graph.evaluate("postMessage({ viz: { find: 'encoder.0.attention' } }, '*')")
    page.evaluate("postMessage({ viz: { text: 1 } }, '*')")
    page.evaluate("frames[1].postMessage('text', '*'); frames[1].postMessage(null, '*')")
    page.wait_for_timeout(200)
    assert graph.is_hidden("#panel") and len(frames(page)) == 2


def test_one_call(open_file: Callable[..., Any], tmp_path: Path) -> None:
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, 0.5, batch_first=True), 2)
    for parameter in encoder.layers[0].parameters():
        parameter.requires_grad_(False)
    x = mg.randn(1, 3, 8)
    before, modes = parts(), [module.training for module in encoder.modules()]
    made = viz.linked(encoder, x, tokens=["I", "like", "cats"])
    assert changed(before, parts()) == []
    assert [module.training for module in encoder.modules()] == modes
    assert [p.requires_grad for p in encoder.layers[0].parameters()] == [False] * 12
    assert "linked to 1 × <graph of TransformerEncoder" in repr(made)
    ops = {node.op for node in made.graphs[0].graph.nodes}
    assert not any("dropout" in op for op in ops)
    page = open_file(made.save(tmp_path / "a.html"), viewport=WIDE)
    page.wait_for_selector("iframe.graph")
    attention, graph = frames(page)
    attention.click("#find")
    wait_for(graph, TOLD.format("layers.0.self_attn"))


def test_what_it_refuses() -> None:
    with pytest.raises(TypeError, match=r"linked takes a module, .* not ndarray"):
        viz.linked(np.ones(3))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no attention ran"):
        viz.linked(nn.Linear(2, 2), mg.ones(1, 2))
    model: Transformer = small()
    source, target = sentences()
    graph = viz.graph(model.loss, source, target)
    with pytest.raises(ValueError, match="there are 2 graphs, and 1 texts with attention"):
        Linked(viz.attention(model, source, target[:, :-1]), [graph, graph])
