"""The CPU kernel ``softmax`` against its plain definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.plain_checks import normal, plain, run

pytestmark = pytest.mark.usefixtures("small_blocks")
ROWS = [(1, 1), (3, 5), (7, 63), (5, 64), (4, 65), (3, 257), (300, 33), (2, 3, 130), (0, 4), (2, 0, 5)]


@pytest.mark.parametrize("shape", ROWS, ids=str)
@pytest.mark.parametrize("scale", [1.0, 50.0])
def test_last_axis(shape: tuple[int, ...], scale: float) -> None:
    _check(scale * normal(*shape), len(shape) - 1)


@pytest.mark.parametrize(
    ("shape", "dim"), [((5, 3), 0), ((4, 70, 3), 1), ((2, 3, 4, 5), 2), ((6,), 0), ((3, 0, 2), 0)], ids=str
)
def test_other_axes(shape: tuple[int, ...], dim: int) -> None:
    _check(normal(*shape), dim)


def _check(x: Any, dim: int) -> None:
    expected = plain("softmax", [x, dim], [0])[0]
    for dtype, rtol in ((np.float64, 1e-12), (np.float32, 1e-5)):
        for lay in (lambda a: a, lambda a: np.array(a.T, order="C").T):
            out, _ = run("softmax", [lay(x.astype(dtype)), dim], (False, False), np.zeros(0))
            assert out.dtype == dtype
            np.testing.assert_allclose(out, expected, rtol=rtol, atol=rtol * max(1, np.abs(x).max(initial=0)))


def test_infinite_scores() -> None:
    x = normal(3, 6)
    x[0, 2:] = -np.inf
    x[1, 1] = 300.0
    _check(x, 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_row_of_minus_infinity(dtype: Any) -> None:
    x = np.full((2, 4), -np.inf, dtype)
    x[1] = 0
    out, _ = run("softmax", [x, 1], (False, False), np.zeros(0))
    assert np.isfinite(out[1]).all()
    assert (out[0] == 0).all()
