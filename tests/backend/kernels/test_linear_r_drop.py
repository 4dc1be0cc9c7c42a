"""The CPU kernel ``linear_r_drop`` against its plain definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minigrad.backend.kernels import linear_r_drop
from tests.support.plain_checks import RTOL, check, normal, plain, run

NAME = "linear_r_drop"
pytestmark = pytest.mark.usefixtures("small_blocks")


def inputs(rows: int, width: int, classes: int, alpha: float, smoothing: float) -> list[Any]:
    target = np.random.default_rng(2).integers(0, classes, rows)
    return [normal(2 * rows, width), normal(classes, width, seed=2), target, alpha, smoothing]


@pytest.mark.parametrize(("alpha", "smoothing"), [(0.0, 0.0), (5.0, 0.0), (0.0, 0.1), (3.0, 0.1)])
@pytest.mark.parametrize(("rows", "width", "classes"), [(1, 1, 2), (5, 3, 7), (130, 16, 33)])
@pytest.mark.parametrize("at_a_time", [1, 20, 1000])
def test_values_and_gradients(
    rows: int, width: int, classes: int, alpha: float, smoothing: float, at_a_time: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linear_r_drop, "CHUNK_BYTES", 8 * classes * at_a_time)
    monkeypatch.setattr(linear_r_drop, "BLOCK_BYTES", 8 * classes * max(1, at_a_time // 3))
    check(NAME, inputs(rows, width, classes, alpha, smoothing), [0, 1])


@pytest.mark.parametrize("level", [80.0, 1e4, -1e4])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_large_logits(level: float, dtype: Any) -> None:
    """All of one size, far from 0, where exp of them is not finite."""
    x = np.concatenate((normal(4, 3), np.full((4, 1), level)), axis=1)
    weight = np.concatenate((normal(9, 3, seed=2), np.ones((9, 1))), axis=1)
    args: list[Any] = [np.concatenate((x, x + 0.25)), weight, np.array([3, 0, 8, 5]), 5.0, 0.1]
    given = [a.astype(dtype) if isinstance(a, np.ndarray) and a.dtype.kind == "f" else a for a in args]
    wide = [a.astype(np.float64) if isinstance(a, np.ndarray) and a.dtype.kind == "f" else a for a in given]
    expected, slopes, g = plain(NAME, wide, [0, 1])
    out, found = run(NAME, given, (True, True, False, False, False), g.astype(dtype))
    rounding = 8 * abs(level) * np.finfo(dtype).eps
    np.testing.assert_allclose(out, expected, rtol=RTOL[dtype], atol=rounding)
    for i in (0, 1):
        tolerance = (RTOL[dtype] + rounding) * np.abs(slopes[i]).max()
        np.testing.assert_allclose(found[i], slopes[i], rtol=0, atol=tolerance)


def test_of_nothing() -> None:
    out, found = run(NAME, inputs(0, 3, 4, 1.0, 0.1), (True, True, False, False, False), np.array(1.0))
    assert np.isnan(out)
    assert found[0].shape == (0, 3)
    assert not found[1].any()


def test_what_is_not_finite_stays_in_its_rows() -> None:
    args = inputs(6, 4, 5, 1.0, 0.1)
    args[0][2, 1] = np.nan
    out, found = run(NAME, args, (True, True, False, False, False), np.array(1.0))
    assert np.isnan(out)
    assert np.isnan(found[0][[2, 8]]).all()
    assert np.isfinite(np.delete(found[0], [2, 8], axis=0)).all()
