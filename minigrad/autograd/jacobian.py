"""Products of vectors with the Jacobian J of outputs in their inputs, and J itself, row by row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..backend import xp
from ..ops.joining import stack
from .calls import apply
from .tape import wrap
from .walk import grad

Function = Callable[..., Any]
Variables = tuple[Any, ...]


def pull(outputs: Sequence[Any], inputs: Sequence[Any], vectors: Any, create: bool, retain: bool = True) -> Variables:
    """vᵀ J for each input, None where nothing depends on it. No vector stands for 1."""
    used = [i for i, output in enumerate(outputs) if output.requires_grad]
    if not used:
        return (None,) * len(inputs)
    vectors = None if vectors is None else [vectors[i] for i in used]
    return grad([outputs[i] for i in used], inputs, vectors, retain, create, allow_unused=True)


def push(outputs: Sequence[Any], inputs: Sequence[Any], vectors: Any, create: bool, fill: Function) -> Variables:
    """J v for each output, None where it is 0: the gradient for u of (uᵀ J) v, in which ``fill`` replaces None."""
    us = tuple(wrap(xp(o.array).zeros_like(o.array)).requires_grad_() for o in outputs)
    return pull(fill(pull(outputs, inputs, us, True), inputs), us, vectors, create)


def rows(output: Any, inputs: Sequence[Any], pull_one: Function) -> Variables:
    """All derivatives of an output for each input, in its shape and then the input's.

    Args:
        pull_one: takes a vector that is 1 in one element of the output, and returns its product with the Jacobian.
    """
    lib, shape = xp(output.array), output.array.shape
    products = []
    for i in range(output.array.size):
        vector = lib.zeros_like(output.array).reshape(-1)
        vector[i] = 1
        products.append(pull_one(wrap(vector.reshape(shape))))
    if not products:
        return tuple(wrap(lib.zeros((*shape, *x.array.shape), x.array.dtype)) for x in inputs)
    stacked = (apply(stack, (0, *column)) for column in zip(*products, strict=True))
    return tuple(s.reshape((*shape, *x.array.shape)) for s, x in zip(stacked, inputs, strict=True))


def filled(gradients: Sequence[Any], like: Sequence[Any]) -> Variables:
    """Gradients with zeros for None."""
    pairs = zip(gradients, like, strict=True)
    return tuple(wrap(xp(x.array).zeros_like(x.array)) if g is None else g for g, x in pairs)
