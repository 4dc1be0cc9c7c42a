"""The CPU kernels ``softmax`` and ``log_softmax`` against their plain definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.plain_checks import normal, plain, run

pytestmark = pytest.mark.usefixtures("small_blocks")
NAMES = pytest.mark.parametrize("name", ["softmax", "log_softmax"])
ROWS = [(1, 1), (3, 5), (7, 63), (5, 64), (4, 65), (3, 257), (300, 33), (2, 3, 130), (0, 4), (2, 0, 5)]


@pytest.mark.parametrize("shape", ROWS, ids=str)
@pytest.mark.parametrize("scale", [1.0, 50.0])
@NAMES
def test_last_axis(name: str, shape: tuple[int, ...], scale: float) -> None:
    _check(name, scale * normal(*shape), len(shape) - 1)


@pytest.mark.parametrize(
    ("shape", "dim"), [((5, 3), 0), ((4, 70, 3), 1), ((2, 3, 4, 5), 2), ((6,), 0), ((3, 0, 2), 0)], ids=str
)
@NAMES
def test_other_axes(name: str, shape: tuple[int, ...], dim: int) -> None:
    _check(name, normal(*shape), dim)


def _check(name: str, x: Any, dim: int) -> None:
    expected = plain(name, [x, dim], [0])[0]
    for dtype, rtol in ((np.float64, 1e-12), (np.float32, 1e-5)):
        for lay in (lambda a: a, lambda a: np.array(a.T, order="C").T):
            out, _ = run(name, [lay(x.astype(dtype)), dim], (False, False), np.zeros(0))
            assert out.dtype == dtype
            size = np.abs(x[np.isfinite(x)]).max(initial=1)
            np.testing.assert_allclose(out, expected, rtol=rtol, atol=rtol * size)


@NAMES
def test_infinite_scores(name: str) -> None:
    x = normal(3, 6)
    x[0, 2:] = -np.inf
    x[1, 1] = 300.0
    _check(name, x, 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@NAMES
def test_a_row_of_minus_infinity(name: str, dtype: Any) -> None:
    x = np.full((2, 4), -np.inf, dtype)
    x[1] = 0
    out, _ = run(name, [x, 1], (False, False), np.zeros(0))
    assert np.isfinite(out[1]).all()
    if name == "softmax":
        assert (out[0] == 0).all()
