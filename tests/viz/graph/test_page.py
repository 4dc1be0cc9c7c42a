"""The page's data, the object that viz.graph returns, and their size."""

from __future__ import annotations

import os

import numpy as np
import pytest

import minigrad
from minigrad import nn
from minigrad.viz.graph.view import graph as view
from tests.support import graphs


def test_a_large_graph_is_a_small_file() -> None:
    graph = graphs.transformer(40, listed=True)
    random = np.random.default_rng(0)
    for node in graph.nodes:
        node.value = graphs.value(512, 512, norm=float(random.random()))
        object.__setattr__(node.value, "heat", random.standard_normal((32, 32)).tolist())
    assert len(graph.nodes) > 1200
    page = view(graph).page()
    assert len(page.html().encode()) < 5_000_000
    groups = page.data["groups"]
    assert [(g["label"], g["times"]) for g in groups if g["kind"] == "repeat"] == [("blocks", 40)]
    for node, shown in zip(graph.nodes, page.data["nodes"], strict=True):
        assert page.data["values"][shown["value"]]["shape"] == node.value.shape
        assert (shown["gradient"] is None) == (node.gradient is None)


def test_save_by_ending(tmp_path) -> None:
    made = view(graphs.small())
    for ending, start in ((".html", b"<!doctype html>"), (".dot", b"digraph"), (".svg", b"<svg")):
        assert made.save(tmp_path / f"graph{ending}").read_bytes().startswith(start)
    with pytest.raises(ValueError, match=r"ending must be one of .*\.pdf"):
        made.save(os.fspath(tmp_path / "graph.jpg"))


def test_options() -> None:
    graph = graphs.small()
    assert view(graph).direction == "both" and view(graphs.small(backward=False)).direction == "forward"
    for wrong in ({"direction": "up"}, {"colour": "red"}, {"depth": -1}, {"fold": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            view(graph, **wrong)
    assert repr(view(graph)) == "<graph of loss: 7 nodes, 5 boxes>"


def test_of_a_tensor_and_of_a_call() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    x = minigrad.randn(5, 3)
    of_call = view(model, x)
    assert of_call.graph.backward == "done" and of_call.direction == "both"
    loss = model(x).sum()
    of_tensor = view(loss, modules={"model": model})
    for made in (of_call, of_tensor):
        assert [node.op for node in made.graph.nodes if node.kind == "op"].count("tanh") == 1
        assert made.html() and made.dot() and "<iframe" in made.page().framed()
    assert all(parameter.grad is None for parameter in model.parameters())
