"""A whole translator: what is shown on a parameter's edges sums to its ``.grad``, bit for bit (bar 4)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad import nn, viz
from minigrad.viz.graph.data import Graph, Node
from minigrad.viz.graph.record import record
from tests.support.transformers import sentences, small

pytestmark = pytest.mark.nightly


def tenfold(g: Any) -> Any:
    return g * 10


class Step(nn.Module):
    """A translator whose loss takes what is difficult: dropout, a layer that runs thrice, views of weights, changes
    in place, hooks, and gradients in the loss (``penalty``: the walk back is recorded, and gone back through)."""

    def __init__(self, penalty: bool) -> None:
        super().__init__()
        self.model, self.penalty = small(norm_first=penalty), penalty
        self.model.encoder = nn.ModuleList([self.model.encoder[0]] * 3)
        self.hooked = self.model.decoder[0].feed_forward.inner.weight
        self.hooked.register_hook(tenfold)

    def forward(self, source: Any, target: Any) -> Any:
        minigrad.manual_seed(1)  # the same dropout each time
        model = self.model
        loss = model.loss(source, target, label_smoothing=0.1)
        if self.penalty:
            slopes = minigrad.autograd.grad(loss, list(model.parameters()), create_graph=True)
            return loss + sum(slope.square().sum() for slope in slopes)
        memory, mask = model.encode(source)
        memory = memory.clone()
        memory[:, 0] = memory[:, 1] * 2
        memory.mul_(0.5).add_(model.embedding.weight[3])
        memory.register_hook(lambda g: g * 3)
        states = model.decode(target, memory, mask)
        states += 1
        first = states[:, 0]
        first *= model.decoder[0].feed_forward.outer.bias  # through a view
        query = model.decoder[0].self_attention.query
        rows = sum((row * query.bias).sum() for row in query.weight.unbind(0))
        table = model.embedding.weight
        return loss + states.square().mean() + 0.01 * rows + (table[2:5] @ query.weight.T).exp().sum()


def node_of(graph: Graph, name: str) -> Node:
    (node,) = (n for n in graph.nodes if name in n.attributes.get("names", n.name).split(", "))
    return node


def array(value: Any) -> Any:
    return np.array(value.table, value.dtype).reshape(value.shape)


def summed(graph: Graph, node: Node) -> Any:
    """What is shown on a node's edges, added up as the engine does: the youngest reader first."""
    edges = [e for e in graph.edges if e.source == node.id and e.gradient is not None]
    total: Any = None
    for edge in sorted(edges, key=lambda edge: -edge.target):  # of equal targets in their order
        total = array(edge.gradient) if total is None else total + array(edge.gradient)
    return total


@pytest.mark.parametrize("called", [True, False])
@pytest.mark.parametrize("penalty", [True, False])
def test_edges_sum_to_grad_for_every_parameter(penalty: bool, called: bool) -> None:
    step, inputs = Step(penalty), sentences()
    loss = step(*inputs)
    graph = record(step, inputs) if called else record(loss, modules={"": step})
    assert all(p.grad is None for p in step.parameters())  # drawing has touched none
    loss.backward()
    hooks = f"tenfold (tests/viz/graph/test_whole_models.py:{tenfold.__code__.co_firstlineno})"
    for name, p in step.model.named_parameters():
        node = node_of(graph, f"model.{name}")
        assert node.kind == "parameter"
        np.testing.assert_array_equal(summed(graph, node) * (10 if p is step.hooked else 1), p.grad.array, name)
        np.testing.assert_array_equal(array(node.gradient), p.grad.array, name)
        assert node.attributes.get("hooks") == (hooks if p is step.hooked else None)


@pytest.mark.parametrize("called", [False, True])
def test_the_layers_of_a_translator_fold_whole(called: bool) -> None:
    model, (source, target) = small(), sentences()
    view = viz.graph(model.loss, source, target) if called else viz.graph(model.loss(source, target))
    prefix, tree = "" if called else "model.", view.tree
    for stack in ("encoder", "decoder"):
        layers = {f"{prefix}{stack}.{i}" for i in range(2)}
        (repeat,) = [i for i, group in enumerate(tree.groups) if group.kind == "repeat" and group.path in layers]
        assert tree.groups[repeat].times == 2 and repeat not in tree.opened
        ops = [node for node in view.graph.nodes if node.kind == "op"]
        of_layers = [node for node in ops if any(f"{node.module}.".startswith(f"{path}.") for path in layers)]
        inside = set(tree.nodes(repeat))
        assert of_layers == [node for node in ops if node.id in inside]
        adds = [node for node in of_layers if node.op == "add"]
        assert len(adds) == (4 if stack == "encoder" else 6)  # one around each of their parts
    assert len(tree.boxes(tree.opened)) <= 15
