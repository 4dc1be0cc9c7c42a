"""The compiled kernels ``layer_norm`` and ``rms_norm`` against their ops in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.compiled_checks import check, close, kernel, needs_numba, run, same_bits
from tests.support.plain_checks import normal, plain

pytestmark = needs_numba
SHAPES = [(1, 2), (3, 5), (7, 8), (5, 17), (9, 64), (3, 100), (2, 3, 257), (6,), (1000, 33), (300, 384)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_values_and_gradients(shape: tuple[int, ...]) -> None:
    x, weight, bias = 2 + normal(*shape), normal(shape[-1], seed=2), normal(shape[-1], seed=3)
    check("layer_norm", x, weight, bias, 1e-5, differentiable=(0, 1, 2))
    check("layer_norm", x, weight, None, 1e-3, differentiable=(0, 1))
    check("layer_norm", x, None, None, 1e-3, differentiable=(0,))
    check("rms_norm", x, weight, 1e-6, differentiable=(0, 1))
    check("rms_norm", x, None, 1e-3, differentiable=(0,))


@pytest.mark.parametrize("wanted", [(0,), (1,), (2,), (0, 2), (1, 2)], ids=str)
def test_only_what_is_wanted(wanted: tuple[int, ...]) -> None:
    check("layer_norm", normal(70, 9), normal(9, seed=2), normal(9, seed=3), 1e-5, differentiable=wanted)
    if wanted in ((0,), (1,)):
        check("rms_norm", normal(70, 9), normal(9, seed=2), 1e-5, differentiable=wanted)


def test_a_mean_far_from_zero_and_rows_of_one_number() -> None:
    x = 1000 + normal(5, 64)
    x[2] = 3.0
    x = x.astype(np.float32).astype(np.float64)
    check("layer_norm", x, normal(64, seed=2), normal(64, seed=3), 1e-5, differentiable=(0, 1, 2), tolerance=1e-4)
    check("layer_norm", normal(4, 1), normal(1, seed=2), None, 1e-5, differentiable=(0, 1), tolerance=1e-4)
    check("rms_norm", normal(4, 1), normal(1, seed=2), 1e-5, differentiable=(0, 1))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["layer_norm", "rms_norm"])
def test_a_number_that_is_none_spoils_its_row_alone(name: str, bad: float) -> None:
    x = normal(4, 20)
    args = [x, None, None, 1e-5] if name == "layer_norm" else [x, None, 1e-5]
    clean, _ = run(name, args, (0,))
    x[1, 3] = bad
    with np.errstate(invalid="ignore"):
        expected = plain(name, args, (0,))[0]
    out, _ = run(name, args, (0,))
    close(out, expected, name)
    np.testing.assert_array_equal(out[[0, 2, 3]], clean[[0, 2, 3]])


@pytest.mark.parametrize("shape", [(1000, 33), (17, 100), (20000, 3)], ids=str)
def test_any_number_of_threads_gives_the_same_bits(shape: tuple[int, ...]) -> None:
    x, weight, bias = normal(*shape), normal(shape[-1], seed=2), normal(shape[-1], seed=3)
    same_bits("layer_norm", x, weight, bias, 1e-5, differentiable=(0, 1, 2))
    same_bits("rms_norm", x, weight, 1e-5, differentiable=(0, 1))


X = normal(3, 4).astype(np.float32)


@pytest.mark.parametrize(
    "args",
    [
        (X.astype(np.float64), None, None),
        (X.astype(np.float16), None, None),
        (X[:0], None, None),
        (X[:, :0], None, None),
        (X, np.ones(4), None),
        (X, None, X[0]),
    ],
)
def test_what_it_does_not_take(args: tuple[Any, ...]) -> None:
    assert kernel("layer_norm").forward((False,) * 4, *args, 1e-5) is NotImplemented
    if args[2] is None:
        assert kernel("rms_norm").forward((False,) * 3, *args[:2], 1e-5) is NotImplemented
