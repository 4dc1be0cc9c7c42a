"""The CPU kernel ``linear`` against its plain definition."""

import numpy as np
import pytest

import minigrad
from minigrad.backend import parallel, products
from minigrad.backend.kernels import linear
from tests.support.cases import cases
from tests.support.plain_checks import check, normal

SHAPES: list[tuple[tuple[int, ...], int]] = [  # shape of x, number of columns in the result
    *(((1, 1), 1), ((5, 3), 2), ((7, 4), 9), ((64, 33), 17), ((2, 3, 5), 4), ((6,), 3), ((0, 3), 4), ((2, 0, 3), 2)),
    *(((3, 4), 0), ((3, 0), 4)),
]


@pytest.fixture(params=["whole", "cut"])
def cut(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Products with the default cuts, and then with every product cut for the threads."""
    if request.param == "cut":
        for name in ("SMALL", "LARGE", "PART", "LEAST"):
            monkeypatch.setattr(products, name, 1)


@pytest.mark.usefixtures("cut")
@cases("shape, out", SHAPES)
def test_values_and_gradients(shape: tuple[int, ...], out: int) -> None:
    weight, bias = normal(out, shape[-1], seed=2), normal(out, seed=3)
    check("linear", [normal(*shape), weight, bias], [0, 1, 2])
    check("linear", [normal(*shape), weight, None], [0, 1])


@pytest.mark.usefixtures("cut")
@cases("threads", [1, 2, 3, 4, 5, 7, 8])
@cases("rows, width, out", [(40, 4, 5), (3, 9, 2), (2, 6, 1), (1, 3, 10)])
def test_no_part_is_left_out_for_any_number_of_threads(threads: int, rows: int, width: int, out: int) -> None:
    """Lengths that the number of threads does not divide may yield fewer parts than threads."""
    before = parallel.get_num_threads()
    parallel.set_num_threads(threads)
    try:
        weight, bias = normal(out, width, seed=2), normal(out, seed=3)
        check("linear", [normal(rows, width), weight, bias], [0, 1, 2], layouts=False)
        check("linear", [normal(rows, width), weight, None], [0, 1], layouts=False)
    finally:
        parallel.set_num_threads(before)


@pytest.mark.usefixtures("cut")
def test_whole_numbers() -> None:
    x, weight, bias = np.arange(12).reshape(4, 3), np.arange(15).reshape(5, 3), np.arange(5)
    out, _ = linear.forward((False,) * 3, x, weight, bias)
    np.testing.assert_array_equal(out, x @ weight.T + bias)
    assert out.dtype == x.dtype


@pytest.mark.usefixtures("cut")
@cases("shape", [(), (1,), (1, 4)])
@cases("rows", [2, 6])
def test_a_bias_that_broadcasts(rows: int, shape: tuple[int, ...]) -> None:
    x, weight = minigrad.tensor(normal(rows, 3)), minigrad.tensor(normal(4, 3, seed=2))
    bias = minigrad.tensor(normal(*shape, seed=3), requires_grad=True)
    minigrad.nn.functional.linear(x, weight, bias).square().sum().backward()
    gradient, bias.grad = bias.grad, None
    (x @ weight.T + bias).square().sum().backward()
    assert minigrad.allclose(gradient, bias.grad, rtol=1e-12)


@pytest.mark.usefixtures("cut")
def test_a_gradient_that_is_one_number_everywhere() -> None:
    """The gradient of ``sum`` takes no memory: its strides are 0."""
    x, weight, bias = normal(6, 3), normal(4, 3, seed=2), normal(4, seed=3)
    g = np.broadcast_to(np.float64(2), (6, 4))
    dx, dweight, dbias = linear.backward((True,) * 3, None, g, x, weight, bias)
    np.testing.assert_allclose(dx, g @ weight, rtol=1e-12)
    np.testing.assert_allclose(dweight, g.T @ x, rtol=1e-12)
    np.testing.assert_allclose(dbias, np.full(4, 12.0), rtol=1e-12)


def test_shapes_that_do_not_fit() -> None:
    for shape in ((2, 4), (), (3, 1)):
        with pytest.raises(RuntimeError, match="linear: mat1 and mat2 shapes cannot be multiplied"):
            linear.forward((False,) * 3, np.ones(shape), np.ones((5, 3)), None)
