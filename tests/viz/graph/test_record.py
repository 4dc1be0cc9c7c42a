"""Graphs of calls and tensors: names, modules, lines, values, memory and gradients."""

import json
import sys
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest

import minigrad
import minigrad.nn.functional as F
from minigrad import nn
from minigrad.autograd import Function
from minigrad.utils.checkpoint import checkpoint
from minigrad.viz.graph import graph_data as data
from minigrad.viz.graph.graph_view import graph
from tests.support.cases import raises
from tests.support.graphs import check_sum, record


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x: Any) -> Any:
        scores = self.linear(x).relu() + x
        return scores


class Net(nn.Module):
    def __init__(self, device: str = "cpu") -> None:
        super().__init__()
        self.embedding = nn.Embedding(7, 4)
        self.blocks = nn.ModuleList([Block(4), Block(4)])
        self.out = nn.Linear(4, 7, bias=False)
        self.out.weight = self.embedding.weight
        self.to(device)

    def forward(self, tokens: Any, scale: float = 1.0) -> Any:
        h = self.embedding(tokens)
        for block in self.blocks:
            h = block(h)
        logits = self.out(h)
        return F.cross_entropy(logits.reshape(-1, 7), tokens.reshape(-1)) * scale


def one(graph: data.Graph, **attributes: Any) -> data.Node:
    """The only node with these attributes."""
    nodes = [n for n in graph.nodes if all(getattr(n, key) == value for key, value in attributes.items())]
    assert len(nodes) == 1, (attributes, [(n.kind, n.op, n.name) for n in nodes])
    return nodes[0]


def into(graph: data.Graph, node: data.Node) -> dict[str, data.Edge]:
    return {edge.input: edge for edge in graph.edges if edge.target == node.id}


def listed(value: data.Value | None) -> Any:
    return value.table


def tokens(device: str = "cpu") -> Any:
    return minigrad.tensor([[1, 2, 3], [4, 5, 6]], device=device)


def leaf(*numbers: float) -> Any:
    return minigrad.tensor(numbers or [1.0, 1.0]).requires_grad_()


def test_nodes_follow_their_inputs_and_edges_are_named(device: str) -> None:
    graph = record(Net(device), (tokens(device),))
    assert graph.title == "Net"
    assert [node.id for node in graph.nodes] == list(range(len(graph.nodes)))
    assert all(edge.source < edge.target for edge in graph.edges)
    assert graph.nodes[graph.output].op == "mul"
    edges = into(graph, one(graph, op="embedding"))
    assert graph.nodes[edges["weight"].source].name == "embedding.weight"
    indices = graph.nodes[edges["indices"].source]
    assert (indices.name, indices.kind, edges["indices"].gradient) == ("tokens", "constant", None)
    for node in graph.nodes:
        assert node.value is not None and node.value.device.startswith(device)
        times = (node.forward_seconds, node.backward_seconds)
        assert all(t is not None and t > 0 for t in times) if node.kind == "op" else times == (None, None)
    json.dumps(asdict(graph))


def test_parameters_are_named_by_path_and_results_by_variable() -> None:
    graph = record(Net().forward, (tokens(),))
    assert graph.modules[""].kind == "Net"  # a method counts as its module
    tied = one(graph, name="embedding.weight")
    assert (tied.kind, tied.module) == ("parameter", "embedding")
    assert tied.attributes["names"] == "embedding.weight, out.weight"
    assert one(graph, name="blocks.1.linear.bias").module == "blocks.1.linear"
    assert one(graph, name="logits").op == "linear"
    assert [n.op for n in graph.nodes if n.name == "scores"] == ["add", "add"]
    assert [n.op for n in graph.nodes if n.name == "h"] == ["embedding"]  # the blocks' results already have names
    assert one(graph, op="cross_entropy").name == "cross_entropy"


def test_names_are_the_bound_variables() -> None:
    def call(x: Any) -> Any:
        q, k = x * 2, (x * 3) + 1
        for _ in range(2):
            q = q.exp()
        first, second = x.split(1)
        z = q + k
        again = z
        return (again + first + second).sum()

    graph = record(call, (minigrad.ones(2).requires_grad_(),))
    assert [n.op for n in graph.nodes if n.name == "q"] == ["mul", "exp", "exp"]
    assert [n.op for n in graph.nodes if n.name == "k"] == ["add"]
    assert one(graph, op="split").name == "first, second"
    assert one(graph, name="z").op == "add"
    assert [n.name for n in graph.nodes if n.op == "mul"] == ["q", "mul"]
    assert graph.title == "call"


