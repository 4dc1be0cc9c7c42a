"""The compiled sum of rows by index, against np.add.at in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.backend import parallel
from minigrad.nn import functional as F
from tests.support.compiled_checks import close, kernel, needs_numba, stepped, turned

pytestmark = needs_numba


def summed(x: Any, indices: Any, rows: int) -> Any:
    found = kernel("scatter_add_rows").forward((False,) * 3, x, indices, rows)
    assert found is not NotImplemented
    return found[0]


@pytest.mark.parametrize("width", [1, 3, 8, 17, 64, 100])
@pytest.mark.parametrize(("count", "rows"), [(1, 1), (5, 3), (300, 7), (40, 500), (2000, 900)])
def test_values(count: int, rows: int, width: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((count, width))
    for indices in rng.integers(0, rows, count), np.full(count, rows - 1), np.arange(count) % rows:
        expected = np.zeros((rows, width))
        np.add.at(expected, indices, x)
        for lay in np.ascontiguousarray, turned, stepped:
            single, kept = lay(x.astype(np.float32)), indices.copy()
            close(summed(single, indices, rows), expected, f"{lay.__name__}")
            close(summed(single, indices.astype(np.int32), rows), expected, "int32")
            np.testing.assert_array_equal(indices, kept)
            np.testing.assert_array_equal(single, x.astype(np.float32))


@pytest.mark.parametrize("length", [*range(1, 12), 100])
def test_runs_of_any_length(length: int) -> None:
    indices = np.concatenate([np.full(length, 4), np.arange(9), np.full(length // 2, 6)])
    np.random.default_rng(1).shuffle(indices)
    x = np.random.default_rng(2).standard_normal((len(indices), 5))
    expected = np.zeros((9, 5))
    np.add.at(expected, indices, x)
    close(summed(x.astype(np.float32), indices, 9), expected, "runs")


def test_any_number_of_threads_gives_the_same_bits() -> None:
    rng, before = np.random.default_rng(0), parallel.get_num_threads()
    x, indices = rng.standard_normal((3000, 128)).astype(np.float32), rng.integers(0, 2000, 3000) ** 2 // 2000
    results = []
    try:
        for count in (1, 2, 3):
            parallel.set_num_threads(count)
            results.append(summed(x, indices, 2000))
    finally:
        parallel.set_num_threads(before)
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_stays_in_its_row(bad: float) -> None:
    x, indices = np.ones((50, 3), np.float32), np.arange(50) % 4
    x[8, 1] = bad
    out = summed(x, indices, 5)
    np.testing.assert_equal(out[0, 1], np.float32(bad))
    assert np.isfinite(np.delete(out.reshape(-1), 1)).all()


def test_what_it_does_not_take() -> None:
    x, indices = np.ones((2, 3), np.float32), np.array([0, 1])
    for given in (x.astype(np.float64), indices, 2), (x[:0], indices[:0], 2), (x, np.array([0, 2]), 2):
        assert kernel("scatter_add_rows").forward((False,) * 3, *given) is NotImplemented
    assert kernel("scatter_add_rows").forward((False,) * 3, x, np.array([-1, 0]), 2) is NotImplemented


def test_an_embedding_without_a_row() -> None:
    """``padding_idx`` has no gradient, and the gradient can be differentiated again."""
    weight = mg.rand(7, 4, requires_grad=True)
    indices = mg.tensor([[0, 3, 3], [6, 0, 5]])
    (F.embedding(indices, weight, padding_idx=3) ** 2).sum().backward()
    assert weight.grad is not None
    times = np.array([2, 0, 0, 0, 0, 1, 1])[:, None]
    np.testing.assert_allclose(weight.grad.numpy(), 2 * times * weight.detach().numpy(), rtol=1e-6)
    out = (F.embedding(indices, weight, padding_idx=3) ** 2).sum()
    (slope,) = mg.autograd.grad(out, weight, create_graph=True)
    (second,) = mg.autograd.grad(slope.sum(), weight)
    np.testing.assert_allclose(second.numpy(), np.broadcast_to(2 * times, (7, 4)), rtol=1e-6)
