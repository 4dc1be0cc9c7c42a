"""The CPU kernel ``linear_cross_entropy`` against its plain definition."""

from __future__ import annotations

import numpy as np
import pytest

from minigrad.backend.kernels import linear_cross_entropy
from tests.support.plain_checks import check, normal

pytestmark = pytest.mark.usefixtures("small_blocks")


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize(("rows", "width", "classes"), [(1, 1, 2), (5, 3, 7), (130, 16, 33), (0, 3, 4)])
def test_values_and_gradients(
    rows: int,
    width: int,
    classes: int,
    biased: bool,
    smoothing: float,
    reduction: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(linear_cross_entropy, "CHUNK_BYTES", 8 * classes * 20)  # some twenty rows at a time
    target = np.random.default_rng(2).integers(0, classes, rows)
    target[1::3] = -100
    if not rows and reduction == "mean":
        return  # the mean of nothing is NaN
    bias = normal(classes, seed=3) if biased else None
    args = [normal(rows, width), normal(classes, width, seed=2), bias, target, -100, smoothing, reduction]
    check("linear_cross_entropy", args, [0, 1, 2] if biased else [0, 1])
