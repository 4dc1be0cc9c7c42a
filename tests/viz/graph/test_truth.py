"""The first pictures that a learner draws: values, names, shapes and classes against direct computation."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad as mg
import minigrad.nn.functional as F
from minigrad import nn, viz
from minigrad.viz.graph.fold import labels, tree
from minigrad.viz.graph.graph_data import Graph, Node


def leaves(graph: Graph) -> dict[str, Node]:
    """The leaves by name; checks that names are distinct."""
    nodes = [node for node in graph.nodes if node.kind != "op"]
    names = {node.name: node for node in nodes}
    assert len(names) == len(nodes), [node.name for node in nodes]
    return names


def check(node: Node, expected: Any) -> None:
    """Check that a node shows an array: its shape, and its numbers, or the statistics of a large array."""
    array, value = np.asarray(expected), node.value
    assert value is not None and node.missing == "", node
    assert value.shape == array.shape, node.name
    if value.table is not None:
        np.testing.assert_allclose(np.array(value.table).reshape(array.shape), array, rtol=2e-5, atol=1e-6)
    else:
        norm = np.linalg.norm(array.astype(np.float64))
        np.testing.assert_allclose(value.statistics["norm"], norm, rtol=1e-4)


def test_leaves_without_a_name_are_named_after_their_creation() -> None:
    a = mg.tensor(2.0, requires_grad=True)
    params = [mg.tensor(1.0, requires_grad=True), mg.tensor(3.0)]

    class Own:
        def __init__(self) -> None:
            self.scale = mg.tensor(0.5)

    own = Own()
    y = a * mg.tensor(4.0, requires_grad=True) + mg.tensor([2.0, 3.0]) * params[0] + params[1] + own.scale
    graph = viz.graph((y + mg.tensor([2.0, 3.0])).sum()).graph
    assert list(leaves(graph)) == [
        *("a", "mg.tensor(4.0, requires_grad=True)", "params[0]", "mg.tensor([2.0, 3.0])", "params[1]", "own.scale"),
        "mg.tensor([2.0, 3.0]) (2)",
    ]

    def draw(loss: Any) -> Graph:  # the variables are the calling function's
        return viz.graph(loss).graph

    call = lambda x: x * mg.tensor(4.0) + own.scale + mg.ones(2)
    assert set(leaves(viz.graph(call, a).graph)) == {"x", "mg.tensor(4.0)", "own.scale", "mg.ones(2)"}
    weight, net = mg.ones(2, requires_grad=True), nn.Linear(2, 1)
    assert set(leaves(draw(net(weight * 2)))) == {"weight", "net.weight", "net.bias"}
    batch = {" ": mg.ones(2), "\n": mg.ones(2), "mask": mg.ones(2)}
    graph = viz.graph(lambda batch: sum(weight * tensor for tensor in batch.values()), batch).graph
    assert set(leaves(graph)) == {"weight", "batch[' ']", r"batch['\n']", "batch.mask"}


N, C = 4, 3
REAL: Any = lambda: mg.rand(N, C) * 0.8 + 0.1
CLASSES: Any = lambda: mg.tensor([0, 2, 1, 1])
SIGNS: Any = lambda: mg.tensor([[1.0, -1.0, 1.0]] * N)
LOSSES: dict[str, tuple[Callable[..., Any], Callable[[], Any]]] = {
    "mse": (F.mse_loss, REAL),
    "l1": (F.l1_loss, REAL),
    "huber": (F.huber_loss, REAL),
    "bce": (lambda x, target: F.binary_cross_entropy(x.sigmoid(), target), REAL),
    "bce_logits": (F.binary_cross_entropy_with_logits, REAL),
    "kl": (F.kl_div, REAL),
    "poisson": (F.poisson_nll_loss, REAL),
    "gaussian": (lambda x, target: F.gaussian_nll_loss(x, target, 0.5), REAL),
    "cross_entropy": (F.cross_entropy, CLASSES),
    "cross_entropy_soft": (F.cross_entropy, REAL),
    "nll": (lambda x, target: F.nll_loss(x.log_softmax(-1), target), CLASSES),
    "multilabel_margin": (F.multilabel_margin_loss, lambda: mg.tensor([[0, 2, -1]] * N)),
    "hinge_embedding": (F.hinge_embedding_loss, SIGNS),
    "margin_ranking": (lambda x, target: F.margin_ranking_loss(x, x * 2, target), SIGNS),
    "cosine_embedding": (lambda x, target: F.cosine_embedding_loss(x, x * 2, target), lambda: mg.ones(N)),
    "linear_cross_entropy": (lambda x, target: F.linear_cross_entropy(x, mg.ones(5, C), target), CLASSES),
}
READ_AS_IT_IS = {"mse", "l1", "huber", "bce", "kl", "poisson", "gaussian", "cross_entropy"}


def test_the_target_of_a_loss_is_drawn() -> None:
    for name, (function, make) in LOSSES.items():
        for as_call in (False, True):
            mg.manual_seed(0)
            x, target = mg.randn(N, C, requires_grad=True), make()
            graph = viz.graph(function, x, target).graph if as_call else viz.graph(function(x, target)).graph
            constants = {key: leaf for key, leaf in leaves(graph).items() if leaf.kind == "constant"}
            names = [key for key in constants if key.split(" (")[0] == "target"]
            assert names or not (as_call or name in READ_AS_IT_IS), (name, as_call)
            if "target" in names:
                check(constants["target"], target.array)
            leaf = constants[next(iter(names or constants))]
            assert leaf.value is not None and leaf.missing == "", (name, as_call)
            readers = {edge.target for edge in graph.edges if edge.source == leaf.id}
            assert readers and all(graph.nodes[number].kind == "op" for number in readers), (name, as_call)


@pytest.mark.parametrize("as_call", [False, True])
def test_an_mlp(as_call: bool) -> None:
    mg.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2), nn.ReLU())
    x, y = mg.randn(5, 3), mg.randn(5, 2)

    loss_of = lambda x, y: F.mse_loss(model(x), y)
    graph = viz.graph(loss_of, x, y).graph if as_call else viz.graph(loss_of(x, y)).graph
    prefix = "Sequential" if as_call else "model"
    assert set(leaves(graph)) == {f"{prefix}.{i}.{kind}" for i in (0, 2) for kind in ("weight", "bias")} | {"x", "y"}
    first = model[0](x).array
    hidden = np.tanh(first)
    second = model[2](mg.tensor(hidden)).array
    out = np.maximum(second, 0)
    expected = [first, hidden, second, out, out - y.array, (out - y.array) ** 2, ((out - y.array) ** 2).mean()]
    for node, value in zip([node for node in graph.nodes if node.kind == "op"], expected, strict=True):
        check(node, value)
    for name, leaf in leaves(graph).items():
        inputs = {"x": x, "y": y}
        check(leaf, (inputs[name] if name in inputs else model.get_parameter(name.removeprefix(f"{prefix}."))).array)
    folded = tree(graph, repeats=False, budget=200)
    lines = [labels(graph, folded)[f"n{number}"].line for number in sorted(folded.names)]
    texts = ["  ".join(text for text, _ in line) for line in lines]
    assert [text for text in texts if text[0].isdigit()] == ["0  Linear", "1  Tanh", "2  Linear", "3  ReLU"]


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))
        self.dropout = nn.Dropout(0.5)

    def forward(self, x: Any) -> Any:
        return x + self.dropout(self.inner(x))


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([Block(4), Block(4)])
        self.head = nn.Linear(4, 2)

    def forward(self, x: Any) -> Any:
        for block in self.blocks:
            x = block(x)
        return self.head(x).relu()


@pytest.mark.parametrize("as_call", [False, True])
def test_a_residual_connection_is_in_its_block(as_call: bool) -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=as_call)
    for model, shape, blocks in (
        (Net(), (3, 4), ["blocks.0", "blocks.1"]),
        (nn.Sequential(Block(4), Block(4)), (3, 4), ["0", "1"]),
        (nn.TransformerEncoder(layer, 2), (1, 3, 8), ["layers.0"] * 2 + ["layers.1"] * 2),
    ):
        x = mg.randn(*shape)
        graph = viz.graph(model, x).graph if as_call else viz.graph(model(x).square(), modules={"": model}).graph
        assert [node.module for node in graph.nodes if node.op == "add"] == blocks
        relu = [node for node in graph.nodes if node.op == "relu" and node.module == ""]
        assert len(relu) == isinstance(model, Net)  # ops of the net itself belong to no submodule
