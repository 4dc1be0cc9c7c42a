"""Derivatives of all orders of each smooth function of one number, against mpmath: at 0, where a rule that divides
by x needs a constant instead, and near 0, where the quotient loses digits."""

import math
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad.autograd import grad
from minigrad.compat.ops.registry import REGISTRY
from tests.support.cases import cases
from tests.support.parity import host, ours
from tests.support.references import ABOVE_1, INSIDE, POSITIVE, SHARES, WHOLE, derivatives

ORDERS = 3
NEAR = [0.0, 1e-30, -1e-30, 1e-8, 1e-4, -1e-4, 1e-2, 0.5, -0.5]
WITH_ORDER = {"modified_bessel_i", "scaled_modified_bessel_i", "spherical_bessel_j"}
REMOVABLE = ["i0", "i1", "sinc", *sorted(WITH_ORDER & {*WHOLE})]
# They are piecewise linear or have a corner (elu: e^x below 0)
PIECES = {"abs", "cast", "ceil", "clone", "elu", "floor", "hardshrink", "hardsigmoid", "hardswish", "hardtanh"}
PIECES |= {"leaky_relu", "nan_to_num", "neg", "relu", "round", "scaled_elu", "sign", "softshrink", "threshold", "trunc"}


def orders(name: str, points: list[float], count: int, device: str = "cpu", dtype: Any = np.float64) -> list[Any]:
    """The values of an op at points, and its derivatives up to an order."""
    attributes: tuple[Any, ...] = (2,) if name in WITH_ORDER else (1,) if name == "polygamma" else ()
    attributes = (1.0, math.inf) if name == "softplus" else attributes
    x = ours(np.array(points, dtype), True, device)
    results = [REGISTRY[name](x, *attributes)]
    for _ in range(count):
        (derivative,) = grad(results[-1].sum() + 0 * x.sum(), x, create_graph=True)  # a constant has no derivative
        results.append(derivative)
    return [host(r) for r in results]


def test_every_smooth_op_of_one_number_has_a_reference() -> None:
    homes = ("elementwise", "special", "activation")
    smooth = {
        name
        for name, op in REGISTRY.items()
        if op.__module__.rpartition(".")[2] in homes and [*op.rules] == ["x"] and op.params[0] == "x"
    }
    linear = {"clamp", "dropout", "moved", "only", "relu_dropout"}
    assert smooth - PIECES - linear == {*WHOLE, *INSIDE, *POSITIVE, *SHARES, *ABOVE_1}


@pytest.mark.parametrize("name", REMOVABLE)
def test_all_digits_at_a_removable_singularity(name: str) -> None:
    results = orders(name, NEAR, ORDERS)
    for i, point in enumerate(NEAR):
        expected = derivatives(WHOLE[name], point, ORDERS)
        # of order 2, sums that cancel to a higher power of x keep their digits relative to 1
        least = 1e-15 if name in WITH_ORDER else 1e-300
        np.testing.assert_allclose([r[i] for r in results], expected, rtol=1e-12, atol=least, err_msg=f"at {point}")


@pytest.mark.parametrize("name", [*WHOLE, *INSIDE, *POSITIVE, *SHARES, *ABOVE_1])
def test_all_orders(name: str) -> None:
    points = [0.0, 1e-8, -0.01, 0.5]
    for table, others in ((POSITIVE, [0.01, 0.5, 3.0]), (SHARES, [0.01, 0.3, 0.9]), (ABOVE_1, [1.01, 1.5, 4.0])):
        points = others if name in table else points
    reference = {**WHOLE, **INSIDE, **POSITIVE, **SHARES, **ABOVE_1}[name]
    results = orders(name, points, ORDERS)
    for i, point in enumerate(points):
        expected = derivatives(reference, point, ORDERS, 60)
        np.testing.assert_allclose([r[i] for r in results], expected, 1e-9, 1e-12, err_msg=f"at {point}")


@cases("name", REMOVABLE)
def test_on_every_device_and_in_float32(name: str, device: str) -> None:
    points = [0.0, 1e-4, -0.5, 2.0]
    expected = [host(r) for r in orders(name, points, 4)]
    for dtype, tolerance in ((np.float64, 1e-12), (np.float32, 2e-6)):
        for actual, right in zip(orders(name, points, 4, device, dtype), expected, strict=True):
            np.testing.assert_allclose(actual, right, tolerance, tolerance)


def test_entropy_has_an_infinite_derivative_at_0() -> None:
    value, first, second = orders("entr", [0.0], 2)
    assert (value[0], first[0], second[0]) == (0, math.inf, -math.inf)
    assert not np.signbit(value[0])


def test_a_complex_sinc() -> None:
    z = minigrad.tensor([0j, 0.3 - 2j, 1e-9j], requires_grad=True, dtype=minigrad.complex128)
    assert minigrad.autograd.gradcheck(minigrad.sinc, [z]) and minigrad.autograd.gradgradcheck(minigrad.sinc, [z])
