"""``autograd.graph``: hooks on several gradients, edges, and versions, as in PyTorch."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.cases import raises


def leaves(t: Any, count: int) -> list[Any]:
    return [t.tensor([float(i + 1)], requires_grad=True) for i in range(count)]


def test_all_gradients_come_at_once(t: Any) -> None:
    a, b, c = leaves(t, 3)
    h = a * b
    calls: list[list[float | None]] = []
    handle = t.autograd.graph.register_multi_grad_hook(
        [a, h, c], lambda grads: calls.append([g if g is None else g.item() for g in grads])
    )
    (h * c).sum().backward(retain_graph=True)
    assert calls == [[6.0, 3.0, 2.0]]
    h.sum().backward(retain_graph=True)  # c is not reached
    assert calls[1:] == [[2.0, 1.0, None]]
    t.autograd.grad((h * c).sum(), [h], retain_graph=True)  # neither a nor c is reached
    assert calls[2:] == [[None, 3.0, None]]
    handle.remove()
    h.sum().backward()
    assert len(calls) == 3


def test_any_gradient_counts_once_in_each_pass(t: Any) -> None:
    a, b = leaves(t, 2)
    calls: list[float] = []
    with t.autograd.graph.register_multi_grad_hook([a, b], lambda g: calls.append(g.item()), mode="any"):
        for _ in range(2):
            (a * 2 + b * 2).sum().backward()
    (a * 2).sum().backward()
    assert calls == [2.0, 2.0]


def test_a_tensor_twice(t: Any) -> None:
    (a,) = leaves(t, 1)
    calls: list[int] = []
    t.autograd.graph.register_multi_grad_hook([a, a], lambda grads: calls.append(len(grads)))
    (a * a).sum().backward()
    assert calls == [2]


def test_modes_and_tensors_are_checked(t: Any) -> None:
    raises(ValueError, "mode", lambda: t.autograd.graph.register_multi_grad_hook(leaves(t, 1), print, mode="some"))
    raises((RuntimeError, AssertionError), None, lambda: t.autograd.graph.register_multi_grad_hook([t.ones(1)], print))


def test_edges(t: Any) -> None:
    (a,) = leaves(t, 1)
    edge = t.autograd.graph.get_gradient_edge(a * 2)
    assert edge.node.name() == "MulBackward0" and edge.output_nr == 0
    assert t.autograd.graph.get_gradient_edge(t.stack([a, a]).unbind()[1]).output_nr == 1
    leaf = t.autograd.graph.get_gradient_edge(a)
    assert leaf.node.name().endswith("AccumulateGrad") and leaf.node.variable is a
    raises(RuntimeError, "gradient edge", lambda: t.autograd.graph.get_gradient_edge(t.ones(1)))


def test_a_change_that_autograd_does_not_see(t: Any) -> None:
    (a,) = leaves(t, 1)
    h = a * 2
    out = (h * h).sum()
    t.autograd.graph.increment_version(h)
    raises(RuntimeError, "modified by an inplace", out.backward)
    b, c = leaves(t, 2)
    products = [(x * x).sum() for x in (b, c)]
    t.autograd.graph.increment_version([b, c])
    for product in products:
        with pytest.raises(RuntimeError, match="modified by an inplace"):
            product.backward()
