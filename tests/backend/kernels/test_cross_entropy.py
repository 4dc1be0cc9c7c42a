"""The CPU kernel ``cross_entropy`` against its plain definition."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.plain_checks import check, normal

pytestmark = pytest.mark.usefixtures("small_blocks")


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", [(1, 2), (4, 5), (300, 33), (7, 257), (5, 1), (0, 4)], ids=str)
def test_values_and_gradients(shape: tuple[int, int], weighted: bool, smoothing: float) -> None:
    rng = np.random.default_rng(2)
    target = rng.integers(0, shape[1], shape[0])
    target[::3] = -100
    weight = rng.random(shape[1]) + 0.5 if weighted else None
    check("cross_entropy", [5 * normal(*shape), target, weight, -100, smoothing], [0])


def test_large_logits_and_another_ignored_index() -> None:
    logits = 1000 * normal(6, 9)
    check("cross_entropy", [logits, np.array([0, 1, 2, 3, 0, 8]), None, 0, 0.0], [0])
