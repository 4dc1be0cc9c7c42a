"""How many multiplications and additions an op takes, for those that take most of a model's time.

As in PyTorch these are estimates: a product of matrices counts 2 m n k, and the passes over memory that other
ops need are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

Shape = tuple[int, ...]


def _product(out: Shape, x: Shape, *_: Any) -> int:
    """Each number of the result is a sum over the last axis of x."""
    return 2 * prod(out) * x[-1]


def _convolution(out: Shape, _x: Shape, weight: Shape, *_: Any) -> int:
    """Each number of the result is a sum over the weight of its channel."""
    return 2 * prod(out) * prod(weight[1:])


def _attention(_out: Shape, query: Shape, key: Shape, value: Shape, *_: Any) -> int:
    """The two products; the softmax between them is left out."""
    return 2 * prod(query[:-1]) * key[-2] * (query[-1] + value[-1])


def _head(_out: Shape, x: Shape, weight: Shape, *_: Any) -> int:
    """The product with the rows of weight, (V, D), that gives the logits."""
    return 2 * prod(x) * weight[0]


_KNOWN: dict[str, Callable[..., int]] = {
    "matmul": _product,
    "linear": _product,
    "convolve": _convolution,
    "linear_cross_entropy": _head,
    "scaled_dot_product_attention": _attention,
    "add": lambda out, *_: prod(out),
    "mul": lambda out, *_: prod(out),
}


def flops_of(name: str, out: Any, args: tuple[Any, ...]) -> int:
    """The multiplications and additions of one call of an op, from its result and arguments (tensors or
    arrays); 0 for an op that is not in the table."""
    count = _KNOWN.get(name)
    if count is None or not hasattr(out, "shape"):
        return 0
    return count(tuple(out.shape), *(tuple(a.shape) if hasattr(a, "shape") else () for a in args))
