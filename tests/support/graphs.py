"""Handmade compute graphs for tests of their pictures, which need no engine, and checks of graphs."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from minigrad.viz.graph.graph_data import Edge, Graph, ModuleInfo, Node, OpInfo, Saved, Source, Value
from minigrad.viz.graph.graph_record import built

EVIL = '"><img src=x onerror="document.title=1"> </script><script>document.title=2</script> \\N {a|b} &amp;'
EMOJI = "cat 🐈 naïve\nsecond line\ttab"
LONG = "long_name_" * 1000  # 10,000 characters


def value(*shape: int, table: list[list[float]] | None = None, norm: float = 1.0) -> Value:
    """A float32 value with a shape, from its table or from statistics."""
    size = 1
    for length in shape:
        size *= length
    if table is not None:
        return Value(shape, "float32", "cpu", 4 * size, table=table)
    statistics = {"min": -2.0, "max": 2.5, "mean": 0.0, "std": 1.0, "norm": norm, "zeros": 0.0, "nan": 0.0}
    heat = [[(i - j) * norm / 8 for j in range(8)] for i in range(8)]
    return Value(shape, "float32", "cpu", 4 * size, statistics=statistics, heat=heat)


def record(*arguments: Any, backward: bool = True, modules: Any = None) -> Graph:
    """The graph of a call (function, inputs, named inputs), or of a tensor, after ``backward``. No variable here refers
    to the tensor, because pictures show the names of the program's variables."""
    rest = ((), {})[len(arguments) - 1 :]
    return built("graph", *arguments, *rest, modules).drawn(backward or callable(arguments[0]))


@dataclass
class Builder:
    """Adds nodes in order, with invented numbers and gradients."""

    graph: Graph = field(default_factory=lambda: Graph("loss", [], [], {}, {}, 0))
    backward: bool = True

    def leaf(self, kind: str, name: str, module: str = "", of: Value | None = None) -> int:
        return self._add(Node(len(self.graph.nodes), kind, "", name, module, value=of or value(8, 8)))  # type: ignore[arg-type]

    def op(self, op: str, module: str, *inputs: int, name: str = "", of: Value | None = None) -> int:
        number = len(self.graph.nodes)
        rule = Source(f"{op}.gradient(x=lambda g, x: g * x)", "minigrad/ops/made_up.py", 12)
        forward = Source(f"def {op}(x): ...", "minigrad/ops/made_up.py", 7)
        self.graph.ops.setdefault(op, OpInfo(op, f"{op} of x", forward, {"x": rule}))
        code = f"{name or 'y'} = {op}(x)"
        node = Node(number, "op", op, name or op, module, "train.py:3", code, value=of or value(8, 8))
        node.forward_seconds, node.backward_seconds = 1e-5 * (1 + number % 7), 3e-5 * (1 + number % 5)
        node.saved = [Saved("x", 256, inputs[0])] if inputs else []
        self._add(node)
        for i, source in enumerate(inputs):
            wants = self.backward and self.graph.nodes[source].kind != "constant"
            gradient = value(8, 8, norm=1 / (1 + number)) if wants else None
            self.graph.edges.append(Edge(source, number, "xyz"[i] if i < 3 else f"xs {i}", 0, gradient))
        return number

    def module(self, path: str, kind: str, alike: str = "", text: str = "") -> None:
        self.graph.modules[path] = ModuleInfo(path, kind, text, alike)

    def _add(self, node: Node) -> int:
        self.graph.nodes.append(node)
        return node.id

    def done(self, output: int) -> Graph:
        self.graph.output = output
        self.graph.backward = "done" if self.backward else "none"
        if self.backward:
            for node in self.graph.nodes:
                if node.kind != "constant":
                    node.gradient = value(8, 8, norm=0.5 + node.id % 3)
        return self.graph


def small(backward: bool = True) -> Graph:
    """loss = mean((x @ w) * (x @ w + b)), with few enough numbers for tables."""
    make = Builder(backward=backward)
    make.module("", "Sequential")
    x = make.leaf("input", "x", of=value(1, 2, table=[[1.0, -2.0]]))
    w = make.leaf("parameter", "w", of=value(2, 2, table=[[0.5, 1.5], [-1.0, 0.25]]))
    h = make.op("matmul", "", x, w, name="h", of=value(1, 2, table=[[2.5, 1.0]]))
    b = make.leaf("constant", "b", of=value(1, 2, table=[[0.5, 0.5]]))
    s = make.op("add", "", h, b, of=value(1, 2, table=[[3.0, 1.5]]))
    p = make.op("mul", "", h, s, name="product", of=value(1, 2, table=[[7.5, 1.5]]))
    loss = make.op("mean", "", p, name="loss", of=value(table=[[4.5]]))
    graph = make.done(loss)
    if backward:
        parts = {(h, s): [1.25, 0.5], (h, p): [1.5, 0.75], (s, p): [1.25, 0.5], (p, loss): [0.5, 0.5]}
        for edge in graph.edges:
            if (edge.source, edge.target) in parts:
                edge.gradient = value(1, 2, table=[parts[edge.source, edge.target]])
        for node, row in ((h, [2.75, 1.25]), (s, [1.25, 0.5]), (p, [0.5, 0.5])):
            graph.nodes[node].gradient = value(1, 2, table=[row])
        graph.nodes[loss].gradient = value(table=[[1.0]])
    return graph


