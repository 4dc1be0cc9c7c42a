"""The compiled kernel ``group_norm`` against its op in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.compiled_checks import check, kernel, needs_numba, run, same_bits
from tests.support.plain_checks import normal

pytestmark = needs_numba
SHAPES = [((2, 4, 3), 2), ((3, 6, 5, 7), 3), ((2, 6, 2, 2, 2), 1), ((40, 4, 17), 4), ((7, 6), 2), ((2, 64, 28, 28), 32)]


@pytest.mark.parametrize(("shape", "groups"), SHAPES, ids=str)
def test_values_and_gradients(shape: tuple[int, ...], groups: int) -> None:
    x, weight, bias = 2 + normal(*shape), normal(shape[1], seed=2), normal(shape[1], seed=3)
    check("group_norm", x, weight, bias, groups, 1e-5, differentiable=(0, 1, 2))
    check("group_norm", x, None, None, groups, 1e-3, differentiable=(0,))
    check("group_norm", x, weight, None, groups, 1e-3, differentiable=(0, 1))
    check("group_norm", x, None, bias, groups, 1e-3, differentiable=(0, 2))


@pytest.mark.parametrize("wanted", [(0,), (1,), (2,), (0, 2), (1, 2)], ids=str)
def test_only_what_is_wanted(wanted: tuple[int, ...]) -> None:
    check("group_norm", normal(7, 6, 9), normal(6, seed=2), normal(6, seed=3), 2, 1e-5, differentiable=wanted)


def test_a_mean_far_from_zero() -> None:
    x = (100 + normal(3, 4, 50)).astype(np.float32).astype(np.float64)
    check("group_norm", x, normal(4, seed=2), normal(4, seed=3), 2, 1e-5, differentiable=(0, 1, 2), tolerance=1e-4)


def test_a_number_that_is_none_spoils_its_group_alone() -> None:
    x = normal(3, 4, 20)
    expected, _ = run("group_norm", [x, None, None, 2, 1e-5], (0,))
    x[1, 3, 7] = np.nan
    out, _ = run("group_norm", [x, None, None, 2, 1e-5], (0,))
    assert np.isnan(out[1, 2:]).all()
    out[1, 2:] = expected[1, 2:]
    np.testing.assert_array_equal(out, expected)


def test_any_number_of_threads_gives_the_same_bits() -> None:
    same_bits(
        "group_norm", normal(33, 8, 20, 20), normal(8, seed=2), normal(8, seed=3), 4, 1e-5, differentiable=(0, 1, 2)
    )


@pytest.mark.parametrize("x", [np.zeros((2, 4, 3)), np.zeros((2, 4, 3), np.float16), np.zeros((2, 4, 0), "f")])
def test_what_it_does_not_take(x: Any) -> None:
    assert kernel("group_norm").forward((False,) * 5, x, None, None, 2, 1e-5) is NotImplemented
