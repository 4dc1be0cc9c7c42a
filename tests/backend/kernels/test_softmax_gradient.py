"""The CPU kernels ``softmax_gradient`` and ``log_softmax_gradient`` against their plain definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.plain_checks import normal, plain, run

pytestmark = pytest.mark.usefixtures("small_blocks")
SHAPES: list[tuple[tuple[int, ...], int]] = [
    ((1, 1), 1),
    ((3, 5), 1),
    ((7, 64), 1),
    ((300, 33), 1),
    ((2, 3, 257), 2),
    ((5, 3), 0),
    ((4, 70, 3), 1),
    ((0, 4), 1),
    ((2, 0, 5), 0),
]


@pytest.mark.parametrize(("shape", "dim"), SHAPES, ids=str)
@pytest.mark.parametrize("name", ["softmax_gradient", "log_softmax_gradient"])
def test_values(name: str, shape: tuple[int, ...], dim: int) -> None:
    g, x = normal(*shape), normal(*shape, seed=2)
    out = np.exp(x) / np.exp(x).sum(dim, keepdims=True)
    out = np.log(out) if name == "log_softmax_gradient" else out
    expected = plain(name, [g, out, dim], [0, 1])[0]
    for dtype, rtol in ((np.float64, 1e-12), (np.float32, 2e-5)):
        for lay in (lambda a: a, lambda a: np.array(a.T, order="C").T):
            args: list[Any] = [lay(g.astype(dtype)), lay(out.astype(dtype)), dim]
            found, _ = run(name, args, (False,) * 3, np.zeros(0))
            assert found.dtype == dtype
            np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol)