def transformer(layers: int = 12, backward: bool = True, listed: bool = False, kind: str = "Block") -> Graph:
    """A decoder like GPT-2: embeddings, ``layers`` equal blocks, a norm, and a head tied to the embedding.

    Args:
        listed: whether the blocks are in a ModuleList, or separate attributes. kind: the class of a block.
    """
    make = Builder(backward=backward)
    make.graph.title = "GPT"
    kinds = {"": "GPT", "wte": "Embedding", "wpe": "Embedding", "norm": "LayerNorm", "head": "Linear"}
    for path, what in kinds.items():
        make.module(path, what)
    if listed:
        make.module("blocks", "ModuleList")
    table = make.leaf("parameter", "wte.weight", "wte")
    positions = make.leaf("parameter", "wpe.weight", "wpe")
    x = make.op("add", "", make.op("embedding", "wte", table), make.op("embedding", "wpe", positions))
    mask = make.leaf("constant", "mask")
    for number in range(layers):
        x = _block(make, f"blocks.{number}", x, mask, kind)
    gain, shift = make.leaf("parameter", "norm.weight", "norm"), make.leaf("parameter", "norm.bias", "norm")
    x = make.op("layer_norm", "norm", x, gain, shift)
    logits = make.op("linear", "head", x, table, name="logits")
    return make.done(make.op("cross_entropy", "", logits, name="loss", of=value(table=[[4.1]])))


def _block(make: Builder, path: str, x: int, mask: int, kind: str) -> int:
    def linear(name: str, x: int) -> int:
        make.module(f"{path}.{name}", "Linear", name, "64, 64")
        weights = [make.leaf("parameter", f"{path}.{name}.{each}", f"{path}.{name}") for each in ("weight", "bias")]
        return make.op("linear", f"{path}.{name}", x, *weights)

    def norm(name: str, x: int) -> int:
        make.module(f"{path}.{name}", "LayerNorm", "norm")
        weights = [make.leaf("parameter", f"{path}.{name}.{each}", f"{path}.{name}") for each in ("weight", "bias")]
        return make.op("layer_norm", f"{path}.{name}", x, *weights)

    make.module(path, kind, "block")
    make.module(f"{path}.attention", "SelfAttention", "attention")
    inner = norm("norm1", x)
    q, k, v = (linear(f"attention.{each}", inner) for each in ("query", "key", "value"))
    scores = make.op("matmul", f"{path}.attention", q, make.op("transpose", f"{path}.attention", k), name="scores")
    masked = make.op("where", f"{path}.attention", scores, mask)
    weights = make.op("softmax", f"{path}.attention", masked, name="weights")
    heads = make.op("matmul", f"{path}.attention", weights, v, name="heads")
    x = make.op("add", path, x, linear("attention.out", heads))
    make.module(f"{path}.mlp", "MLP", "mlp")
    hidden = make.op("gelu", f"{path}.mlp", linear("mlp.up", norm("norm2", x)))
    return make.op("add", path, x, linear("mlp.down", hidden))


def chain(length: int) -> Graph:
    """Ops one after another, outside of modules."""
    make = Builder(backward=False)
    x = make.leaf("input", "x")
    for _ in range(length):
        x = make.op("tanh", "", x)
    return make.done(x)


def linears(length: int) -> Graph:
    """Layers one after another, outside of modules, each with a separate weight and bias."""
    make = Builder()
    x = make.leaf("input", "x")
    for number in range(length):
        weights = [make.leaf("parameter", f"{name}{number}") for name in ("w", "b")]
        x = make.op("linear", "", x, *weights, name=f"h{number}")
    return make.done(x)


def evil() -> Graph:
    """Names with quotes, HTML, backslashes, emoji, line breaks, and 10,000 characters."""
    make = Builder()
    make.graph.title = EVIL
    make.module("", EVIL, text=EVIL)
    make.module(EVIL, EVIL, text=EVIL)
    x = make.leaf("input", EVIL)
    w = make.leaf("parameter", LONG, EVIL)
    h = make.op(EVIL, EVIL, x, w, name=EMOJI)
    last = make.op("add", "", h, make.leaf("input", EMOJI), name=LONG)
    make.graph.nodes[h].attributes = {EVIL: EVIL, "cat": EMOJI}
    make.graph.nodes[h].place, make.graph.nodes[h].code = EVIL, EVIL
    return make.done(make.op("sum", "", last, name=EVIL))


def check_same(first: Graph, second: Graph) -> None:
    """Assert that the numbers of two graphs are the same."""
    for a, b in zip(first.nodes, second.nodes, strict=True):
        assert repr((a.name, a.value, a.gradient)) == repr((b.name, b.value, b.gradient))  # so that NaN equals NaN
    assert repr(first.edges) == repr(second.edges)


def check_sum(graph: Graph, number: int) -> None:
    """Assert that a node's gradient is the sum of its edges' gradients, in the engine's order: youngest op first."""
    edges = [e for e in graph.edges if e.source == number and e.gradient is not None]
    node = graph.nodes[number]
    if not edges or any(e.slot for e in edges):
        return
    if node.gradient.table is None:
        assert len(edges) > 1 or node.gradient == edges[0].gradient
        return
    total: Any = None
    parts = {"complex64": np.float32, "complex128": np.float64}  # a table holds the parts of complex numbers
    for edge in sorted(edges, key=lambda edge: -edge.target):
        passed = np.array(edge.gradient.table, np.float64)
        dtype: Any = parts.get(node.gradient.dtype, node.gradient.dtype)
        total = passed if total is None else (total + passed).astype(dtype)
    np.testing.assert_array_equal(total, np.array(node.gradient.table, np.float64))
