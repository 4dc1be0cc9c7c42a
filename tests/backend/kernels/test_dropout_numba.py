"""The compiled kernels ``dropout`` and ``relu_dropout``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minigrad.backend import parallel
from tests.support.compiled_checks import check, kernel, needs_numba, run
from tests.support.plain_checks import normal

pytestmark = needs_numba
both = pytest.mark.parametrize("name", ["dropout", "relu_dropout"])


@both
@pytest.mark.parametrize("shape", [(), (1,), (3,), (8,), (17,), (5, 64), (3, 2, 100), (700, 100)], ids=str)
def test_values_and_gradients(shape: tuple[int, ...], name: str) -> None:
    keep = np.asarray(normal(*shape, seed=2)) > 0
    check(name, np.asarray(normal(*shape)), keep, 1.25, differentiable=(0,))
    check(name, np.asarray(normal(*shape)), keep, 0.0, differentiable=(0,))


@both
def test_what_is_not_finite_spoils_zeros(name: str) -> None:
    """As in the definition, and in PyTorch: a product with 0."""
    x = np.array([np.nan, np.inf, -np.inf, 1e-40, 3e38] * 7)
    check(name, x, np.arange(35) % 2 == 0, 1.0, differentiable=(0,))


@both
def test_any_number_of_threads_gives_the_same_bits(name: str) -> None:
    x, keep = normal(3, 70_001), normal(3, 70_001, seed=1) > 0
    before, found = parallel.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            parallel.set_num_threads(threads)
            out, slopes = run(name, [x, keep, 2.0], (0,), x)
            found.append((out.tobytes(), slopes[0].tobytes()))
    finally:
        parallel.set_num_threads(before)
    assert found[0] == found[1] == found[2]


@both
@pytest.mark.parametrize(
    ("x", "keep"),
    [
        (np.ones((2, 0), np.float32), np.ones((2, 0), bool)),
        (np.ones(3), np.ones(3, bool)),
        (np.ones((2, 3), np.float32), np.ones(3, bool)),
        (np.ones(3, np.float32), np.ones(3, np.uint8)),
    ],
)
def test_what_it_does_not_take(x: Any, keep: Any, name: str) -> None:
    assert kernel(name).forward((True, False, False), x, keep, 2.0) is NotImplemented