def test_modules_have_their_ancestors_and_equal_ones_match() -> None:
    graph = record(Net(), (tokens(),))
    modules = graph.modules
    blocks = {f"blocks.{i}{name}" for i in range(2) for name in ("", ".linear")}
    assert set(modules) == {"", "blocks", "embedding", "out"} | blocks
    assert (modules[""].kind, modules["blocks"].kind) == ("Net", "ModuleList")
    assert modules["blocks.0"].alike == modules["blocks.1"].alike != ""
    assert modules["blocks.0.linear"].alike != modules["blocks.0"].alike
    assert modules["out"].text == "in_features=4, out_features=7, bias=False"
    assert one(graph, op="embedding").module == "embedding" and graph.nodes[graph.output].module == ""
    assert [n.module for n in graph.nodes if n.op == "relu"] == ["blocks.0", "blocks.1"]
    layers = (nn.Linear(2, 2), nn.Linear(2, 2, bias=False), nn.Linear(2, 2), nn.LayerNorm(2, eps=1e-3))
    modules = record(nn.Sequential(*layers), (minigrad.ones(1, 2),)).modules
    assert modules["0"].alike == modules["2"].alike and len({modules[name].alike for name in "013"}) == 3


def test_a_functions_modules_are_named_by_class_and_lists_by_caller() -> None:
    plain, head = [nn.Linear(3, 3), nn.Linear(3, 3)], nn.Linear(3, 1)

    class Holder(nn.Module):
        def forward(self, x: Any) -> Any:
            return plain[0](x)

    net = Holder()
    graph = record(lambda x: head(net(x)).sum(), (minigrad.ones(2, 3),))
    paths = {"Holder.Linear", "Linear"}
    assert {n.module for n in graph.nodes if n.op == "linear"} == paths and graph.modules[""].kind == ""
    names = {f"{path}.{name}" for path in paths for name in ("weight", "bias")}
    assert {n.name for n in graph.nodes if n.kind == "parameter"} == names


def test_each_op_knows_the_line_that_made_it() -> None:
    graph = record(Net(), (tokens(),))
    relu = next(n for n in graph.nodes if n.op == "relu")
    assert relu.code == "scores = self.linear(x).relu() + x"
    assert relu.place == f"tests/viz/graph/test_record.py:{Block.forward.__code__.co_firstlineno + 1}"
    # An op called by the library has the user's line.
    assert next(n for n in graph.nodes if n.op == "linear").code == relu.code


def test_arguments_that_are_not_tensors_are_shown_by_name() -> None:
    def call(x: Any) -> Any:
        y = x[:, 1:, None].softmax(-1).sum(dim=1, keepdim=True).to(minigrad.float64) * 2
        return y.sum()

    graph = record(call, (minigrad.ones(2, 3).requires_grad_(),))
    assert one(graph, op="getitem").attributes == {"index": "[:, 1:, None]"}
    sums = [n.attributes for n in graph.nodes if n.op == "sum"]
    assert sums == [{"dim": "1", "keepdim": "True"}, {"keepdim": "False"}]
    assert one(graph, op="cast").attributes == {"dtype": "float64"}
    assert one(graph, op="mul").attributes == {"b": "2"}


def test_values_are_recorded_at_the_time_of_the_op() -> None:
    def call(x: Any) -> Any:
        y = x * 2
        z = y + 1
        y.mul_(10)
        return (z * y).sum()

    graph = record(call, (minigrad.tensor([1.0, 2.0]).requires_grad_(),))
    first, second = (n for n in graph.nodes if n.op == "mul" and n.name == "y")
    values = [listed(node.value) for node in (first, second, one(graph, name="z"), one(graph, name="x"))]
    assert values == [[[2, 4]], [[20, 40]], [[3, 5]], [[1, 2]]]


