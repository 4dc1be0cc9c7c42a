"""Modules told from parameters, against those that are seen when the call is watched."""

from __future__ import annotations

from typing import Any

import pytest

import minigrad
from minigrad import nn
from minigrad.viz.graph.record import record


def layers(kind: Any, count: int) -> Any:
    return kind(8, 2, 16, batch_first=True), count


@pytest.mark.parametrize(
    ("model", "shapes"),
    [
        (nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)), [(2, 3)]),
        (nn.TransformerEncoder(*layers(nn.TransformerEncoderLayer, 3)), [(1, 3, 8)]),
        (nn.Transformer(8, 2, 2, 2, 16, batch_first=True), [(1, 3, 8), (1, 4, 8)]),
    ],
)
def test_modules_are_those_of_the_call(model: nn.Module, shapes: list[tuple[int, ...]]) -> None:
    """But for `out_proj`, which is never called itself."""
    model.eval()
    inputs = [minigrad.randn(*shape) for shape in shapes]
    told = record(model(*inputs), modules={"model": model})
    watched = record(model, inputs)
    ops = ([node for node in graph.nodes if node.kind == "op"] for graph in (told, watched))
    same = 0
    for found, expected in zip(*ops, strict=True):
        assert found.op == expected.op
        path = found.module.removeprefix("model").removeprefix(".").removesuffix(".out_proj")
        assert path == expected.module
        same += 1
    assert same == sum(node.kind == "op" for node in watched.nodes) > 2


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
