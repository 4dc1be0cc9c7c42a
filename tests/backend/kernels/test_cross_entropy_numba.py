"""The compiled kernel ``cross_entropy`` against its op in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.compiled_checks import check, kernel, needs_numba, run, same_bits
from tests.support.plain_checks import normal

pytestmark = needs_numba
NONE = (False,) * 5
SHAPES = [(1, 2), (4, 3), (7, 8), (5, 17), (3, 64), (9, 100), (5, 1), (2000, 33), (7, 1025)]


def _targets(shape: tuple[int, int], ignored: int = -100) -> Any:
    target = np.random.default_rng(2).integers(0, shape[1], shape[0])
    target[::3] = ignored
    return target


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_values_and_gradients(shape: tuple[int, int], weighted: bool, smoothing: float) -> None:
    weight = np.random.default_rng(3).random(shape[1]) + 0.5 if weighted else None
    check("cross_entropy", 5 * normal(*shape), _targets(shape), weight, -100, smoothing, differentiable=(0,))


@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.int64])
def test_large_logits_another_ignored_index_and_other_integers(dtype: Any) -> None:
    logits = (1000 * normal(6, 9)).astype(np.float32).astype(np.float64)
    target = np.array([0, 1, 2, 3, 0, 8], dtype)
    check("cross_entropy", logits, target, None, 0, 0.0, differentiable=(0,))


def test_infinite_logits() -> None:
    """A class that is ruled out, and a row that rules out all."""
    logits = normal(3, 20)
    logits[0, 4] = logits[2] = -np.inf
    loss, _ = run("cross_entropy", [logits, np.array([5, 6, 7]), None, -100, 0.0], (0,))
    assert np.isfinite(loss[:2]).all()
    assert np.isnan(loss[2])
    check("cross_entropy", logits[:2], np.array([5, 6]), None, -100, 0.0, differentiable=(0,))
    loss, _ = run("cross_entropy", [logits[:1], np.array([4]), None, -100, 0.0], (0,))
    assert loss[0] == np.inf


def test_ignored_rows_give_nothing_whatever_they_hold() -> None:
    logits, g = normal(3, 20), np.array([1.0, np.nan, 2.0])
    logits[1] = np.nan
    loss, slopes = run("cross_entropy", [logits, np.array([5, -100, 7]), None, -100, 0.2], (0,), g)
    assert loss[1] == 0
    assert (slopes[0][1] == 0).all()
    assert np.isfinite(slopes[0]).all()


def test_a_class_out_of_range_is_not_read() -> None:
    """The functional checks targets; who calls the op without gets NaN, in the gradient, too."""
    for target in (20, -1, 1 << 40):
        args = [normal(3, 20), np.array([0, target, 1]), None, -100, 0.1]
        loss, slopes = run("cross_entropy", args, (0,), np.ones(3))
        np.testing.assert_array_equal(np.isnan(loss), [False, True, False])
        np.testing.assert_array_equal(np.isnan(slopes[0]).all(axis=1), [False, True, False])


@pytest.mark.parametrize("weighted", [False, True])
def test_any_number_of_threads_gives_the_same_bits(weighted: bool) -> None:
    weight = normal(65) ** 2 if weighted else None
    same_bits("cross_entropy", normal(3000, 65), _targets((3000, 65)), weight, -100, 0.1, differentiable=(0,))


@pytest.mark.parametrize("logits", [np.zeros((2, 3)), np.zeros((2, 3), np.float16), np.zeros((0, 3), "f")])
def test_what_it_does_not_take(logits: Any) -> None:
    target = np.zeros(len(logits), np.int64)
    assert kernel("cross_entropy").forward(NONE, logits, target, None, -100, 0.0) is NotImplemented
