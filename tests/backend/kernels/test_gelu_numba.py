"""The compiled kernel ``gelu``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from minigrad.backend import parallel
from tests.support.compiled_checks import check, kernel, needs_numba
from tests.support.plain_checks import normal

pytestmark = needs_numba

KINDS = pytest.mark.parametrize("approximate", ["none", "tanh"])
NEEDS = (True, False)


@KINDS
@pytest.mark.parametrize("shape", [(), (1,), (3,), (8,), (17,), (5, 64), (3, 2, 100), (700, 100)], ids=str)
def test_values_and_gradients(shape: tuple[int, ...], approximate: str) -> None:
    check("gelu", np.asarray(3 * normal(*shape)), approximate, differentiable=(0,))


@KINDS
def test_far_from_zero_it_is_a_ramp(approximate: str) -> None:
    x = np.array([8.0, 30.0, 1e4, 1e15, 1e25, 3e38])
    check("gelu", np.concatenate([x, -x, x]), approximate, differentiable=(0,))


@KINDS
def test_what_is_not_finite_stays_in_its_place(approximate: str) -> None:
    x = np.array([1.0, np.nan, -1.0, np.inf, 2.0, -np.inf, 0.5, 1e-40, -0.0, 3.0, -3.0], np.float32)
    out, _ = kernel("gelu").forward(NEEDS, x, approximate)
    dx, _ = kernel("gelu").backward(NEEDS, None, np.ones_like(x), x, approximate)
    finite = np.isfinite(x)
    assert np.isfinite(out[finite]).all()
    assert np.isfinite(dx[finite]).all()
    assert np.isnan(out[1])
    assert np.isnan(dx[1])
    assert out[3] == np.inf


def test_the_normal_distribution() -> None:
    """Φ(x) = gelu(x) / x, against Python's own erfc: to 1e-7, and where it is small to 1e-5 of itself."""
    x = np.linspace(-9, 9, 20_000, dtype=np.float32)
    expected = np.array([0.5 * math.erfc(-n / math.sqrt(2)) for n in x.tolist()])
    out, _ = kernel("gelu").forward(NEEDS, x, "none")
    found = out.astype(np.float64) / x.astype(np.float64)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1.2e-7)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=0)


@KINDS
def test_any_number_of_threads_gives_the_same_bits(approximate: str) -> None:
    x, g = (normal(3, 70_001, seed=i).astype(np.float32) for i in (0, 1))
    before, found = parallel.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            parallel.set_num_threads(threads)
            out, residual = kernel("gelu").forward(NEEDS, x, approximate)
            found.append((out.tobytes(), kernel("gelu").backward(NEEDS, residual, g, x, approximate)[0].tobytes()))
    finally:
        parallel.set_num_threads(before)
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("x", [np.ones((2, 0), np.float32), np.ones(3), np.ones(3, np.float16)], ids=repr)
def test_what_it_does_not_take(x: Any) -> None:
    assert kernel("gelu").forward(NEEDS, x, "none") is NotImplemented
