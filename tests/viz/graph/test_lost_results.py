"""Values that the tape does not keep: recomputed if that is certain to be correct, otherwise reported as unknown."""

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import minigrad
import minigrad.nn.functional as F
from minigrad.ops.op import op
from minigrad.viz.graph import replay
from minigrad.viz.graph.graph_data import Graph, Node
from tests.support.functions import Cube
from tests.support.graphs import record


def by_name(graph: Graph) -> dict[str, Node]:
    return {node.name: node for node in graph.nodes}


def numbers(node: Node) -> Any:
    assert node.value is not None and node.missing == ""
    return np.array(node.value.table).reshape(node.value.shape)


def test_all_results_before_and_after_a_backward() -> None:
    x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    loss = ((x * x + 3).exp() / 2).sum()
    expected: dict[str, Any] = {"mul": [1, 4], "add": [4, 7], "exp": np.exp([4, 7]), "div": np.exp([4, 7]) / 2}
    for is_freed in (False, True):
        if is_freed:
            loss.backward()
        nodes = by_name(record(loss, backward=False))
        for name, value in expected.items():
            np.testing.assert_allclose(numbers(nodes[name]), value, rtol=1e-6)
        assert nodes["mul"].released == is_freed


def test_results_of_a_changed_leaf_are_unknown() -> None:
    for how in ("in place", "by an optimiser", "behind the library's back"):
        x = minigrad.tensor([1.0, 2.0], requires_grad=True)
        loss = (x + 1).square().sum()
        loss.backward()
        if how == "in place":
            with minigrad.no_grad():
                x.mul_(2)
        elif how == "by an optimiser":
            minigrad.optim.SGD([x], lr=0.1).step()
        else:
            x.data -= 0.1 * x.grad  # type: ignore[operator]
        nodes = by_name(record(loss))
        for name in ("add", "square"):
            value, missing = nodes[name].value, nodes[name].missing
            assert value is not None and value.table is None and value.shape == (2,), how
            assert "changed since" in missing and "viz.graph(function, inputs)" in missing
            assert "a backward pass has freed the graph" in missing
        assert numbers(nodes["loss"]) == 13
        assert ("changed" in nodes["x"].attributes) == (how != "behind the library's back")


def test_freed_and_small_constants() -> None:
    x = minigrad.ones(5, 5, requires_grad=True)
    loss = (x + minigrad.ones(5, 5) + minigrad.tensor(2.0)).sum()
    nodes = [node for node in record(loss, backward=False).nodes if node.name != "x"]
    large, first, small, second, last = nodes
    assert (large.name, small.name) == ("minigrad.ones(5, 5)", "minigrad.tensor(2.0)")
    assert large.value is not None and large.value.table is None and large.value.shape == (5, 5)
    assert "keep it in a variable" in large.missing and "viz.graph(function, inputs)" in large.missing
    assert all("are gone" in node.missing for node in (first, second))
    assert numbers(small) == 2 and numbers(last) == 100


def test_a_constant_made_by_an_op_is_recorded_in_a_call() -> None:
    x, target = minigrad.ones(5, 5, requires_grad=True), minigrad.arange(25).reshape(5, 5)
    nodes = by_name(record(F.mse_loss, (x, target)))  # the loss converts the target
    np.testing.assert_array_equal(numbers(nodes["target (cast)"]), target.array)
    np.testing.assert_array_equal(numbers(nodes["sub"]), 1 - target.array)
    loss = F.mse_loss(x, target)
    nodes = by_name(record(loss, backward=False))
    assert nodes["constant"].value.shape == (5, 5)  # type: ignore[union-attr]
    assert "keep it in a variable" in nodes["constant"].missing
    assert numbers(nodes["loss"]) == loss.item()


def test_dropout_is_not_drawn_again() -> None:
    x = minigrad.ones(6, 6, requires_grad=True)
    dropped = F.dropout(x + 1, 0.5)
    state = minigrad.get_rng_state()
    node = by_name(record(dropped.sum(), backward=False))["dropped"]
    np.testing.assert_array_equal(numbers(node), dropped.array)
    assert bool((state == minigrad.get_rng_state()).all())
    total = F.dropout(x + 1, 0.5).sum()
    total.backward()
    assert numbers(next(node for node in record(total).nodes if node.op == "dropout")).sum() == total.item()


def test_ops_of_the_program_do_not_run_again() -> None:
    calls: list[str] = []

    @op("dx = g", x=lambda g: g)
    def noisy(x: Any) -> Any:
        calls.append("noisy")
        return x + np.random.default_rng().normal(size=x.shape).astype(x.dtype)

    x = minigrad.ones(2, requires_grad=True)
    nodes = by_name(record((noisy(Cube.apply(x)) + 1).sum(), backward=False))
    assert calls == ["noisy"]
    assert all("Cube is user-defined" in nodes[name].missing for name in ("Cube", "add"))


def test_a_large_graph_is_not_computed_a_second_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "BUDGET", 50)
    x = minigrad.ones(10, requires_grad=True)
    loss = (x + 1 + 2 + 3 + 4).sum()
    computed = ["too large" not in node.missing for node in record(loss, backward=False).nodes]
    assert computed == [True, True, True, True, False, True]


def test_no_tensor_stays_alive_for_a_picture() -> None:
    x, target = minigrad.ones(5, 5, requires_grad=True), minigrad.ones(5, 5)
    weight, y = minigrad.ones(2, requires_grad=True), minigrad.zeros(2)
    y.add_(weight)
    y[0] = weight[1]  # a small constant that becomes a result makes no cycle
    both = weakref.ref(target), weakref.ref(y)
    loss = F.mse_loss(x, target)
    gc.disable()
    try:
        del target, y
        assert [each() for each in both] == [None, None]
    finally:
        gc.enable()
    record(loss, backward=False)
