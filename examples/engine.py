"""The engine in a hundred lines: a tape and a backward pass that use minigrad's own ops and gradient rules.

    python -m examples.engine

``minigrad/ops`` is independent of Tensor and autograd. Called on arrays, an op computes its result; called on a
``Traced``, it passes itself to that object, so any tape can run it. This tape keeps everything and differentiates once.
The library's tape (``minigrad/ops/op.py``, ``autograd/tape.py``, ``autograd/walk.py``) keeps only what the rules need,
frees it during the backward pass, detects in-place changes, uses compiled kernels, and supports higher derivatives.
"""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy as np

from minigrad.ops.activation import gelu
from minigrad.ops.elementwise import add
from minigrad.ops.linear import linear
from minigrad.ops.loss import linear_cross_entropy
from minigrad.ops.normalization import layer_norm
from minigrad.ops.op import Arguments, Op, Traced, bare
from minigrad.ops.reduction import sum_to

clock = count()  # nodes are younger than their inputs


class Node:
    """One application of an op: its arguments, its result, and its age."""

    def __init__(self, op: Op, args: tuple[Any, ...], out: Any) -> None:
        self.op, self.args, self.out, self.age = op, args, out, next(clock)


class Value(Traced):
    """An array, its gradient, and the node that computed it (None for a leaf) with the index of its result."""

    def __init__(self, array: Any, node: Node | None = None, slot: int = 0) -> None:
        self.array, self.node, self.slot, self.shape = array, node, slot, array.shape
        self.grad: Any = None

    @staticmethod
    def apply(op: Op, args: tuple[Any, ...]) -> Any:
        """Run an op, and record it."""
        out = op.forward(*map(bare, args))
        node = Node(op, args, out)
        return tuple(Value(o, node, i) for i, o in enumerate(out)) if isinstance(out, tuple) else Value(out, node)


def backward(root: Value) -> None:
    """Set ``grad`` on every leaf that the scalar ``root`` was computed from."""
    arrived: dict[Any, Any] = {(root.node, root.slot): np.ones_like(root.array)}  # by node and result
    nodes: set[Any] = {root.node}
    while nodes:  # youngest node first, so that all users of its results are done
        node = max(nodes, key=lambda n: n.age)
        nodes.remove(node)
        for value, gradient in gradients(node, arrived):
            if value.node is None:
                value.grad = gradient if value.grad is None else value.grad + gradient
            else:
                nodes.add(value.node)
                place = value.node, value.slot
                arrived[place] = arrived[place] + gradient if place in arrived else gradient


def gradients(node: Node, arrived: dict[Any, Any]) -> Any:
    """Each Value among the inputs of a node, with the gradient from its rule."""
    op, several = node.op, isinstance(node.out, tuple)
    results = node.out if several else (node.out,)
    g = tuple(arrived.pop((node, i), np.zeros_like(out)) for i, out in enumerate(results))
    arrays = [bare(a) for a in node.args]
    values = dict(zip(op.params, arrays, strict=False), g=g if several else g[0], out=node.out)
    values["arguments"] = Arguments(arrays)
    values["shapes"] = [np.shape(a) for a in arrays[op.arity :]]
    for i, value in enumerate(node.args):
        if isinstance(value, Value) and op.param(i) in op.rules:
            rule, names = op.rules[op.param(i)]
            values.update(shape=value.shape, which=i - op.arity)
            yield value, sum_to(rule(*[values[name] for name in names]), value.shape)  # undoes broadcasting, once


def main() -> None:
    """Show a step of a language model's head, its gradients from this engine, and the rules behind them."""
    draw = np.random.default_rng(0)
    x, weight, bias, head = (Value(draw.standard_normal(shape)) for shape in ((6, 8), (8, 8), (8,), (10, 8)))
    scale, shift = Value(np.ones(8)), Value(np.zeros(8))
    hidden = add(x, gelu(linear(layer_norm(x, scale, shift, 1e-5), weight, bias), "none"))
    loss = linear_cross_entropy(hidden, head, None, draw.integers(0, 10, 6))
    backward(loss)
    print(f"loss {loss.array:.4f}, |d weight| {np.abs(weight.grad).sum():.4f}, |d x| {np.abs(x.grad).sum():.4f}")
    for op, name in ((linear, "weight"), (gelu, "x"), (layer_norm, "weight")):
        print(f"{op.name}, {name}: {op.formula(name)}")


if __name__ == "__main__":
    main()
