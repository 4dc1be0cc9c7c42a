"""The NumPy kernel for cross-entropy against its plain definition. (Other kernels have separate files.)"""

import itertools

import numpy as np

from tests.support.cases import cases
from tests.support.plain_checks import check, normal


@cases("shape", [(1, 2), (4, 5), (300, 33), (7, 257), (5, 1), (0, 4)])
def test_cross_entropy(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(2)
    target = rng.integers(0, shape[1], shape[0])
    target[::3] = -100
    for weight, smoothing in itertools.product((None, rng.random(shape[1]) + 0.5), (0.0, 0.1)):
        check("cross_entropy", [5 * normal(*shape), target, weight, -100, smoothing], [0])


def test_cross_entropy_of_large_logits_and_another_ignored_index() -> None:
    check("cross_entropy", [1000 * normal(6, 9), np.array([0, 1, 2, 3, 0, 8]), None, 0, 0.0], [0])
