"""A whole translator: what is shown on a parameter's edges sums to its ``.grad``, bit for bit (bar 4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad import nn, viz
from minigrad.models.transformer import Transformer
from minigrad.viz.graph.data import Graph, Node
from minigrad.viz.graph.record import record
from tests.support.transformers import sentences, small

pytestmark = pytest.mark.nightly
Way = Callable[[Transformer, Any, Any], Any]


class Step(nn.Module):
    """A translator, and how its loss is found."""

    def __init__(self, way: Way, **sizes: Any) -> None:
        super().__init__()
        self.model, self.way = small(**sizes), way

    def forward(self, source: Any, target: Any) -> Any:
        minigrad.manual_seed(1)  # the same dropout each time
        return self.way(self.model, source, target)


# Ways to train it -----------------------------------------------------------------------------------------


def usual(model: Transformer, source: Any, target: Any) -> Any:
    return model.loss(source, target, label_smoothing=0.1)


def one_layer_for_all(model: Transformer, source: Any, target: Any) -> Any:
    model.encoder = nn.ModuleList([model.encoder[0]] * 3)
    return usual(model, source, target)


def views_of_weights(model: Transformer, source: Any, target: Any) -> Any:
    table, query = model.embedding.weight, model.decoder[0].self_attention.query
    extra = (table[2:5] @ query.weight.T).exp().sum() + table.view(-1)[::3].square().sum()
    for row in query.weight.unbind(0):
        extra = extra + (row * query.bias).sum()
    return usual(model, source, target) + 0.01 * extra


def changes_in_place(model: Transformer, source: Any, target: Any) -> Any:
    memory, mask = model.encode(source)
    memory = memory.clone()
    memory[:, 0] = memory[:, 1] * 2
    memory.mul_(0.5).add_(model.embedding.weight[3])
    states = model.decode(target, memory, mask)
    states += 1
    first = states[:, 0]
    first *= model.decoder[0].feed_forward.outer.bias  # through a view
    return states.square().mean()


def hooks_between(model: Transformer, source: Any, target: Any) -> Any:
    memory, mask = model.encode(source)
    memory.register_hook(lambda g: g * 3)
    memory.retain_grad()
    return model.decode(target, memory, mask).square().mean()


def gradient_penalty(model: Transformer, source: Any, target: Any) -> Any:
    """A loss with gradients in it: the walk back is recorded, and gone back through."""
    loss = usual(model, source, target)
    slopes = minigrad.autograd.grad(loss, list(model.parameters()), create_graph=True)
    return loss + sum(slope.square().sum() for slope in slopes)


WAYS: dict[Way, bool] = {  # and whether the graph is of a call, or of its loss
    usual: True,
    one_layer_for_all: True,
    views_of_weights: False,
    changes_in_place: False,
    hooks_between: True,
    gradient_penalty: False,
}


def drawn(step: Step, called: bool, given: tuple[Any, Any]) -> tuple[Graph, Any]:
    """The graph of a step, from the call or from its loss, and a loss to go back from."""
    if called:
        return record(step, given), step(*given)
    loss = step(*given)
    return record(loss, modules={"": step}), loss


def node_of(graph: Graph, name: str) -> Node | None:
    """The only node of a parameter; None where the loss does not depend on it."""
    found = [n for n in graph.nodes if name in n.attributes.get("names", n.name).split(", ")]
    assert len(found) <= 1
    return found[0] if found else None


def array(value: Any) -> Any:
    """All elements of what is shown."""
    assert value is not None
    assert value.table is not None
    return np.array(value.table, value.dtype).reshape(value.shape)


def summed(graph: Graph, node: Node) -> Any:
    """What is shown on a node's edges, added up as the engine does: the youngest reader first."""
    edges = [e for e in graph.edges if e.source == node.id and e.gradient is not None]
    total: Any = None
    for edge in sorted(edges, key=lambda edge: -edge.target):  # of equal targets in their order
        total = array(edge.gradient) if total is None else total + array(edge.gradient)
    return total


@pytest.mark.parametrize("way", WAYS)
def test_edges_sum_to_grad_for_every_parameter(way: Way) -> None:
    step = Step(way, norm_first=WAYS[way])
    graph, loss = drawn(step, WAYS[way], sentences())
    assert all(p.grad is None for p in step.parameters())  # drawing has touched none
    loss.backward()
    for name, p in step.named_parameters():
        node = node_of(graph, name)
        assert node is not None and node.kind == "parameter", name
        np.testing.assert_array_equal(summed(graph, node), p.grad.array, name)
        np.testing.assert_array_equal(array(node.gradient), p.grad.array, name)


def test_a_hook_on_a_parameter_is_named_where_it_makes_the_difference() -> None:
    def tenfold(g: Any) -> Any:
        return g * 10

    step = Step(usual)
    weight = step.model.decoder[0].feed_forward.inner.weight
    weight.register_hook(tenfold)
    graph, loss = drawn(step, True, sentences())
    loss.backward()
    hooks = f"tenfold (tests/viz/graph/test_whole_models.py:{tenfold.__code__.co_firstlineno})"
    for name, p in step.named_parameters():
        node = node_of(graph, name)
        assert node is not None
        np.testing.assert_array_equal(summed(graph, node) * (10 if p is weight else 1), p.grad.array, name)
        np.testing.assert_array_equal(array(node.gradient), p.grad.array, name)
        assert node.attributes.get("hooks") == (hooks if p is weight else None)


# What folds -----------------------------------------------------------------------------------------------


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
