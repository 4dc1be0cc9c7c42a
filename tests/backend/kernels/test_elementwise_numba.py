"""The compiled kernels of functions of one array."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minigrad.backend import parallel
from tests.support.compiled_checks import check, kernel, needs_numba, run
from tests.support.plain_checks import normal

pytestmark = needs_numba

NAMES = pytest.mark.parametrize("name", ["exp", "relu", "sigmoid", "silu", "tanh"])


@NAMES
@pytest.mark.parametrize("shape", [(4096,), (4097,), (64, 65), (3, 17, 101), (5000, 1), (700, 100)], ids=str)
def test_values_and_gradients(name: str, shape: tuple[int, ...]) -> None:
    check(name, 3 * normal(*shape), differentiable=(0,))


@NAMES
def test_extreme_numbers(name: str) -> None:
    x = np.array([0.0, -0.0, 1e-40, -1e-40, 20.0, -20.0, 87.0, -87.0, -104.0, -1e5, -3e38, 0.5, -0.5])
    x = x if name == "exp" else np.concatenate([x, [100.0, 1e5, 3e38]])
    check(name, np.tile(x, 400), differentiable=(0,))


@NAMES
def test_what_is_not_finite(name: str) -> None:
    """As NumPy has it, and what stands beside it is left alone."""
    x = np.tile(np.array([np.nan, 1.0, np.inf, -1.0, -np.inf]), 1000)
    check(name, x, differentiable=(0,))
    wanted = {"exp": np.inf, "relu": np.inf, "sigmoid": 1, "silu": np.inf, "tanh": 1}[name]
    out, gradients = run(name, [x], (0,), np.ones(x.size))
    assert np.isnan(out[::5]).all()
    assert (out[2::5] == wanted).all()
    assert np.isfinite(gradients[0][1::5]).all()
    assert np.isfinite(gradients[0][3::5]).all()


def test_relu_where_it_is_not_positive() -> None:
    """The gradient is 0 at 0, and passes NaN, as the rule has it."""
    x = np.tile(np.array([np.nan, 0.0, -0.0, 2.0], np.float32), 2000)
    _, gradients = run("relu", [x], (0,), np.ones(x.size))
    np.testing.assert_array_equal(gradients[0][:4], [1, 0, 0, 1])


@NAMES
def test_any_number_of_threads_gives_the_same_bits(name: str) -> None:
    x = normal(3, 70_001)
    before, found = parallel.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            parallel.set_num_threads(threads)
            out, gradients = run(name, [x], (0,), x)
            found.append((out.tobytes(), gradients[0].tobytes()))
    finally:
        parallel.set_num_threads(before)
    assert found[0] == found[1] == found[2]


@NAMES
@pytest.mark.parametrize(
    "x", [np.ones((4096, 0), np.float32), np.ones(9, np.float32), np.ones(5000), np.float32(1), 2.0], ids=repr
)
def test_what_it_does_not_take(name: str, x: Any) -> None:
    assert kernel(name).forward((True,), x) is NotImplemented
