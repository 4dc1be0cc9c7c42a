"""The CPU kernel ``dropout`` against its plain definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.plain_checks import normal, run

pytestmark = pytest.mark.usefixtures("small_blocks")


@pytest.mark.parametrize("shape", [(1,), (7, 5), (300, 33), (0, 3), ()], ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values(shape: tuple[int, ...], dtype: Any) -> None:
    x, keep = np.asarray(normal(*shape)).astype(dtype), np.asarray(normal(*shape, seed=2)) > 0
    for lay in (lambda a: a, lambda a: np.array(a.T, order="C").T):
        out, _ = run("dropout", [lay(x), lay(keep), 1.25], (False,) * 3, np.zeros(0))
        assert out.dtype == dtype
        np.testing.assert_allclose(out, np.where(keep, x * dtype(1.25), 0), rtol=1e-6)
