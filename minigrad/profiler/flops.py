"""Estimates an op's multiplications and additions, as in PyTorch, for the ops that take most of a model's time.
Memory-bound ops count as 0."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

# Functions from the shapes of the (first) result and the arguments of a matrix product to its multiply-adds.
_PRODUCTS: dict[str, Callable[..., int]] = {
    # each element of the result is a sum over the last axis of x
    "matmul": lambda out, x, *_: prod(out) * x[-1],
    "linear": lambda out, x, *_: prod(out) * x[-1],
    "outer": lambda out, *_: prod(out),
    # each element of the result is a sum over the weights of its channel
    "convolve": lambda out, x, weight, *_: prod(out) * prod(weight[1:]),
    # each element of y is multiplied by the weights of its channel
    "convolve_back": lambda out, y, weight, *_: prod(y) * prod(weight[1:]),
    # the product with weight, (V, D), that computes the logits
    "linear_cross_entropy": lambda out, x, weight, *_: prod(x) * weight[0],
    # both products, without the softmax between them
    "scaled_dot_product_attention": lambda out, q, k, v, *_: prod(q[:-1]) * k[-2] * (q[-1] + v[-1]),
    # each of the N rows of x is multiplied by the weights of the state and of its projection, if any
    "rnn": lambda out, x, weight, *_: x[0] * prod(weight),
    "gru": lambda out, x, weight, *_: x[0] * prod(weight),
    "lstm": lambda out, x, weight, project, *_: x[0] * (prod(weight) + (prod(project) if project else 0)),
}
PRODUCTS = {*_PRODUCTS, "einsum_pair"}  # the ops that ``multiply_adds`` supports
_ELEMENTS = ("add", "mul")  # one operation for each element of the result


def multiply_adds(name: str, out: Any, args: tuple[Any, ...]) -> int | None:
    """The multiply-adds of a matrix product, computed from its result and arguments; None for other ops."""
    if name == "einsum_pair":  # axes that only one operand has are summed before the product
        a, b, letters = args[2]
        lengths = dict([*zip(a, _shape(args[0]), strict=True), *zip(b, _shape(args[1]), strict=True)])
        return prod(n for letter, n in lengths.items() if letter in letters or (letter in a and letter in b))
    count = _PRODUCTS.get(name)
    first = out[0] if isinstance(out, tuple) and out else out
    return None if count is None else count(_shape(first), *map(_shape, args))


def flops_of(name: str, out: Any, args: tuple[Any, ...]) -> int:
    """The number of multiplications and additions in a call of an op, two per multiply-add; 0 for unknown ops."""
    if name in _ELEMENTS:
        return prod(_shape(out)) if hasattr(out, "shape") else 0
    return 2 * (multiply_adds(name, out, args) or 0)


def _shape(value: Any) -> tuple[int, ...]:
    return tuple(value.shape) if hasattr(value, "shape") else ()