def test_gradients_match_the_engine(device: str) -> None:
    net = Net(device)
    graph = record(net, (tokens(device),))
    assert graph.backward == "done"
    assert all(p.grad is None for p in net.parameters())
    net(tokens(device)).backward()
    for name, p in net.named_parameters():
        assert listed(one(graph, name=name).gradient) == p.grad.reshape(-1, p.shape[-1]).tolist()
    tied = one(graph, name="embedding.weight")
    edges = [e for e in graph.edges if e.source == tied.id]
    total = sum(np.array(listed(e.gradient), np.float32) for e in edges)
    assert len(edges) == 2
    np.testing.assert_array_equal(total, np.array(listed(tied.gradient), np.float32))
    assert listed(graph.nodes[graph.output].gradient) == [[1]]


class Second(Function):
    """a + b, where only b gets a gradient."""

    @staticmethod
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        return a + b

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        if len(grad) == 1:
            raise ValueError("no")
        return None, 2 * grad


def test_edges_of_difficult_programs_sum_to_grad_bit_for_bit(device: str) -> None:
    """A repeated operand, broadcasting, a Function, another dtype, checkpoints, and in-place changes."""
    x, w, b = (minigrad.randn(*shape, device=device).requires_grad_() for shape in ((3, 3), (3, 3), (3,)))
    q, k = minigrad.cat([x + b, w])[:4].split(2)
    layer = lambda h: F.dropout(minigrad.tanh(h @ w), 0.5)
    states = x.clone()
    states[:, 0] = states[:, 1] * 2
    states += 1
    for loss in (
        (x - x + x @ x + minigrad.cat([x, x])[:3] * x.sum(0)).sum(),
        (q * k + b * 2.0).exp().mean(),
        (Second.apply(b, b) * b).sum() + b.double().pow(3).sum() + b.max(),
        checkpoint(layer, checkpoint(layer, x, use_reentrant=False), use_reentrant=False).sum(),
        states.square().mean(),
    ):
        graph = record(loss)
        assert all(p.grad is None for p in (x, w, b))
        loss.backward()  # the graph is unchanged
        for node in graph.nodes:
            check_sum(graph, node.id)
        for name, p in (("x", x), ("w", w), ("b", b)):
            if p.grad is not None:
                assert listed(one(graph, name=name).gradient) == p.grad.reshape(-1, 3).tolist()
                p.grad = None


def test_edges_are_restored_if_a_rule_fails() -> None:
    x = leaf(1.0)
    y = Second.apply(x, x)
    raises(ValueError, "no", lambda: record(y))
    assert y.grad_fn.edges[0][0] is x


def test_memory_is_counted_once_and_parameters_are_free() -> None:
    def call(x: Any, w: nn.Parameter) -> Any:
        h = (x * 2).exp()
        return (h * h * w).sum()

    weight = nn.Parameter(minigrad.ones(4))
    graph = record(call, (minigrad.ones(4).requires_grad_(), weight))
    exp = one(graph, op="exp")
    assert exp.saved == [data.Saved("out", 16, exp.id)]
    square, product = (n for n in graph.nodes if n.op == "mul" and n.name == "mul" and not n.attributes)
    assert square.saved == [data.Saved("a", 0, exp.id), data.Saved("b", 0, exp.id)]
    assert product.saved == [data.Saved("a", 16, square.id), data.Saved("b", 0, one(graph, name="w").id)]
    assert not any(n.released for n in graph.nodes)
    graph = record(lambda x: (x * 3)[0].pow(2.5), (minigrad.ones(100).requires_grad_(),))
    power = one(graph, op="pow")
    assert [s.bytes for s in power.saved if s.name == "a"] == [400]  # a view keeps its whole memory alive


def test_kernels_and_functions_report_saved_memory() -> None:
    class Scale(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, factor: Any) -> Any:
            ctx.save_for_backward(x)
            ctx.factor = np.full(5, factor)
            return x * factor

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * float(ctx.factor[0]), None

    first = Scale
    other = type("Scale", (Scale,), {})  # with the same name
    x = minigrad.randn(2, 4).requires_grad_()
    graph = record(lambda x: other.apply(first.apply(F.layer_norm(x, (4,)), 3.0), 2.0).sum(), (x,))
    assert set(graph.ops) == {"layer_norm", "Scale", "Scale 2", "sum"} and graph.title == "<lambda>"
    norm, scale = one(graph, op="layer_norm"), one(graph, op="Scale")
    assert {s.name: s.bytes for s in norm.saved} == {"x": 32, "kernel": 16}
    assert {s.name: s.bytes for s in scale.saved} == {"saved_tensors 0": 32, "ctx.factor": 40}
    assert scale.attributes == {"factor": "3.0"} and set(into(graph, scale)) == {"x"}
    assert "backward" in graph.ops["Scale"].rules


