"""Every op of the engine, recorded: its node, its rules' sources, and numbers that are the engine's (bar 3).

``test_rules.py`` shows that these sources are those of the rules that run.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad.viz.graph.data import Graph, OpInfo
from minigrad.viz.graph.record import record
from tests.ops.cases import CASES, Case, find
from tests.support.recorded import DIFFERENTIABLE, OTHERWISE, recorded


def has_rule(info: OpInfo, name: str) -> bool:
    """Whether the source is there of the rule for an input, which may be one of several: "xs 2"."""
    return bool({name, name.rpartition(" ")[0]} & set(info.rules))


def check(graph: Graph) -> None:
    """Each op has a formula, rules and a line; a gradient came from a rule; what was passed adds up."""
    for node in graph.nodes:
        if node.kind == "op":
            info = graph.ops[node.op]
            assert info.formula
            assert info.rules or info.kernel
            assert node.place.startswith("tests/")
    for edge in graph.edges:
        source, target = graph.nodes[edge.source], graph.nodes[edge.target]
        if edge.gradient is not None:
            info = graph.ops[target.op]
            assert has_rule(info, edge.input) or (info.kernel and not info.rules)
            if edge.slot == 0:
                assert source.value is not None
                assert edge.gradient.shape == source.value.shape
                assert edge.gradient.dtype == source.value.dtype
    for node in graph.nodes:
        check_sum(graph, node.id)


def check_sum(graph: Graph, number: int) -> None:
    """A node's gradient is the sum of those on its edges, in the engine's order: of the youngest op first."""
    edges = [e for e in graph.edges if e.source == number and e.gradient is not None]
    node = graph.nodes[number]
    if not edges or any(e.slot for e in edges):
        return
    assert node.gradient is not None
    if node.gradient.table is None:
        assert len(edges) > 1 or node.gradient == edges[0].gradient
        return
    total: Any = None
    for edge in sorted(edges, key=lambda edge: -edge.target):
        assert edge.gradient is not None
        passed = np.array(edge.gradient.table, np.float64)
        total = passed if total is None else (total + passed).astype(_real(node.gradient.dtype))
    np.testing.assert_array_equal(total, np.array(node.gradient.table, np.float64))


def _real(dtype: str) -> Any:
    """What the numbers of a table are in: of a complex one its parts."""
    return {"complex64": np.float32, "complex128": np.float64}.get(dtype, dtype)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_shown_numbers_are_the_engines(case: Case) -> None:
    graph = recorded(case, "cpu")
    check(graph)
    nodes = [node.id for node in graph.nodes if node.op == case.op]
    assert nodes or str(case) in OTHERWISE
    for number in nodes:
        assert any(edge.gradient is not None for edge in graph.edges if edge.target == number)


def test_every_op_with_a_gradient_has_a_node_in_a_case() -> None:
    assert set(DIFFERENTIABLE) - {case.op for case in CASES if str(case) not in OTHERWISE} == {"moved"}


@pytest.mark.parametrize("op", DIFFERENTIABLE)
def test_on_other_devices(op: str, device: str) -> None:
    """Where a backend has no kernel for a fused op, its definition's ops are there."""
    if device == "cpu":
        pytest.skip("above, with all cases")
    if op == "moved":
        graph = record(lambda x: x.to("cpu") * 2, (minigrad.ones(2, device=device).requires_grad_(),))
        (move,) = (node for node in graph.nodes if node.op == op)
        assert move.value is not None
        assert move.gradient is not None
        assert (move.value.device, move.gradient.device) == ("cpu", "cpu")
        (x,) = (node for node in graph.nodes if node.kind == "input")
        assert x.gradient is not None
        assert x.gradient.device.startswith(device)
        assert x.gradient.table == [[2, 2]]
    else:
        graph = recorded(find(op)[0], device)
    check(graph)
