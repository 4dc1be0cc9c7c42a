"""The page's data, the object that viz.graph returns, and their size."""

from __future__ import annotations

import base64
import json
import os

import numpy as np
import pytest

import minigrad
from minigrad import nn
from minigrad.viz.graph.values import heat
from minigrad.viz.graph.view import graph as view
from tests.support import graphs


def test_equal_values_are_stored_once() -> None:
    graph = graphs.transformer(12)
    data = view(graph).page().data
    assert len(data["values"]) < len(graph.nodes)
    for node, told in zip(graph.nodes, data["nodes"], strict=True):
        assert data["values"][told["value"]]["shape"] == node.value.shape
        assert (told["gradient"] is None) == (node.gradient is None)
    json.dumps(data)


def test_repeats_tell_how_many() -> None:
    graph = graphs.transformer(12, listed=True)
    groups = view(graph).page().data["groups"]
    assert [(g["label"], g["times"]) for g in groups if g["kind"] == "repeat"] == [("blocks", 12)]


def test_heat_maps() -> None:
    told = heat([[-1.0, 0.0], [1.0, float("nan")]])
    cells = base64.b64decode(told["cells"])
    assert (told["low"], told["high"], list(cells)) == (-1.0, 1.0, [0, 127, 254, 255])
    pooled = heat([[1.0, 3.0, 5.0], [1.0, 3.0, 7.0]], step=2)
    assert (pooled["rows"], pooled["columns"], pooled["low"], pooled["high"]) == (1, 2, 2.0, 6.0)
    assert heat(None) is None and heat([]) is None and heat([[]]) is None
    assert list(base64.b64decode(heat([[2.0, 2.0]])["cells"])) == [0, 0]


def test_a_large_graph_is_a_small_file() -> None:
    graph = graphs.transformer(40)
    random = np.random.default_rng(0)
    for node in graph.nodes:
        node.value = graphs.value(512, 512, norm=float(random.random()))
        object.__setattr__(node.value, "heat", random.standard_normal((32, 32)).tolist())
    assert len(graph.nodes) > 1200
    assert len(view(graph).html().encode()) < 5_000_000


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
