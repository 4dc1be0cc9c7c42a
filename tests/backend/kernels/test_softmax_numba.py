"""The compiled kernels ``softmax`` and ``log_softmax`` against their ops in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.compiled_checks import check, close, kernel, needs_numba, run, same_bits
from tests.support.plain_checks import normal, plain

pytestmark = needs_numba
NAMES = pytest.mark.parametrize("name", ["softmax", "log_softmax"])
ROWS = [(1, 1), (3, 3), (7, 8), (5, 17), (4, 64), (9, 100), (3, 257), (2000, 33), (2, 3, 130), (6,)]
ACROSS = [((5, 3), 0), ((4, 70, 3), 1), ((2, 3, 4, 5), -3), ((3, 5, 256), 1), ((2, 300, 257), 1), ((4, 1, 1000), 1)]


@pytest.mark.parametrize("shape", ROWS, ids=str)
@pytest.mark.parametrize("scale", [1.0, 50.0])
@NAMES
def test_last_axis(name: str, scale: float, shape: tuple[int, ...]) -> None:
    x = (scale * normal(*shape)).astype(np.float32).astype(np.float64)
    check(name, x, -1, differentiable=(0,))


@pytest.mark.parametrize(("shape", "dim"), ACROSS, ids=str)
@NAMES
def test_other_axes(name: str, shape: tuple[int, ...], dim: int) -> None:
    check(name, normal(*shape), dim, differentiable=(0,))


@pytest.mark.parametrize("dim", [0, 1])
@NAMES
def test_extreme_scores(name: str, dim: int) -> None:
    x = np.zeros((6, 20)) if dim else np.zeros((20, 6))
    rows = x if dim else x.T
    rows[...] = normal(6, 20)
    rows[0, 2:] = -np.inf
    rows[1, 1] = 3e38
    rows[2] = -3e38
    rows[3] = -1e30 * np.arange(20)
    x = x.astype(np.float32).astype(np.float64)
    close(run(name, [x, dim], ())[0], plain(name, [x, dim], (0,))[0], name)


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("bad", [np.nan, -np.nan, np.inf])
@NAMES
def test_a_number_that_is_none_spoils_its_row_alone(name: str, bad: float, dim: int) -> None:
    rows = normal(4, 20)
    expected, _ = run(name, [rows if dim else rows.T, dim], ())
    rows[1, 3] = bad
    out, _ = run(name, [rows if dim else rows.T, dim], ())
    out, expected = (out, expected) if dim else (out.T, expected.T)
    np.testing.assert_array_equal(out[[0, 2, 3]], expected[[0, 2, 3]])
    if name == "softmax" or np.isnan(bad):
        assert np.isnan(out[1]).all()
    else:
        assert np.isnan(out[1, 3])
        assert not np.isfinite(out[1]).any()


@pytest.mark.parametrize("dim", [0, 1])
@NAMES
def test_a_row_of_minus_infinity(name: str, dim: int) -> None:
    rows = np.full((3, 20), -np.inf)
    rows[1] = 0.0
    out, _ = run(name, [rows if dim else rows.T, dim], ())
    out = out if dim else out.T
    assert (out[[0, 2]] == 0).all() if name == "softmax" else np.isnan(out[[0, 2]]).all()
    np.testing.assert_allclose(out[1], 0.05 if name == "softmax" else -np.log(20), rtol=1e-6)


def test_a_logarithm_near_nothing() -> None:
    """ln of a sum just above 1: as exact as float32 has the sum."""
    x = np.stack([np.zeros(2000), -np.linspace(0, 30, 2000)], 1)
    out, _ = run("log_softmax", [x, 1], ())
    np.testing.assert_allclose(out[:, 0], -np.log1p(np.exp(x[:, 1])), atol=2e-7)


@pytest.mark.parametrize(("shape", "dim"), [((5000, 33), 1), ((9, 40, 700), 1), ((3, 5), 0)], ids=str)
@NAMES
def test_any_number_of_threads_gives_the_same_bits(name: str, shape: tuple[int, ...], dim: int) -> None:
    same_bits(name, normal(*shape), dim, differentiable=(0,))


@pytest.mark.parametrize(
    "x", [np.zeros((2, 3)), np.zeros((2, 3), np.float16), np.zeros((0, 3), "f"), np.zeros((), "f")]
)
@NAMES
def test_what_it_does_not_take(name: str, x: Any) -> None:
    assert kernel(name).forward((False, False), x, -1) is NotImplemented
