"""The CPU kernel ``scatter_add_rows`` against its plain definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minigrad.backend.kernels import scatter_add_rows
from tests.support.plain_checks import normal, run

pytestmark = pytest.mark.usefixtures("small_blocks")


@pytest.mark.parametrize(
    ("count", "rows", "width"), [(1, 1, 1), (5, 3, 2), (300, 7, 33), (40, 500, 64), (0, 4, 3), (6, 2, 0)]
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", [np.int64, np.int32])
def test_values(count: int, rows: int, width: int, dtype: Any, kind: Any) -> None:
    x = normal(count, width).astype(dtype)
    indices = np.random.default_rng(3).integers(0, rows, count).astype(kind)
    expected = np.zeros((rows, width))
    np.add.at(expected, indices, x.astype(np.float64))
    for lay in (lambda a: a, lambda a: np.array(a.T, order="C").T):
        out, _ = run("scatter_add_rows", [lay(x), indices, rows], (False,) * 3, np.zeros(0))
        assert (out.dtype, out.shape) == (dtype, (rows, width))
        np.testing.assert_allclose(out, expected, rtol=1e-5 if dtype is np.float32 else 1e-12, atol=1e-5)


@pytest.mark.parametrize("length", [1, 2, 14, 15, 16, 17, 18, 100])
@pytest.mark.parametrize("others", [0, 1, 3, 40])
def test_runs_of_any_length(length: int, others: int) -> None:
    """An index that occurs so often is summed by itself; those beside it are not touched by that."""
    assert scatter_add_rows._ROUNDS == 16
    indices = np.concatenate([np.full(length, 4), np.arange(others) % 7, np.full(length // 2, 6)])
    np.random.default_rng(1).shuffle(indices)
    _compare(indices, 9)


def test_most_rows_have_one_index() -> None:
    """As with a padding token."""
    indices = np.zeros(2000, int)
    indices[::7] = np.arange(286) % 50
    _compare(indices, 60)


def test_every_index_many_times() -> None:
    _compare(np.arange(900) % 30, 30)


def _compare(indices: Any, rows: int) -> None:
    x = normal(len(indices), 5)
    expected = np.zeros((rows, 5))
    np.add.at(expected, indices, x)
    out, _ = run("scatter_add_rows", [x, indices, rows], (False,) * 3, np.zeros(0))
    np.testing.assert_allclose(out, expected, rtol=1e-11, atol=1e-12)
    out, _ = run("scatter_add_rows", [x.astype(np.float32), indices, rows], (False,) * 3, np.zeros(0))
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-4)


def test_what_is_not_finite_stays_in_its_row() -> None:
    x, indices = normal(50, 3), np.arange(50) % 4
    x[8, 1] = np.nan
    out, _ = run("scatter_add_rows", [x, indices, 5], (False,) * 3, np.zeros(0))
    assert np.isnan(out[0, 1])
    assert np.isfinite(np.delete(out.reshape(-1), 1)).all()
