"""Graphs of the test cases of all ops, compared with the engine's numbers."""

from typing import Any

import numpy as np

import minigrad
from minigrad.autograd import grad
from minigrad.compat.ops.registry import REGISTRY
from minigrad.viz.graph.graph_data import Graph, Value, value_of
from tests.ops.cases import Case
from tests.support.graphs import record

# These reduce to other ops: a move to the same place, and sums of products that are a diagonal or a transpose.
OTHERWISE = {"moved-2x3", "einsum_pair-3x3", "einsum_pair-2x3"}
DIFFERENTIABLE = [name for name, op in REGISTRY.items() if op.differentiable]


def inputs(case: Case, device: str = "cpu") -> list[Any]:
    """The inputs; random floats require a gradient."""
    floats = [not isinstance(spec, np.ndarray) for spec in case.inputs]
    tensors = [minigrad.tensor(a, device=device) for a in case.arrays()]
    return [t.requires_grad_(d) if t.is_floating_point() else t for t, d in zip(tensors, floats, strict=True)]


def one(result: Any) -> Any:
    """The result that requires a gradient; for several, a sum in which each has different gradients."""
    results = [r for r in (result if isinstance(result, tuple | list) else [result]) if r.requires_grad]
    if len(results) == 1:
        return results[0]
    return sum(((i + 1) * r * r).sum() for i, r in enumerate(results))


def same(node_value: Value | None, expected: Any) -> None:
    """Assert that the shown value equals the array bit for bit (including NaN)."""
    value = value_of(expected.array)
    assert node_value is not None
    assert node_value.shape == value.shape
    np.testing.assert_equal(node_value.table, value.table)
    np.testing.assert_equal(node_value.statistics, value.statistics)


def recorded(case: Case, device: str) -> Graph:
    """The graph of a case; asserts that its result and gradients are the engine's."""
    tensors = inputs(case, device)
    result = one(case.ours(minigrad, *tensors))
    leaves = {i: t for i, t in enumerate(tensors) if t.requires_grad}
    expected = grad(result, list(leaves.values()), minigrad.ones_like(result), allow_unused=True)
    graph = record(lambda *xs: one(case.ours(minigrad, *xs)), tensors)
    if result.output_nr == 0:  # a node with several results shows the first
        same(graph.nodes[graph.output].value, result)
    for i, gradient in zip(leaves, expected, strict=True):
        node = next((n for n in graph.nodes if n.kind == "input" and n.name == f"xs {i}"), None)
        if gradient is None:
            assert node is None or node.gradient is None
        else:
            assert node is not None
            same(node.value, tensors[i])
            same(node.gradient, gradient)
    return graph
