"""Gradients of both orders against difference quotients along random directions, one per input.

A gradient with a wrong element has a wrong directional derivative along nearly every direction. ``gradcheck`` checks
each element with a separate pass through the function, which is hundreds of times the work.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from minigrad.autograd import grad

from .parity import host, listed, ours

STEP = 1e-6
Function = Callable[..., Any]


def check_derivatives(function: Function, inputs: Sequence[Any], second: bool = False, seed: int = 0) -> None:
    """Compare the gradients of ``function(*inputs)``, float64 tensors, with difference quotients.

    Args:
        second: also compare the gradients' gradients with respect to the inputs and the incoming gradients.
    """
    arriving = _compare(function, inputs, np.random.default_rng(seed), "first order")
    if second:

        def gradient(*args: Any) -> list[Any]:
            own, g = args[: len(inputs)], args[len(inputs) :]
            leaves = [x for x in own if x.requires_grad]
            return list(grad(_floats(function(*own)), leaves, g, create_graph=True, materialize_grads=True))

        _compare(gradient, [*inputs, *arriving], np.random.default_rng(seed + 1), "second order")


def _compare(function: Function, inputs: Sequence[Any], rng: np.random.Generator, what: str) -> list[Any]:
    """Check the gradient of a random sum of the results for each input; returns the factors of the sum."""
    outputs = _floats(function(*inputs))
    device = str(inputs[0].device)
    factors = [ours(np.asarray(rng.standard_normal(tuple(o.shape))), True, device) for o in outputs]
    if not outputs:  # a gradient that is the same everywhere
        return factors
    indices = [i for i, x in enumerate(inputs) if x.requires_grad]
    gradients = grad(outputs, [inputs[i] for i in indices], factors, materialize_grads=True)
    for i, gradient in zip(indices, gradients, strict=True):
        direction = np.asarray(rng.standard_normal(tuple(inputs[i].shape)))
        sides = []
        for step in (STEP, -STEP):
            moved = ours(host(inputs[i]) + step * direction, True, device)
            results = _floats(function(*inputs[:i], moved, *inputs[i + 1 :]))
            sides.append([host(r) for r in results])
        ahead, behind = sides
        derivative = sum(float((host(v) * (a - b)).sum()) for v, a, b in zip(factors, ahead, behind, strict=True))
        expected = pytest.approx(derivative / (2 * STEP), rel=1e-5, abs=1e-5)
        assert float((host(gradient) * direction).sum()) == expected, f"{what}, input {i}"
    return factors


def _floats(values: Any) -> list[Any]:
    return [v for v in listed(values) if v.requires_grad]
