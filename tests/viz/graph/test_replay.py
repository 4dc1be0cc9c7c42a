"""A graph with changed numbers equals the graph of a program with these numbers."""

from functools import partial
from typing import Any

import numpy as np
import pytest

import minigrad
import minigrad.nn.functional as F
from minigrad import viz
from minigrad.viz.graph import GraphView, graph_record
from minigrad.viz.graph.replay import UnknownError
from tests.support.cases import raises
from tests.support.functions import Cube
from tests.support.graphs import check_same
from tests.support.transformers import sentences, small


def numbers(view: GraphView, name: str, gradient: bool = False) -> Any:
    """All numbers of a node, given by name, or of its gradient."""
    (node,) = (node for node in view.graph.nodes if node.name == name)
    value = node.gradient if gradient else node.value
    return np.array(value.table).reshape(value.shape)


@pytest.mark.nightly
def test_a_translator_replays_identically() -> None:
    view = viz.graph(small().loss, *sentences())
    check_same(view.graph, view.replay.changed({}))


def neuron(weight: float, bias: float = 0.5) -> GraphView:
    w = minigrad.tensor([2.0, weight], requires_grad=True)
    x = minigrad.tensor([1.0, 3.0])
    b = minigrad.tensor(bias, requires_grad=True)
    loss = ((w * x).sum() + b).tanh()
    return viz.graph(loss)


def test_a_changed_leaf_equals_a_program_with_this_number() -> None:
    check_same(neuron(-1.0).change("w", 0.25, 1).graph, neuron(0.25).graph)
    check_same(neuron(-1.0).change("b", 0.75).change("w", 0.25, 1).graph, neuron(0.25, 0.75).graph)
    constant = neuron(-1.0).change("x", 0.0)
    assert numbers(constant, "loss") == np.float32(np.tanh(np.float32(0.5)))
    assert numbers(constant, "w", gradient=True).tolist() == [0, 0]


def test_the_difference_is_added_to_a_changed_result() -> None:
    view = neuron(-1.0).change("add", 0.25)
    derivative = 1 - np.tanh(0.25) ** 2
    np.testing.assert_allclose(numbers(view, "loss"), np.tanh(0.25), rtol=1e-6)
    np.testing.assert_allclose(numbers(view, "w", gradient=True), [derivative, 3 * derivative], rtol=1e-6)
    assert numbers(view, "sum") == -1
    end = neuron(-1.0).change("loss", 7.0)  # tanh's rule reads the result that tanh computed
    check = numbers(neuron(-1.0), "b", gradient=True)
    assert (numbers(end, "loss"), numbers(end, "b", gradient=True)) == (7, check)


def test_the_programs_tensors_are_unchanged() -> None:
    w = minigrad.tensor([1.0, 2.0], requires_grad=True)
    loss = (w * w).sum()
    loss.backward()
    before = w.grad.tolist()
    version = w._changes[0]
    view = viz.graph(loss, colour="gradient", depth=1).change("w", 5.0)
    assert (view.colour, view.depth) == ("gradient", 1)  # it looks the same
    assert numbers(view, "w").tolist() == [5, 5]
    assert numbers(view, "w", gradient=True).tolist() == [10, 10]
    assert (w.tolist(), w.grad.tolist(), w._changes[0], loss.item()) == ([1, 2], before, version, 5)


def test_a_graph_freed_by_backward_can_be_replayed() -> None:
    w = minigrad.tensor([1.0, 2.0], requires_grad=True)
    loss = (w * w).sum()
    loss.backward()
    view = viz.graph(loss)
    assert [node.gradient is not None for node in view.graph.nodes] == [True, False, False]
    assert all(node.gradient is not None for node in view.change("w", 2.0).graph.nodes)


def test_integers_and_bools_accept_only_valid_values() -> None:
    x = minigrad.tensor([1.0, 2.0, 3.0], requires_grad=True)
    index, mask = minigrad.tensor([0, 2]), minigrad.tensor([True, False, True])
    view = viz.graph(x.gather(0, index).sum() + x.masked_fill(mask, 0.0).sum())
    assert numbers(view.change("index", 1, 0), "x", gradient=True).tolist() == [0, 2, 1]
    assert numbers(view.change("mask", 0, 0), "x", gradient=True).tolist() == [2, 1, 1]
    for name, wrong in (("index", 0.5), ("mask", 2)):
        raises(ValueError, "cannot be represented in dtype", partial(view.change, name, wrong, 0))
    raises(RuntimeError, "does not run with these numbers", lambda: view.change("index", 7, 0))


def test_unknown_names_and_places() -> None:
    view = neuron(1.0)
    for name in ("v", "W"):
        raises(KeyError, "no nodes are called", partial(view.change, name, 1.0))
    with pytest.raises(KeyError, match="2 nodes are called 'relu'"):
        viz.graph(F.relu(F.relu(minigrad.ones(2, requires_grad=True)))).change("relu", 1.0)
    for place in (2, -1):
        raises(IndexError, f"index {place} is out of range for 2 numbers", partial(view.change, "w", 1.0, place))
    raises(IndexError, None, lambda: view.change(99, 1.0))


def test_graphs_that_cannot_be_replayed_say_why() -> None:
    w = minigrad.ones(40, requires_grad=True)
    for result, message in ((Cube.apply(w), "Cube is a user-defined Function"), (w + minigrad.rand(40), "gone")):
        with pytest.raises(UnknownError, match=message):
            viz.graph(result.sum()).change("w", 1.0)


def test_a_large_graph_keeps_no_tape(monkeypatch: pytest.MonkeyPatch) -> None:
    w = minigrad.ones(4, requires_grad=True)
    monkeypatch.setattr(graph_record, "MOST", 8)  # w is a leaf that the op reads
    assert viz.graph(w * 2).replay is not None
    monkeypatch.setattr(graph_record, "MOST", 7)
    view = viz.graph(w * 2)
    assert view.replay is None
    raises(RuntimeError, "cannot be recomputed", lambda: view.change("w", 1.0))
