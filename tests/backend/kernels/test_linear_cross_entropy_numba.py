"""The compiled kernel ``linear_cross_entropy`` against the op's rules in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minigrad.backend import parallel
from minigrad.backend.kernels import linear_cross_entropy_numba
from tests.support.compiled_checks import check, close, kernel, needs_numba, run
from tests.support.plain_checks import normal, plain

pytestmark = needs_numba
NAME = "linear_cross_entropy"
SIZES = [(1, 1, 2), (5, 3, 7), (130, 16, 33), (40, 9, 300)]  # rows, width, classes


@pytest.fixture(autouse=True, params=[(16, 8), (512, 512)], ids=str)
def sizes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several chunks and blocks, and one."""
    monkeypatch.setattr(linear_cross_entropy_numba, "CHUNK", request.param[0])
    monkeypatch.setattr(linear_cross_entropy_numba, "BLOCK", request.param[1])


def targets(rows: int, classes: int) -> Any:
    target = np.random.default_rng(2).integers(0, classes, rows)
    target[1::3] = -100
    return target


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize(("rows", "width", "classes"), SIZES)
def test_values_and_gradients(
    rows: int, width: int, classes: int, biased: bool, smoothing: float, reduction: str
) -> None:
    bias = normal(classes, seed=3) if biased else None
    args = [
        normal(rows, width),
        normal(classes, width, seed=2),
        bias,
        targets(rows, classes),
        -100,
        smoothing,
        reduction,
    ]
    check(NAME, *args, differentiable=[0, 1, 2] if biased else [0, 1], tolerance=1e-4)


@pytest.mark.parametrize("wanted", [[0], [1], [2]])
def test_nothing_but_what_is_asked_for(wanted: list[int]) -> None:
    args = [normal(30, 9), normal(50, 9, seed=2), normal(50, seed=3), targets(30, 50), -100, 0.1, "mean"]
    check(NAME, *args, differentiable=wanted, tolerance=1e-4)


def test_logits_that_overflow_and_classes_that_are_excluded() -> None:
    x, weight, bias = 30 * normal(20, 9), 30 * normal(40, 9, seed=2), normal(40, seed=3)
    bias[7:20] = -np.inf
    args = [x, weight, bias, np.arange(20) % 7, -100, 0.0, "mean"]
    expected, slopes, g = plain(NAME, args, [0, 1])
    out, found = run(NAME, args, [0, 1], g)
    assert np.isfinite(expected)
    close(np.asarray(out), np.asarray(expected), "loss", 1e-4)
    for i in (0, 1):
        close(found[i], slopes[i], f"gradient {i}", 1e-4)


def test_a_target_that_is_no_class() -> None:
    args = [
        normal(4, 3).astype(np.float32),
        normal(5, 3).astype(np.float32),
        None,
        np.array([0, 1, 5, 2]),
        -100,
        0.0,
        "sum",
    ]
    with pytest.raises(IndexError, match="there are 5"):
        kernel(NAME).forward((False,) * 7, *args)


def test_no_row_counts() -> None:
    args = [normal(4, 3).astype(np.float32), normal(5, 3).astype(np.float32), None, np.full(4, -100), -100, 0.0, "sum"]
    out, (dx, dweight, _) = kernel(NAME).forward((True, True, False, False, False, False, False), *args)
    assert out == 0
    assert not dx.any()
    assert not dweight.any()


def test_equal_to_the_bit_for_any_number_of_threads() -> None:
    args = [normal(300, 16), normal(700, 16, seed=2), normal(700, seed=3), targets(300, 700), -100, 0.1, "mean"]
    before, found = parallel.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            parallel.set_num_threads(threads)
            out, slopes = run(NAME, args, [0, 1, 2], np.array(1.0))
            found.append([np.asarray(out), *slopes.values()])
    finally:
        parallel.set_num_threads(before)
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_other_dtypes_and_nothing_are_left_to_numpy() -> None:
    args = [normal(4, 3), normal(5, 3), None, np.zeros(4, np.int64), -100, 0.0, "mean"]
    assert kernel(NAME).forward((False,) * 7, *args) is NotImplemented
    args[:2] = np.zeros((0, 3), np.float32), np.zeros((5, 3), np.float32)
    assert kernel(NAME).forward((False,) * 7, *args) is NotImplemented
