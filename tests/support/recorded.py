"""Graphs of the cases that all ops are tested on, compared with the engine's own numbers."""

from typing import Any

import numpy as np

import minigrad
from minigrad.autograd import grad
from minigrad.compat.ops.registry import REGISTRY
from minigrad.viz.graph.graph_data import Graph, Value, value_of
from tests.ops.cases import Case
from tests.support.graphs import record

# These come down to other ops: a move to where it is, and sums of products that are a diagonal, a transpose.
OTHERWISE = {"moved-2x3", "einsum_pair-3x3", "einsum_pair-2x3"}
DIFFERENTIABLE = [name for name, op in REGISTRY.items() if op.differentiable]


def inputs(case: Case, device: str = "cpu") -> list[Any]:
    """The inputs; floats that are drawn require a gradient."""
    drawn = [not isinstance(spec, np.ndarray) for spec in case.inputs]
    made = [minigrad.tensor(a, device=device) for a in case.arrays()]
    return [t.requires_grad_(d) if t.is_floating_point() else t for t, d in zip(made, drawn, strict=True)]


def one(result: Any) -> Any:
    """The result that wants a gradient; of several a sum to which each gives gradients of its own."""
    results = [r for r in (result if isinstance(result, tuple | list) else [result]) if r.requires_grad]
    if len(results) == 1:
        return results[0]
    return sum(((i + 1) * r * r).sum() for i, r in enumerate(results))


def same(found: Value | None, expected: Any) -> None:
    """Whether what is shown is an array, to the last bit (NaN included)."""
    value = value_of(expected.array)
    assert found is not None
    assert found.shape == value.shape
    np.testing.assert_equal(found.table, value.table)
    np.testing.assert_equal(found.statistics, value.statistics)


def recorded(case: Case, device: str) -> Graph:
    """The graph of a case, whose result and gradients are the engine's."""
    given = inputs(case, device)
    result = one(case.ours(minigrad, *given))
    wanted = {i: t for i, t in enumerate(given) if t.requires_grad}
    expected = grad(result, list(wanted.values()), minigrad.ones_like(result), allow_unused=True)
    graph = record(lambda *xs: one(case.ours(minigrad, *xs)), given)
    if result.output_nr == 0:  # of several results, a node shows the first
        same(graph.nodes[graph.output].value, result)
    for i, gradient in zip(wanted, expected, strict=True):
        node = next((n for n in graph.nodes if n.kind == "input" and n.name == f"xs {i}"), None)
        if gradient is None:
            assert node is None or node.gradient is None
        else:
            assert node is not None
            same(node.value, given[i])
            same(node.gradient, gradient)
    return graph
