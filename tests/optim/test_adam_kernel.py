"""Adam's kernel against its plain definition: every option, sizes around a block, any number of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minigrad.backend import parallel
from minigrad.backend.kernels import adam
from minigrad.optim.adam import plain_step

CASES = [
    {},
    {"amsgrad": True},
    {"maximize": True},
    {"weight_decay": 0.1},
    {"weight_decay": 0.1, "decoupled": True},
    {"weight_decay": 0.1, "maximize": True, "amsgrad": True},
]


def arrays(shape: tuple[int, ...], dtype: Any, amsgrad: bool) -> list[Any]:
    rng = np.random.default_rng(0)
    p, g, m = (rng.standard_normal(shape).astype(dtype) for _ in range(3))
    v, largest = (rng.random(shape).astype(dtype) for _ in range(2))
    return [p, g, m, v, largest if amsgrad else None]


def stepped(
    function: Any,
    given: list[Any],
    step: int = 3,
    weight_decay: float = 0.0,
    decoupled: bool = False,
    maximize: bool = False,
    amsgrad: bool = False,
) -> list[Any]:
    copies = [None if a is None else a.copy() for a in given]
    function(*copies, 0.01, 0.9, 0.99, 1e-8, weight_decay, decoupled, step, maximize)
    return copies


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("shape", [(), (0,), (7,), (3, 5), (170, 331)], ids=str)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_against_the_plain_definition(case: dict[str, Any], shape: tuple[int, ...], dtype: Any) -> None:
    given = arrays(shape, dtype, case.get("amsgrad", False))
    found, expected = stepped(adam.step, given, **case), stepped(plain_step, given, **case)
    rtol = 1e-13 if dtype is np.float64 else 2e-6
    for a, b in zip(found, expected, strict=True):
        if b is not None:
            assert a.dtype == dtype
            np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)
    np.testing.assert_array_equal(found[1], given[1])  # the gradient is only read


def test_any_number_of_threads_gives_the_same_bits() -> None:
    given, before = arrays((400, 500), np.float32, True), parallel.get_num_threads()
    try:
        parallel.set_num_threads(1)
        one = stepped(adam.step, given)
        parallel.set_num_threads(3)
        three = stepped(adam.step, given)
    finally:
        parallel.set_num_threads(before)
    for a, b in zip(one, three, strict=True):
        np.testing.assert_array_equal(a, b)


def test_memory_that_is_not_contiguous() -> None:
    given = arrays((300, 200), np.float64, False)
    turned = [None if a is None else np.asfortranarray(a) for a in given]
    for a, b in zip(stepped(adam.step, turned), stepped(adam.step, given), strict=True):
        np.testing.assert_array_equal(a, b)
