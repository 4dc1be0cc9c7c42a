"""Axes without elements: the result and the gradient have the right shapes for every computation along such an axis."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import minigrad
from minigrad.nn import functional as F
from tests.support.cases import cases
from tests.support.parity import host, ours

SHAPES = [(2, 0), (0, 3), (5, 0, 0), (0,)]
KEEPING: dict[str, Callable[..., Any]] = {
    "softmax": F.softmax,
    "log_softmax": F.log_softmax,
    "cumsum": minigrad.cumsum,
    "layer_norm": lambda x, dim: F.layer_norm(x, x.shape[dim:] if dim else x.shape),
    "rms_norm": lambda x, dim: F.rms_norm(x, x.shape[dim:] if dim else x.shape),
    "gelu": lambda x, dim: F.gelu(x),
    "attention": lambda x, dim: F.scaled_dot_product_attention(x, x, x) if x.ndim > 1 and x.shape[-1] else x * 1,
}


@cases("name", list(KEEPING))
def test_results_of_the_shape_of_the_input(name: str, device: str) -> None:
    for shape in SHAPES:
        for dim, dtype in ((-1, np.float32), (-1, np.float64), (0, np.float32), (0, np.float64)):
            x = ours(np.zeros(shape, dtype), True, device)
            y = KEEPING[name](x, dim)
            y.sum().backward()
            assert y.shape == x.grad.shape == shape and y.dtype is x.grad.dtype is x.dtype, (shape, dim)


def test_sums_of_no_powers(device: str) -> None:
    x = ours(np.zeros((2, 0)), True, device)
    y = minigrad.logsumexp(x, 1)
    y.sum().backward()
    assert host(y).tolist() == [-math.inf] * 2 and x.grad.shape == (2, 0)
    assert minigrad.logsumexp(x, 0).shape == (0,)


def test_the_gradient_of_a_loss_from_an_infinite_one(device: str) -> None:
    """A smoothing of 0 does not produce NaN through 0 · ∞."""
    x = ours(np.array([[0.0, 1.0, 2.0]]), True, device)
    F.cross_entropy(x, ours(np.array([1]), device=device), reduction="none").backward(ours([math.inf], device=device))
    assert host(x.grad)[0, [0, 2]].tolist() == [math.inf] * 2
