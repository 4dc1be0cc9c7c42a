"""Every op of the engine, recorded: its node, its rules' sources, the engine's numbers, and an identical replay.

``test_rules.py`` shows that these are the sources of the rules that run.
"""

import pytest

import minigrad
from minigrad import viz
from minigrad.viz.graph.graph_data import Graph
from tests.ops.cases import CASES, Case, find
from tests.support.cases import each
from tests.support.graphs import check_same, check_sum, record
from tests.support.recorded import DIFFERENTIABLE, OTHERWISE, inputs, one, recorded


def check(graph: Graph) -> None:
    """Each op has a formula, rules and a line; gradients have rules and add up."""
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
            has_rule = {edge.input, edge.input.rpartition(" ")[0]} & set(info.rules)  # one of several inputs: "xs 2"
            assert has_rule or (info.kernel and not info.rules)
            if edge.slot == 0:
                assert edge.gradient.shape == source.value.shape
                assert edge.gradient.dtype == source.value.dtype
    for node in graph.nodes:
        check_sum(graph, node.id)


def check_case(case: Case, device: str) -> None:
    """On the CPU the op is a node and replays identically; a device may lack its kernel and run its definition."""
    graph = recorded(case, device)
    check(graph)
    if device != "cpu":
        return
    nodes = [node.id for node in graph.nodes if node.op == case.op]
    assert nodes or str(case) in OTHERWISE
    for number in nodes:
        assert any(edge.gradient is not None for edge in graph.edges if edge.target == number)
    view = viz.graph(lambda *xs: one(case.ours(minigrad, *xs)), *inputs(case))
    check_same(view.graph, view.replay.changed({}))


def test_shown_numbers_match_the_engine(device: str) -> None:
    each([find(op)[0] for op in DIFFERENTIABLE if op != "moved"], lambda case: check_case(case, device))


@pytest.mark.nightly
def test_shown_numbers_match_the_engine_in_all_cases() -> None:
    each(CASES, lambda case: check_case(case, "cpu"))


def test_every_op_with_a_gradient_has_a_node_in_a_case() -> None:
    assert set(DIFFERENTIABLE) - {case.op for case in CASES if str(case) not in OTHERWISE} == {"moved"}


def test_a_move_to_another_device(device: str) -> None:
    if device == "cpu":
        return  # the same device
    graph = record(lambda x: x.to("cpu") * 2, (minigrad.ones(2, device=device).requires_grad_(),))
    (move,) = (node for node in graph.nodes if node.op == "moved")
    assert (move.value.device, move.gradient.device) == ("cpu", "cpu")
    (x,) = (node for node in graph.nodes if node.kind == "input")
    assert x.gradient is not None and x.gradient.device.startswith(device) and x.gradient.table == [[2, 2]]
