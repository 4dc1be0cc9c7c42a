"""Adam over many parameters in one compiled loop: against the plain definition, and the optimiser without it."""

from __future__ import annotations

import pickle
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.backend import many_numba
from minigrad.backend.kernels import adam_numba
from minigrad.optim.adam import numbers, plain_step
from minigrad.optim.optimizer import Values
from tests.support.compiled_checks import needs_numba, on_threads
from tests.support.tables import in_one_test

pytestmark = needs_numba
PART = many_numba.PART
SHAPES: list[tuple[int, ...]] = [(), (0,), (1,), (3,), (8,), (17, 5), (64, 65), (PART,), (PART + 1,), (3, PART)]
CASES = [
    {},
    {"amsgrad": True},
    {"maximize": True},
    {"weight_decay": 0.1},
    {"weight_decay": 0.1, "decoupled": True},
    {"weight_decay": 0.1, "maximize": True, "amsgrad": True},
]


def rows(amsgrad: bool) -> list[tuple[Any, ...]]:
    rng = np.random.default_rng(0)
    signed = [[rng.standard_normal(shape) for _ in range(3)] for shape in SHAPES]
    squares = [[rng.random(shape) for _ in range(2)] for shape in SHAPES]
    single = [[np.array(a, np.float32) for a in (*s, *q)] for s, q in zip(signed, squares, strict=True)]
    return [tuple(row if amsgrad else row[:4]) for row in single]


def stepped(
    given: list[tuple[Any, ...]], weight_decay: float = 0.0, decoupled: bool = False, maximize: bool = False, **_: Any
) -> list[tuple[Any, ...]]:
    copies = [tuple(a.copy() for a in row) for row in given]
    many = adam_numba.Many(copies)
    assert all(many.fits)
    options = Values(lr=0.01, betas=(0.9, 0.99), eps=1e-8, weight_decay=weight_decay, maximize=maximize)
    options.decoupled_weight_decay = decoupled
    adam_numba.step_all(many, *numbers([1 + i for i in range(len(copies))], options))
    return copies


@in_one_test("case", CASES)
def test_against_the_plain_definition(case: dict[str, Any]) -> None:
    amsgrad = case.get("amsgrad", False)
    given = rows(amsgrad)
    for i, (found, row) in enumerate(zip(stepped(given, **case), given, strict=True)):
        expected: list[Any] = [a.astype(np.float64) for a in row] + [None] * (not amsgrad)
        decay = case.get("weight_decay", 0.0), case.get("decoupled", False)
        plain_step(*expected, 0.01, 0.9, 0.99, 1e-8, *decay, 1 + i, case.get("maximize", False))
        for a, b in zip(found, expected, strict=False):
            np.testing.assert_allclose(a, b, rtol=2e-6, atol=2e-6, err_msg=str(row[0].shape))
        np.testing.assert_array_equal(found[1], row[1], err_msg="the gradient is only read")


@in_one_test("amsgrad", [False, True])
def test_any_number_of_threads_gives_the_same_bits(amsgrad: bool) -> None:
    on_threads(lambda: [a for row in stepped(rows(amsgrad), weight_decay=0.1) for a in row])


@in_one_test("bad", [np.nan, np.inf, -np.inf, 1e30])
def test_what_is_not_finite_stays_where_it_is(bad: float) -> None:
    g = np.ones(20, np.float32)
    g[7] = bad
    row = (np.ones(20, np.float32), g, *np.zeros((2, 20), np.float32))
    found, expected = stepped([row])[0], [*(a.copy() for a in row), None]
    with np.errstate(all="ignore"):
        plain_step(*expected, 0.01, 0.9, 0.99, 1e-8, 0.0, False, 1, False)
    for a, b in zip(found, expected, strict=False):
        np.testing.assert_allclose(a, b, rtol=1e-5)


def test_what_a_loop_cannot_take() -> None:
    a, b, c, d = (np.zeros((4, 6), np.float32) for _ in range(4))
    fixed = a.copy()
    fixed.flags.writeable = False
    others = [a.astype(np.float64), np.asfortranarray(a), a[:, ::2], a[:3].copy(), fixed, None, a.astype(np.int32)]
    for other in others:
        assert adam_numba.Many([(a, b, c, d), (c.copy(), other, d.copy(), b.copy())]).fits == [True, False]
    assert adam_numba.Many([(a, b), (a.reshape(-1), c)]).fits == [False, False]  # one memory


def mixed() -> list[mg.Tensor]:
    """Parameters of which loops take some."""
    rng = np.random.default_rng(1)
    arrays = [rng.standard_normal(s) for s in ((5, 7), (30,), (), (4, 3))]
    params = [mg.nn.Parameter(mg.tensor(a, dtype=mg.float32)) for a in arrays]
    params += [mg.nn.Parameter(mg.tensor(arrays[0])), mg.nn.Parameter(mg.tensor(arrays[0], dtype=mg.float32).t())]
    return params


def trained(params: list[mg.Tensor], **options: Any) -> mg.optim.Optimizer:
    """Three steps, in the second of which some gradients are missing; another group has another rate."""
    optimizer = mg.optim.AdamW([{"params": params[:2], "lr": 0.1}, {"params": params[2:]}], lr=0.01, **options)
    rng = np.random.default_rng(2)
    for step in range(3):
        for i, p in enumerate(params):
            g = mg.tensor(rng.standard_normal(tuple(p.shape)), dtype=p.dtype)
            p.grad = None if step == 1 and i in (0, 4) else g
        optimizer.step()
    return optimizer


@pytest.mark.parametrize("options", [{}, {"amsgrad": True, "maximize": True, "weight_decay": 0.3}], ids=str)
def test_the_optimiser_is_what_it_is_without_loops(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    counts = []
    together = mg.optim.Adam._update_together

    def spy(self: Any, params: Any, *args: Any) -> Any:
        left = together(self, params, *args)
        counts.append(len(params) - len(left))
        return left

    monkeypatch.setattr(mg.optim.Adam, "_update_together", spy)
    mine, plain = mixed(), mixed()
    found = trained(mine, **options)
    assert counts == [2, 2, 1, 2, 2, 2]  # of float32 and contiguous
    monkeypatch.setattr(mg.optim.Adam, "_update_together", lambda self, params, *_: params)
    expected = trained(plain, **options)
    for a, b in zip(mine, plain, strict=True):
        np.testing.assert_allclose(a.numpy(force=True), b.numpy(force=True), rtol=1e-5, atol=1e-6)
        one, two = found.state[a], expected.state[b]
        assert list(one) == list(two)
        assert one["step"].item() == two["step"].item()
        for name in one:
            np.testing.assert_allclose(one[name].numpy(), two[name].numpy(), rtol=1e-5, atol=1e-6)
    again = pickle.loads(pickle.dumps(found.state_dict()))
    assert again["state"][0]["step"].item() == found.state[mine[0]]["step"].item()


def test_a_parameter_that_is_there_twice_is_changed_twice() -> None:
    results = []
    for count in (1, 2):
        p = mg.nn.Parameter(mg.ones(10))
        p.grad = mg.ones(10)
        with pytest.warns(UserWarning, match="duplicate") if count == 2 else nullcontext():
            optimizer = mg.optim.Adam([p] * count, lr=0.1)
        optimizer.step()
        results.append((p.detach().numpy(), optimizer.state[p]["step"].item()))
    assert [step for _, step in results] == [1, 2]
    np.testing.assert_allclose(1 - results[1][0], 2 * (1 - results[0][0]), rtol=1e-4)
