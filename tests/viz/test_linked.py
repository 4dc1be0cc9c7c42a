"""Attention and graph on one page: links between them, in a real browser, offline."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn, viz
from minigrad.viz.attention import AttentionView, Candidate
from minigrad.viz.linked import Linked
from minigrad_models.translation.transformer import Transformer
from tests.support.browser import texts, wait_for
from tests.support.cases import raises
from tests.support.engine import changed, parts
from tests.support.transformers import sentences, small

EVIL = "</script><img src=x onerror=\"document.title='x'\">"
LOSS = "graphView.graph.values[graphView.graph.nodes[graphView.graph.output].value].table"
TOLD = "document.querySelector('#panel')?.innerText.includes('in {}')"
WIDE = {"width": 1500, "height": 850}


@pytest.fixture(scope="module")
def view() -> Linked:
    """A translator's attention for two texts, each with its own graph."""
    model = small().eval()
    source, target = sentences()
    base = viz.attention(model, source, target[:, :-1])
    beam = [Candidate(text, score, base.attentions) for text, score in (("first", -1.0), (EVIL, -2.0))]
    graphs = [viz.graph(model.loss, *pair) for pair in ((source, target), (target, source))]
    return Linked(AttentionView(beam[0].attentions, EVIL, beam), graphs)


@pytest.fixture
def opened(view: Linked, open_file: Callable[..., Any], tmp_path: Path) -> Callable[..., Any]:
    """Opens the view; returns the page, and its frames in order of creation."""

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
    """The visible frames."""
    return [frame.get_attribute("class") for frame in page.query_selector_all("iframe") if frame.is_visible()]


def test_from_attention_to_the_op_that_made_it(opened: Callable[..., Any]) -> None:
    page, attention, graph = opened(viewport=WIDE, color_scheme="light")
    assert seen(page) == ["attention", "graph"] and page.inner_text("h1") == page.title() == EVIL
    for kind, path in enumerate(("encoder.0.attention", "decoder.0.self_attention", "decoder.0.cross_attention")):
        attention.click(f"#kind-{kind}")
        assert attention.inner_text("#path") == path
        attention.click("#find")
        wait_for(graph, TOLD.format(path))
        assert "scaled_dot_product_attention" in graph.inner_text("#panel")
    page.click("#theme")
    for each in (page, attention, graph):
        wait_for(each, "document.documentElement.dataset.theme === 'dark'")
    assert not attention.is_visible("#theme") and not graph.is_visible("#theme")


def test_from_the_graph_to_the_heads(opened: Callable[..., Any]) -> None:
    _, attention, graph = opened(viewport=WIDE)
    attention.click("#view-model")
    graph.fill("#search", "scaled_dot_product_attention decoder.1.cross")
    graph.press("#search", "Enter")
    assert texts(graph, "#panel .look") == ["Cross-attention, layer 1"]
    graph.click("#panel .look")
    wait_for(attention, "document.querySelector('#path')?.innerText === 'decoder.1.cross_attention'")
    assert attention.get_attribute("#kind-2", "aria-pressed") == "true"
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
    wait_for(page, "document.querySelectorAll('iframe.inactive').length === 1")
    assert len(frames(page)) == 3 and page.title() == EVIL


def test_one_call() -> None:
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, 0.5, batch_first=True), 2)
    for parameter in encoder.layers[0].parameters():
        parameter.requires_grad_(False)
    encoder(mg.randn(1, 3, 8))  # loads the compiled kernels
    before, modes = parts(), [module.training for module in encoder.modules()]
    linked = viz.linked(encoder, mg.randn(1, 3, 8), tokens=["I", "like", "cats"])
    assert changed(before, parts()) == []
    assert [module.training for module in encoder.modules()] == modes
    assert [p.requires_grad for p in encoder.layers[0].parameters()] == [False] * 12
    assert "linked to 1 × <graph of TransformerEncoder" in repr(linked)
    graph = linked.graphs[0].graph
    paths = {layer.path for attention in linked.attention.attentions for layer in attention.layers}
    assert paths == {"layers.0.self_attn", "layers.1.self_attn"} <= {node.module for node in graph.nodes}
    assert not any("dropout" in node.op for node in graph.nodes)


def test_invalid_arguments() -> None:
    with pytest.raises(TypeError, match=r"linked takes a module, not ndarray"):
        viz.linked(np.ones(3))  # type: ignore[arg-type]
    raises(ValueError, "no attention was found", lambda: viz.linked(nn.Linear(2, 2), mg.ones(1, 2)))
    model: Transformer = small()
    source, target = sentences()
    graph = viz.graph(model.loss, source, target)
    with pytest.raises(ValueError, match="got 2 graphs for the attention of 1 texts"):
        Linked(viz.attention(model, source, target[:, :-1]), [graph, graph])