def test_several_results_have_slots_and_variadic_inputs_numbers() -> None:
    def call(x: Any) -> Any:
        a, _, c = x.unbind(0)
        return (a * c).sum()

    graph = record(call, (minigrad.ones(3, 2).requires_grad_(),))
    edges = into(graph, one(graph, op="mul"))
    assert (edges["a"].slot, edges["b"].slot) == (0, 2) and edges["a"].source == edges["b"].source
    graph = record(lambda x: minigrad.cat([x, x * 2], 0).sum(), (minigrad.ones(2).requires_grad_(),))
    assert set(into(graph, one(graph, op="concatenate"))) == {"xs 0", "xs 1"}


def test_backward_begins_at_the_loss_or_the_first_tensor() -> None:
    class Output(NamedTuple):
        logits: Any
        loss: Any

    for wrap, expected in (
        (lambda a, b: {"loss": b, "a": a}, "b"),
        (lambda a, b: Output(a, b), "b"),
        (lambda a, b: [3, None, (a, b)], "a"),
    ):

        def call(x: Any, wrap: Any = wrap) -> Any:
            a = x * 2
            b = a.sum()
            return wrap(a, b)

        graph = record(call, (minigrad.ones(2).requires_grad_(),))
        assert graph.nodes[graph.output].name == expected
        assert ("backward" in graph.nodes[graph.output].attributes) == (expected == "a")


def test_backward_of_several_heads_or_losses_begins_at_their_sum() -> None:
    def call(x: Any, only_heads: bool) -> Any:
        heads = [x * 2, (x * 3)[:1]]
        losses = [2 * heads[0].sum(), heads[1].square().mean()]
        return heads if only_heads else (*losses, *heads)

    x = minigrad.ones(2).requires_grad_()
    for only_heads, gradient in ((True, [[5, 2]]), (False, [[22, 4]])):
        assert listed(one(record(call, (x, only_heads)), kind="input").gradient) == gradient


def test_named_arguments_containers_and_masks() -> None:
    @dataclass
    class Batch:
        source: Any
        mask: Any

    def call(batch: Batch, *rest: Any, scale: Any) -> Any:
        mask = batch.mask["of it"] > 0
        return minigrad.where(mask, batch.source, rest[0]) * scale

    batch = Batch(minigrad.ones(2).requires_grad_(), {"of it": minigrad.tensor([1, 0])})
    graph = record(call, (batch, minigrad.zeros(2)), {"scale": minigrad.tensor(2.0)})
    kinds = {n.name: n.kind for n in graph.nodes if n.kind != "op"}
    assert kinds == {"batch.source": "input", "rest 0": "constant", "scale": "constant", "mask": "constant"}


def test_views_are_named_after_their_base() -> None:
    class Shifted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("positions", minigrad.ones(10, 2))

        def forward(self, x: Any, target: Any) -> Any:
            return F.cross_entropy(x + self.positions[:3], target.reshape(-1))

    graph = record(Shifted(), (minigrad.ones(3, 2).requires_grad_(), minigrad.zeros(1, 3).long()))
    assert {n.name for n in graph.nodes if n.kind == "constant"} >= {"positions (a view)", "target (a view)"}
    x = minigrad.ones(3, 2)
    part = x[1]
    (leaf,) = (n for n in record((minigrad.ones(2, requires_grad=True) + part).sum()).nodes if n.kind == "constant")
    assert leaf.name == "part"


def test_calls_that_take_gradients_themselves() -> None:
    def step(x: Any) -> Any:
        loss = (x * x).sum()
        loss.backward()
        return loss

    def penalty(x: Any) -> Any:
        (derivative,) = minigrad.autograd.grad(x.pow(3).sum(), x, create_graph=True)
        return (derivative * derivative).sum()

    graph = record(step, (leaf(1.0, 2.0),))
    assert listed(one(graph, name="x").gradient) == [[2, 4]]
    square = one(graph, op="mul")
    assert square.released and listed(square.value) == [[1, 4]]  # recorded before it was freed
    graph = record(penalty, (leaf(1.0, 2.0),))
    assert {n.name for n in graph.nodes if n.code.startswith("(derivative,) =")} > {"derivative"}
    assert listed(one(graph, name="x").gradient) == [[36, 288]]  # gradient of Σ (3x²)²


