"""The CPU kernel ``scatter_add_rows`` against its plain definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

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
