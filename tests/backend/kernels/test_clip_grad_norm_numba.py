"""The norm of many gradients, and their scaling, as compiled loops: against NumPy, and clipping without them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.backend import many_numba
from minigrad.backend.kernels import clip_grad_norm_numba
from minigrad.nn.utils import clip_grad, clip_grad_norm_
from tests.support.compiled_checks import needs_numba, on_threads

pytestmark = needs_numba
PART = many_numba.PART
SHAPES: list[tuple[int, ...]] = [(), (0,), (1,), (3,), (8,), (17, 5), (64, 65), (PART,), (PART + 1,), (300, 100)]


def arrays() -> list[Any]:
    rng = np.random.default_rng(0)
    return [np.array(rng.standard_normal(shape), np.float32) for shape in SHAPES]


def clipped(gradients: list[Any], most: float) -> tuple[float, list[Any]]:
    params = [mg.nn.Parameter(mg.zeros(g.shape, dtype=mg.from_numpy(g).dtype)) for g in gradients]
    for p, g in zip(params, gradients, strict=True):
        p.grad = mg.from_numpy(g)
    total = clip_grad_norm_(params, most)
    assert total.dtype == mg.from_numpy(gradients[0]).dtype
    return total.item(), [p.grad.array for p in params if p.grad is not None]


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The loops that have run."""
    names = []

    def spy(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args: (names.append(name), function(*args))[1]

    for name in "norm", "scale":
        monkeypatch.setattr(clip_grad_norm_numba, name, spy(name, getattr(clip_grad_norm_numba, name)))
    return names


@pytest.mark.parametrize("most", [0.0, 1.0, 1e6])
def test_values(most: float, used: list[str]) -> None:
    before = arrays()
    total, after = clipped(arrays(), most)
    expected = np.sqrt(sum((g.astype(np.float64) ** 2).sum() for g in before))
    np.testing.assert_allclose(total, expected, rtol=1e-6)
    for a, b in zip(after, before, strict=True):
        np.testing.assert_allclose(a, b.astype(np.float64) * min(1, most / (expected + 1e-6)), rtol=1e-5)
    assert used == ["norm"] + ["scale"] * (most < 100)


def test_any_number_of_threads_gives_the_same_bits() -> None:
    def compute() -> list[Any]:
        total, gradients = clipped(arrays(), 1.0)
        return [total, *gradients]

    on_threads(compute)


@pytest.mark.parametrize("value", [0.0, 1e-30, 1e25, np.inf, np.nan])
def test_what_squares_cannot_hold_is_as_without_loops(value: float, monkeypatch: pytest.MonkeyPatch) -> None:
    given = [np.full(5, value, np.float32), np.ones(3, np.float32) * np.float32(value)]
    total, found = clipped([g.copy() for g in given], 1.0)
    monkeypatch.setattr(clip_grad, "_together", lambda tensors: (None, None))
    expected, gradients = clipped([g.copy() for g in given], 1.0)
    np.testing.assert_equal(total, expected)
    for a, b in zip(found, gradients, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_other_dtypes_and_layouts(used: list[str]) -> None:
    for other in np.ones((3, 4)), np.asfortranarray(np.ones((3, 4), np.float32)):
        total, gradients = clipped([np.ones(4, other.dtype), other], 1.0)
        np.testing.assert_allclose(total, 4, rtol=1e-6)
        np.testing.assert_allclose(gradients[1], 0.25, rtol=1e-5)
    assert used == []


def test_a_graph_notices_the_change() -> None:
    p = mg.nn.Parameter(mg.ones(3))
    p.grad = mg.ones(3)
    w = mg.ones(3, requires_grad=True)
    out = (w * p.grad).sum()
    clip_grad_norm_([p], 0.1)
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        out.backward()