def test_results_from_before_the_call_and_constants() -> None:
    x = leaf(1.0, 2.0)
    before = x.exp()
    graph = record(lambda h: (h * h).sum(), (before,))
    exp = one(graph, op="exp")
    assert (exp.name, exp.place, exp.forward_seconds) == ("h", "", None)
    assert listed(exp.value) == before.reshape(1, 2).tolist()
    before.sum().backward()  # the caller's graph is not freed
    assert x.grad.tolist() == before.tolist()

    def call(x: Any, w: Any) -> Any:
        shares = w * 2
        target = minigrad.tensor([0, 1])
        return F.cross_entropy(x, target, shares) + F.cross_entropy(x * 2, target, shares)

    graph = record(call, (minigrad.randn(2, 3).requires_grad_(), leaf(1.0, 1.0, 1.0)))
    shares = one(graph, name="shares")
    assert shares.kind == "constant"  # whatever its history
    assert len([e for e in graph.edges if e.source == shares.id and e.input == "weight"]) == 2


def test_checkpoints_save_nothing_and_are_labelled() -> None:
    graph = record(lambda x: checkpoint(lambda h: h.exp().tanh(), x, use_reentrant=False).sum(), (leaf(),))
    exp = one(graph, op="exp")
    assert exp.saved == [] and exp.gradient is not None
    assert exp.attributes["checkpoint"] == "computed again in backward"


def test_input_without_a_graph_is_refused() -> None:
    raises(RuntimeError, r"set requires_grad", lambda: record(lambda x: x * 2, (minigrad.ones(2),)))
    with minigrad.no_grad(), pytest.raises(RuntimeError, match="no_grad"):
        record(Net(), (tokens(),))
    with pytest.raises(TypeError, match="forward"):  # as without recording
        record(Net(), (tokens(), 1, 2, 3), {"unknown": 4})
    for first in (minigrad.ones(2), leaf()):
        raises(RuntimeError, "no recorded op created this tensor", partial(record, first))
    for what in (3.0, None, [minigrad.ones(1)], "loss"):
        raises(TypeError, "graph takes a tensor, a module or a function, not ", partial(graph, what))
    loss = leaf().sum()
    with pytest.raises(TypeError, match="graph takes only a tensor, or a module or function and its inputs"):
        graph(loss, minigrad.ones(1))


def test_a_tensors_graph_has_the_callers_names() -> None:
    net, x = nn.Linear(3, 2), minigrad.ones(4, 3)
    y = net(x)
    loss = y.tanh().sum()
    graph = record(loss)
    assert graph.title == graph.nodes[graph.output].name == "loss"
    kinds = {"net.weight": "parameter", "net.bias": "parameter", "x": "constant"}
    assert {n.name: n.kind for n in graph.nodes if n.kind != "op"} == kinds
    assert one(graph, op="linear").name == "y"
    graph_of_net = record(loss, modules={"": net})
    assert {n.name for n in graph_of_net.nodes if n.kind == "parameter"} == {"weight", "bias"}


def test_importing_the_library_does_not_import_viz() -> None:
    import subprocess

    program = "import minigrad, sys; print([m for m in sys.modules if 'viz' in m or 'graphviz' in m])"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_modules_match_the_call() -> None:
    """Except `out_proj`, which is never called itself."""
    model = nn.Transformer(8, 2, 2, 2, 16, batch_first=True).eval()
    inputs = [minigrad.randn(*shape) for shape in ((1, 3, 8), (1, 4, 8))]
    by_parameters = record(model(*inputs), modules={"model": model})
    watched = record(model, inputs)
    both = ([node for node in graph.nodes if node.kind == "op"] for graph in (by_parameters, watched))
    for node, expected in zip(*both, strict=True):
        assert node.op == expected.op
        assert node.module.removeprefix("model").removeprefix(".").removesuffix(".out_proj") == expected.module


def test_a_shared_parameter_does_not_determine_the_module() -> None:
    model = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False), nn.Linear(2, 2))
    model[1].weight = model[0].weight
    graph = record(model(minigrad.randn(3, 2)).sum(), modules={"model": model})
    assert [node.module for node in graph.nodes if node.op == "linear"] == ["", "", "model.2"]
