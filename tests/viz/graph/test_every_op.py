"""Every op of the engine, recorded: its rules have sources, and what is shown is the engine's (bar 3)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad.autograd import grad
from minigrad.viz.graph.data import Graph, Value
from minigrad.viz.graph.record import record_call
from minigrad.viz.graph.values import value_of
from tests.ops.cases import CASES, Case


def inputs(case: Case) -> list[Any]:
    """The inputs; floats that are drawn require a gradient."""
    drawn = [not isinstance(spec, np.ndarray) for spec in case.inputs]
    return [minigrad.tensor(a).requires_grad_(d) if a.dtype.kind == "f" else minigrad.tensor(a)
            for a, d in zip(case.arrays(), drawn, strict=True)]  # fmt: skip


def leading(result: Any) -> Any:
    """The first result that wants a gradient, which the graph leads to."""
    return next(r for r in (result if isinstance(result, tuple | list) else [result]) if r.requires_grad)


def shown(graph: Graph, name: str) -> Value | None:
    return next((node.gradient for node in graph.nodes if node.name == name and node.kind == "input"), None)


def same(found: Value | None, expected: Any) -> None:
    """Whether what is shown is an array, to the last bit (NaN included)."""
    value = value_of(expected.array)
    assert found is not None
    assert found.shape == value.shape
    np.testing.assert_equal(found.table, value.table)
    np.testing.assert_equal(found.statistics, value.statistics)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_shown_numbers_are_the_engines(case: Case) -> None:
    given = inputs(case)
    result = leading(case.ours(minigrad, *given))
    wanted = [t for t in given if t.requires_grad]
    expected = grad(result, wanted, minigrad.ones_like(result), allow_unused=True)

    def call(*xs: Any) -> Any:
        return leading(case.ours(minigrad, *xs))

    graph = record_call(call, *given)
    if result.output_nr == 0:  # of several results, a node shows the first
        same(graph.nodes[graph.output].value, result)
    places = [i for i, t in enumerate(given) if t.requires_grad]
    for i, gradient in zip(places, expected, strict=True):
        if gradient is None:
            assert shown(graph, f"xs {i}") is None
        else:
            same(shown(graph, f"xs {i}"), gradient)
    check(graph)


def check(graph: Graph) -> None:
    """Each op has a formula, rules and a line; what an edge gives has the shape of what it is given to."""
    for node in graph.nodes:
        if node.kind == "op":
            info = graph.ops[node.op]
            assert info.formula
            assert info.rules
            assert node.place.startswith("tests/")
    for edge in graph.edges:
        source = graph.nodes[edge.source]
        if edge.gradient is not None and edge.slot == 0:
            assert source.value is not None
            assert edge.gradient.shape == source.value.shape
            assert edge.gradient.dtype == source.value.dtype
