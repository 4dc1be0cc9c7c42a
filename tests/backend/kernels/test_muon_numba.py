"""Muon over many matrices in one compiled loop: against the plain definition, and the optimiser without it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.backend import parallel
from minigrad.backend.kernels import muon_numba
from minigrad.backend.many_numba import Many
from minigrad.optim import muon
from minigrad.optim.optimizer import Values
from tests.support.compiled_checks import needs_numba, on_threads
from tests.support.tables import in_one_test

pytestmark = needs_numba
SHAPES = [(1, 1), (1, 9), (9, 1), (3, 5), (5, 3), (0, 4), (17, 17), (40, 70), (70, 40), (128, 128)]
USUAL = {
    "lr": 0.02,
    "weight_decay": 0.1,
    "momentum": 0.95,
    "nesterov": True,
    "ns_coefficients": muon.JORDAN,
    "eps": 1e-7,
    "ns_steps": 5,
    "adjust_lr_fn": None,
}


def rows(scale: float = 1.0) -> list[tuple[Any, ...]]:
    rng = np.random.default_rng(0)
    return [tuple((scale * rng.standard_normal(shape)).astype(np.float32) for _ in range(3)) for shape in SHAPES]


def stepped(given: list[tuple[Any, ...]], options: Values) -> list[tuple[Any, ...]]:
    copies = [tuple(a.copy() for a in row) for row in given]
    many = Many(copies)
    assert all(many.fits)
    rates = [muon.rate_of(options.lr, row[0].shape, options.adjust_lr_fn) for row in copies]
    share = options.momentum if options.nesterov else 1.0
    shares = 1 - options.lr * options.weight_decay, 1 - options.momentum, share
    numbers = *shares, *options.ns_coefficients, options.eps
    assert all(muon_numba.step_all(many, rates, numbers, options.ns_steps))
    return copies


@in_one_test("scale", [1.0, 1e-12, 1e9])
@in_one_test(
    "case",
    [{}, {"nesterov": False}, {"weight_decay": 0.0, "ns_steps": 1}, {"ns_steps": 0}, {"adjust_lr_fn": muon.MATCHED}],
)
def test_against_the_plain_definition(case: dict[str, Any], scale: float) -> None:
    options, given = Values(**USUAL | case), rows(scale)
    for found, row in zip(stepped(given, options), given, strict=True):
        expected = [a.astype(np.float64) for a in row]
        muon.muon_step(*expected, options)
        for a, b in zip(found, expected, strict=True):
            size = np.abs(b).max(initial=0.0)
            np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5 * size, err_msg=str(row[0].shape))
        np.testing.assert_array_equal(found[1], row[1], err_msg="the gradient is only read")


def test_any_number_of_threads_gives_the_same_bits() -> None:
    on_threads(lambda: [a for row in stepped(rows(), Values(**USUAL)) for a in row])


def test_zeros_stay_and_what_is_not_finite_spoils_its_matrix_alone() -> None:
    given = rows()
    given[3][1][:], given[3][2][:] = 0, 0
    given[6][1][2, 2] = np.nan
    found = stepped(given, Values(**USUAL | {"weight_decay": 0.0}))
    np.testing.assert_array_equal(found[3][0], given[3][0])
    assert np.isnan(found[6][0]).all()
    assert all(np.isfinite(row[0]).all() for i, row in enumerate(found) if i != 6)


def trained(matrices: list[Any], threads: int) -> list[Any]:
    """Some steps of both rules, over matrices of which loops take some."""
    before = parallel.get_num_threads()
    parallel.set_num_threads(threads)
    try:
        rng = np.random.default_rng(2)
        params = [mg.nn.Parameter(mg.tensor(a)) for a in matrices]
        optimizer = mg.optim.MuonWithAdamW([{"params": params[:-1], "muon": True}, {"params": params[-1:]}], lr=0.01)
        for _ in range(3):
            for p in params:
                p.grad = mg.tensor(rng.standard_normal(tuple(p.shape)), dtype=p.dtype)
            optimizer.step()
        return [p.numpy(force=True) for p in params]
    finally:
        parallel.set_num_threads(before)


def test_the_optimiser_is_what_it_is_without_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    matrices: list[Any] = [rng.standard_normal(s).astype(np.float32) for s in ((5, 7), (30, 20), (512, 512), (8, 8))]
    matrices[1] = matrices[1].astype(np.float64)
    assert matrices[2].size * 512 > muon_numba.SMALL  # too large for one core
    changed = []
    step_all = muon_numba.step_all
    monkeypatch.setattr(muon_numba, "step_all", lambda *args: changed.append(step_all(*args)) or changed[-1])
    found, others = trained(matrices, 1), trained(matrices, 3)
    assert changed == [[True, False, False]] * 6
    for i in (0, 1, 3):  # products of large matrices are cut for the threads
        np.testing.assert_array_equal(found[i], others[i])
    monkeypatch.setattr(muon, "together", lambda name, params: None)
    for a, b in zip(found, trained(matrices, 2), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
