"""The compiled kernel that sums rows by index, against np.add.at in float64."""

from typing import Any

import numpy as np

from tests.support.cases import cases
from tests.support.compiled_checks import kernel, needs_numba
from tests.support.plain_checks import normal, on_threads, strided, transposed

pytestmark = needs_numba
COUNTS = [(1, 1, 1), (5, 3, 2), (300, 7, 33), (40, 500, 64), (2000, 900, 17), (300, 7, 100)]


def added(x: Any, indices: Any, rows: int) -> Any:
    before = x.copy(), indices.copy()
    result = kernel("scatter_add_rows").forward((False,) * 3, x, indices, rows)
    assert result is not NotImplemented
    for a, b in zip((x, indices), before, strict=True):
        np.testing.assert_array_equal(a, b, err_msg="the kernel changed what it was given")
    return result[0]


def check(x: Any, indices: Any, rows: int) -> None:
    expected = np.zeros((rows, x.shape[1]))
    np.add.at(expected, indices, x)
    for lay in (np.ascontiguousarray, transposed, strided):
        for kind in (np.int64, np.int32):
            out = added(lay(x.astype(np.float32)), indices.astype(kind), rows)
            assert (out.dtype, out.shape) == (np.float32, expected.shape)
            np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-4)


@cases("count, rows, width", COUNTS)
def test_values(count: int, rows: int, width: int) -> None:
    indices = np.random.default_rng(3).integers(0, rows, count)
    for places in (indices, np.full(count, rows - 1), np.arange(count) % rows):
        check(normal(count, width), places, rows)


@cases("length", [*range(1, 12), 14, 15, 16, 17, 18, 100])
def test_runs_of_any_length(length: int) -> None:
    for others in (0, 1, 9, 40):
        indices = np.concatenate([np.full(length, 4), np.arange(others) % 7, np.full(length // 2, 6)])
        np.random.default_rng(1).shuffle(indices)
        check(normal(len(indices), 5), indices, 9)


@cases("bad", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_stay_in_their_row(bad: float) -> None:
    x, indices = np.ones((50, 3), np.float32), np.arange(50) % 4
    x[8, 1] = bad
    out = added(x, indices, 5)
    np.testing.assert_equal(out[0, 1], np.float32(bad))
    assert np.isfinite(np.delete(out.reshape(-1), 1)).all()


def test_any_number_of_threads_gives_the_same_bits() -> None:
    x, indices = normal(3000, 128).astype(np.float32), np.random.default_rng(0).integers(0, 2000, 3000) ** 2 // 2000
    on_threads(lambda: [added(x, indices, 2000)])


def test_inputs_for_numpys_kernel() -> None:
    x, indices, forward = np.ones((2, 3), np.float32), np.array([0, 1]), kernel("scatter_add_rows").forward
    others = (x.astype(np.float64), indices), (x[:0], indices[:0]), (x, np.array([0, 2])), (x, np.array([-1, 0]))
    assert all(forward((False,) * 3, *arguments, 2) is NotImplemented for arguments in others)
