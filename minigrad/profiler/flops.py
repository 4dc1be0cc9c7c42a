"""How many multiplications and additions an op takes, for those that take most of a model's time: as in PyTorch,
estimates. A product of matrices counts 2 m n k; the passes over memory that other ops need are left out."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

_KNOWN: dict[str, Callable[..., int]] = {  # from the shapes of the result and the arguments
    # each number of the result is a sum over the last axis of x
    "matmul": lambda out, x, *_: 2 * prod(out) * x[-1],
    "linear": lambda out, x, *_: 2 * prod(out) * x[-1],
    # a sum over the weight of its channel
    "convolve": lambda out, x, weight, *_: 2 * prod(out) * prod(weight[1:]),
    # the product with the rows of weight, (V, D), that gives the logits
    "linear_cross_entropy": lambda out, x, weight, *_: 2 * prod(x) * weight[0],
    # both products, without the softmax between them
    "scaled_dot_product_attention": lambda out, q, k, v, *_: 2 * prod(q[:-1]) * k[-2] * (q[-1] + v[-1]),
    "add": lambda out, *_: prod(out),
    "mul": lambda out, *_: prod(out),
}


def flops_of(name: str, out: Any, args: tuple[Any, ...]) -> int:
    """Those of one call of an op, from its result and arguments (tensors or arrays); 0 if it is not in the table."""
    count = _KNOWN.get(name)
    if count is None or not hasattr(out, "shape"):
        return 0
    return count(tuple(out.shape), *(tuple(a.shape) if hasattr(a, "shape") else () for a in args))
