"""The op ``linear``: biases that broadcast, whole numbers, and the error for shapes that do not fit."""

import numpy as np

import minigrad
from minigrad.nn import functional as F
from tests.support.cases import cases, raises
from tests.support.plain_checks import normal


def test_whole_numbers() -> None:
    x, weight, bias = np.arange(12).reshape(4, 3), np.arange(15).reshape(5, 3), np.arange(5)
    out = F.linear(*map(minigrad.tensor, (x, weight, bias))).numpy()
    np.testing.assert_array_equal(out, x @ weight.T + bias)
    assert out.dtype == x.dtype


@cases("shape", [(), (1,), (1, 4)])
@cases("rows", [2, 6])
def test_a_bias_that_broadcasts(rows: int, shape: tuple[int, ...]) -> None:
    x, weight = minigrad.tensor(normal(rows, 3)), minigrad.tensor(normal(4, 3, seed=2))
    bias = minigrad.tensor(normal(*shape, seed=3), requires_grad=True)
    F.linear(x, weight, bias).square().sum().backward()
    found, bias.grad = bias.grad, None
    (x @ weight.T + bias).square().sum().backward()
    assert minigrad.allclose(found, bias.grad, rtol=1e-12)


def test_shapes_that_do_not_fit() -> None:
    for shape in ((2, 4), (), (3, 1)):
        fails = lambda shape=shape: F.linear(minigrad.ones(shape), minigrad.ones(5, 3))
        raises(RuntimeError, "linear: mat1 and mat2 shapes cannot be multiplied", fails)
