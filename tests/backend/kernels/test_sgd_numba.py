"""SGD over many parameters in one compiled loop: against the optimiser without it, in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.backend import many_numba
from minigrad.backend.kernels import sgd_numba
from tests.support.compiled_checks import needs_numba, on_threads
from tests.support.tables import in_one_test

pytestmark = needs_numba
SHAPES: list[tuple[int, ...]] = [(), (0,), (1,), (3,), (8,), (17, 5), (64, 65), (many_numba.PART + 1,), (100, 100)]
CASES: list[dict[str, Any]] = [
    {},
    {"weight_decay": 0.1},
    {"momentum": 0.9},
    {"momentum": 0.9, "dampening": 0.3, "maximize": True},
    {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
]


def trained(dtype: Any, options: dict[str, Any], gradients: float = 1.0) -> tuple[list[Any], list[Any]]:
    """Three steps, in the second of which a gradient is missing: the parameters, and their state."""
    rng = np.random.default_rng(0)
    params = [mg.nn.Parameter(mg.tensor(rng.standard_normal(shape), dtype=dtype)) for shape in SHAPES]
    optimizer = mg.optim.SGD(params, lr=0.1, **options)
    for step in range(3):
        for i, p in enumerate(params):
            g = mg.tensor(gradients * rng.standard_normal(tuple(p.shape)), dtype=dtype)
            p.grad = None if step == 1 and i == 5 else g
        optimizer.step()
    buffers = [b.numpy() for p in params for b in optimizer.state[p].values()]
    return [p.numpy(force=True) for p in params], buffers


@pytest.mark.parametrize("case", CASES, ids=str)
def test_against_float64(case: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    counts: list[int] = []
    update = sgd_numba.update
    monkeypatch.setattr(sgd_numba, "update", lambda *args: (counts.append(args[0]), update(*args)))
    found = trained(mg.float32, case)
    assert len([count for count in counts if count]) == (2 if "momentum" in case else 3)  # a first b is the gradient
    expected = trained(mg.float64, case)
    for ours, theirs in zip(found, expected, strict=True):
        assert len(ours) == len(theirs) > 0 or "momentum" not in case
        for a, b in zip(ours, theirs, strict=True):
            assert a.dtype == np.float32
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@in_one_test("case", CASES[1::3])
def test_any_number_of_threads_gives_the_same_bits(case: dict[str, Any]) -> None:
    on_threads(lambda: [a for part in trained(mg.float32, case) for a in part])


@in_one_test("bad", [np.inf, -np.inf, np.nan])
def test_what_is_not_finite_stays_where_it_is(bad: float) -> None:
    for momentum, decay in (0.0, 0.0), (0.9, 0.1):
        p, g, b = np.ones((3, 20), np.float32)
        g[7] = bad
        row = (p, g, b) if momentum else (p, g)
        sgd_numba.step_all(sgd_numba.Many([row]), 1.0, decay, momentum, 1.0, momentum > 0, 0.1)
        assert np.isfinite(np.delete(p, 7)).all()
        np.testing.assert_equal(p[7], np.float32(-bad))


def test_complex_numbers_and_other_dtypes_go_one_by_one() -> None:
    params = [mg.nn.Parameter(mg.ones(3, dtype=kind)) for kind in (mg.complex64, mg.float32, mg.float64)]
    optimizer = mg.optim.SGD(params, lr=0.5)
    for p in params:
        p.grad = mg.ones(3, dtype=p.dtype)
    optimizer.step()
    for p in params:
        np.testing.assert_array_equal(p.numpy(force=True), np.full(3, 0.5))
