"""Attention with few scores: the plain definition's values, also where the quick way of exp fails."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minigrad.backend.kernels import scaled_dot_product_attention as attention
from minigrad.ops.attention import scaled_dot_product_attention as op
from tests.support.plain_checks import normal

MASKS = {
    "none": None,
    "bool": normal(2, 1, 1, 5, seed=4) > -0.5,
    "float": normal(3, 4, 5, seed=4),
    "row": np.array([[True] * 5, [False] * 5, [True] * 5, [False] * 4 + [True]]),  # one that sees nothing
}


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A number for each call of the kernel."""
    calls: list[int] = []
    forward = attention.few_scores

    def count(*args: Any) -> Any:
        calls.append(1)
        return forward(*args)

    monkeypatch.setattr(attention, "few_scores", count)
    return calls


@pytest.mark.parametrize("size", [1.0, 30.0, 1e4], ids="times {}".format)  # scores too large for exp
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_values(counted: list[int], dtype: Any, mask: str, size: float) -> None:
    if dtype is np.float16 and size > 30:
        size = 30.0
    q = (size * normal(2, 3, 4, 8)).astype(dtype)
    k, v = normal(2, 3, 5, 8, seed=2).astype(dtype), normal(2, 3, 5, 6, seed=3).astype(dtype)
    allowed = MASKS[mask]
    if mask == "float":
        allowed = allowed.astype(dtype)
    found = op(q, k, v, allowed, None, False, 0.5, 0.0)
    wide = allowed.astype(np.float64) if mask == "float" else allowed
    expected = op.forward(*(x.astype(np.float64) for x in (q, k, v)), wide, None, False, 0.5, 0.0)
    assert counted == [1]
    assert (found.shape, found.dtype) == ((2, 3, 4, 6), dtype)
    close = {np.float64: 1e-11, np.float32: 2e-3 if size > 100 else 2e-5, np.float16: 5e-2}[dtype]
    np.testing.assert_allclose(found, expected, rtol=close, atol=close)


def test_what_it_is_not_for(counted: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    q, k = normal(1, 2, 3, 4), normal(1, 2, 5, 4, seed=2)
    op(q, k, k, None, None, True, 0.5, 0.0)
    op(q, k, k, None, normal(1, 2, 3, 5) > 0, False, 0.5, 0.5)
    monkeypatch.setattr(attention, "MOST", 29)
    op(q, k, k, None, None, False, 0.5, 0.0)
    assert counted == []
