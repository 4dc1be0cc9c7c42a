"""Watched backward passes: edge gradients sum to ``.grad``, bit for bit (bar 4), and nothing else changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import minigrad
import minigrad.nn.functional as F
from minigrad import nn
from minigrad.autograd import Function
from minigrad.autograd.observer import Observer
from minigrad.autograd.tape import Node
from minigrad.autograd.walk import nodes_behind
from minigrad.utils.checkpoint import checkpoint
from minigrad.viz.graph.observe import watch_backward
from tests.support.cases import raises


class Collected(Observer):
    """Keeps copies of all gradients.

    Attributes:
        edges: by node and position. results: by node, or a leaf's id, and slot. order: the nodes.
    """

    def __init__(self) -> None:
        self.edges: dict[tuple[Node, int], Any] = {}
        self.results: dict[tuple[Node | int, int], Any] = {}
        self.order: list[Node] = []

    def arrived(self, target: Any, slot: int, gradient: Any) -> None:
        self.results[target if isinstance(target, Node) else id(target), slot] = gradient.copy()

    def delivered(self, node: Node, position: int, gradient: Any) -> None:
        self.edges[node, position] = gradient.copy()

    def passed(self, node: Node, gradients: Any) -> None:
        self.order.append(node)


class Twice(Function):
    """a + b, of which only b has a gradient here."""

    @staticmethod
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        return a + b

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return None, 2 * grad


def leaves(device: str, *shapes: tuple[int, ...]) -> list[Any]:
    return [minigrad.randn(*shape, device=device).requires_grad_() for shape in shapes]


def programs(device: str) -> Iterator[tuple[Any, list[Any]]]:
    """Losses, and their leaves: an operand twice, broadcasting, a Function, another dtype, checkpoints."""
    x, w, b = leaves(device, (3, 3), (3, 3), (3,))
    yield (x - x + x @ x + minigrad.cat([x, x])[:3] * x.sum(0)).sum(), [x]
    q, k = minigrad.cat([x + b, w])[:4].split(2)
    yield (q * k + b * 2.0).exp().mean(), [x, w, b]
    yield (Twice.apply(b, b) * b).sum() + b.double().pow(3).sum() + b.max(), [b]

    def layer(h: Any) -> Any:
        return F.dropout(minigrad.tanh(h @ w), 0.5)

    yield checkpoint(layer, checkpoint(layer, x, use_reentrant=False), use_reentrant=False).sum(), [x, w]


class Tied(nn.Module):
    """A language model with tied weights, a layer that runs twice, dropout, and changes in place."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(11, 8)
        self.block = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.out = nn.Linear(8, 11)
        self.out.weight = self.embedding.weight

    def forward(self, tokens: Any) -> Any:
        h = self.embedding(tokens)
        h = self.block(self.block(h))
        h = h.clone()
        h[:, 0] = h[:, 1] * 2
        h += 1
        return F.cross_entropy(self.out(h).reshape(-1, 11), tokens.reshape(-1))


def tied() -> tuple[Any, list[Any]]:
    model = Tied()
    return model(minigrad.randint(0, 11, (2, 5))), list(model.parameters())


def summed(found: Collected, leaf: Any) -> Any:
    """The gradients on the edges from a leaf, added up in the order in which they came."""
    total = None
    for (node, position), gradient in found.edges.items():
        if node.edges[position][0] is leaf:
            total = gradient.copy() if total is None else total + gradient
    return total


def check_sums(found: Collected, loss: Any) -> None:
    """What arrives is the sum of what was passed, from the youngest node to the oldest."""
    sums: dict[Any, Any] = {(loss._node, loss._slot): np.ones_like(loss.array)}
    for (node, position), gradient in found.edges.items():
        target, slot = node.edges[position][:2]
        key = (target if isinstance(target, Node) else id(target)), slot
        sums[key] = sums[key] + gradient if key in sums else gradient
    assert set(sums) == set(found.results)
    for key, total in sums.items():
        np.testing.assert_array_equal(found.results[key], total)
    assert found.order == sorted(nodes_behind((loss,)), key=lambda node: -node.order)


def test_edge_gradients_sum_to_grad_exactly(device: str) -> None:
    for loss, parameters in [*programs(device), *([tied()] if device == "cpu" else [])]:
        found = Collected()
        watch_backward(loss, found)
        assert all(p.grad is None for p in parameters)
        if device == "cpu":
            check_sums(found, loss)
        loss.backward()  # the graph is as it was
        for p in parameters:
            assert bool((summed(found, p) == p.grad.array).all())
            assert bool((found.results[id(p), 0] == p.grad.array).all())
            p.grad = None


def test_hooks_that_replace_gradients_are_heard_and_retained_grads_are_not_touched() -> None:
    x = minigrad.tensor([1.0, 2.0]).requires_grad_()
    h = x * 3
    h.register_hook(lambda g: g * 10)
    h.retain_grad()
    x.register_hook(lambda g: g + 1)
    loss = h.sum()
    found = Collected()
    watch_backward(loss, found)
    assert h.grad is None
    assert found.results[h.grad_fn, 0].tolist() == [10, 10]
    assert found.results[id(x), 0].tolist() == [31, 31]
    loss.backward()
    assert h.grad.tolist() == [10, 10]  # once
    assert x.grad.tolist() == [31, 31]


def test_edges_are_put_back_where_a_rule_fails() -> None:
    class Fails(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            raise ValueError("no")

    x = minigrad.ones(2).requires_grad_()
    y = Fails.apply(x)
    raises(ValueError, "no", lambda: watch_backward(y, Collected()))
    assert y.grad_fn.edges[0][0] is x
