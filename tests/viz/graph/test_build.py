"""Modules told from parameters, against those that are seen when the call is watched."""

from __future__ import annotations

import minigrad
from minigrad import nn
from minigrad.viz.graph.record import record


def test_modules_are_those_of_the_call() -> None:
    """But for `out_proj`, which is never called itself."""
    model = nn.Transformer(8, 2, 2, 2, 16, batch_first=True).eval()
    inputs = [minigrad.randn(*shape) for shape in ((1, 3, 8), (1, 4, 8))]
    by_parameters = record(model(*inputs), modules={"model": model})
    watched = record(model, inputs)
    both = ([node for node in graph.nodes if node.kind == "op"] for graph in (by_parameters, watched))
    for node, expected in zip(*both, strict=True):
        assert node.op == expected.op
        assert node.module.removeprefix("model").removeprefix(".").removesuffix(".out_proj") == expected.module


def test_what_lies_outside_belongs_to_no_module() -> None:
    first, second = nn.Linear(2, 2), nn.Linear(2, 2)
    x = minigrad.randn(3, 2, requires_grad=True)
    root = second(first(x.exp()).relu()).square().sum()
    found = record(root, modules={"first": first, "second": second})
    assert [(node.op, node.module) for node in found.nodes if node.kind == "op"] == [
        ("exp", ""),
        ("linear", "first"),
        ("relu", ""),
        ("linear", "second"),
        ("square", ""),
        ("sum", ""),
    ]


def test_a_parameter_of_several_modules_tells_nothing() -> None:
    model = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False), nn.Linear(2, 2))
    model[1].weight = model[0].weight
    found = record(model(minigrad.randn(3, 2)).sum(), modules={"model": model})
    assert [node.module for node in found.nodes if node.op == "linear"] == ["", "", "model.2"]
