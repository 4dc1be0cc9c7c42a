"""Schedules against their closed form and against PyTorch, step by step."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

import minigrad
from minigrad import nn, optim
from minigrad.optim import lr_scheduler
from tests.support.parity import torch

pytestmark = [
    pytest.mark.parity,
    pytest.mark.filterwarnings("ignore:Detected call of", "ignore:The epoch parameter"),
]

Make = Callable[[Any, Any], Any]
SCHEDULES: dict[str, tuple[Make, Callable[[float, int], float]]] = {
    "LambdaLR": (lambda s, o: s.LambdaLR(o, lambda e: 0.9**e), lambda lr, e: lr * 0.9**e),
    "LambdaLR from 0": (
        lambda s, o: s.LambdaLR(o, lambda e: min(1, e / 5)),
        lambda lr, e: lr * min(1, e / 5),
    ),
    "StepLR": (lambda s, o: s.StepLR(o, 4, 0.5), lambda lr, e: lr * 0.5 ** (e // 4)),
    "MultiStepLR": (
        lambda s, o: s.MultiStepLR(o, [9, 3, 9], 0.5),
        lambda lr, e: lr * 0.5 ** ((e >= 3) + 2 * (e >= 9)),
    ),
    "ExponentialLR": (lambda s, o: s.ExponentialLR(o, 0.8), lambda lr, e: lr * 0.8**e),
    "LinearLR": (
        lambda s, o: s.LinearLR(o, 0.25, 0.75, total_iters=6),
        lambda lr, e: lr * (0.25 + 0.5 * min(e, 6) / 6),
    ),
    "CosineAnnealingLR": (
        lambda s, o: s.CosineAnnealingLR(o, T_max=10, eta_min=0.01),
        lambda lr, e: 0.01 + (lr - 0.01) * (1 + math.cos(math.pi * e / 10)) / 2,
    ),
}
OURS: dict[str, tuple[Callable[[Any], Any], Callable[[float, int], float]]] = {
    "NoamLR": (
        lambda o: lr_scheduler.NoamLR(o, d_model=512, warmup_steps=7),
        lambda lr, e: lr * 512**-0.5 * min((e + 1) ** -0.5, (e + 1) * 7**-1.5),
    ),
    "InverseSquareRootLR": (
        lambda o: lr_scheduler.InverseSquareRootLR(o, warmup_steps=7),
        lambda lr, e: lr * min((e + 1) / 7, (7 / (e + 1)) ** 0.5),
    ),
}


def groups(library: Any) -> Any:
    """An optimiser with two groups of different rates."""
    if library is torch:
        p, q = (torch.nn.Parameter(torch.ones(1)) for _ in range(2))
        return torch.optim.SGD([{"params": [p], "lr": 0.5}, {"params": [q]}], lr=0.1)
    p, q = (nn.Parameter(minigrad.ones(1)) for _ in range(2))
    return optim.SGD([{"params": [p], "lr": 0.5}, {"params": [q]}], lr=0.1)


def rates(optimiser: Any) -> list[float]:
    return [float(g["lr"]) for g in optimiser.param_groups]


@pytest.mark.parametrize("name", SCHEDULES)
def test_against_the_closed_form_and_pytorch(name: str) -> None:
    make, formula = SCHEDULES[name]
    mine, other = groups(minigrad), groups(torch)
    schedule, expected = make(lr_scheduler, mine), make(torch.optim.lr_scheduler, other)
    for e in range(35):
        assert rates(mine) == pytest.approx([formula(0.5, e), formula(0.1, e)], rel=1e-12, abs=1e-15)
        assert rates(mine) == pytest.approx(rates(other), rel=1e-12, abs=1e-15)
        assert schedule.get_last_lr() == rates(mine)
        assert schedule.last_epoch == expected.last_epoch == e
        schedule.step()
        expected.step()


@pytest.mark.parametrize("name", OURS)
def test_schedules_of_our_own(name: str) -> None:
    make, formula = OURS[name]
    optimiser = groups(minigrad)
    schedule = make(optimiser)
    for e in range(30):
        assert rates(optimiser) == pytest.approx([formula(0.5, e), formula(0.1, e)], rel=1e-12)
        schedule.step()
    assert formula(1.0, 6) > formula(1.0, 5) and formula(1.0, 6) > formula(1.0, 7)  # the summit


@pytest.mark.parametrize("name", [*SCHEDULES, *OURS])
def test_an_epoch_given_is_the_closed_form(name: str) -> None:
    make, formula = {
        **{n: (lambda o, m=m: m(lr_scheduler, o), f) for n, (m, f) in SCHEDULES.items()},
        **OURS,
    }[name]
    optimiser = groups(minigrad)
    schedule = make(optimiser)
    for e in (13, 2, 20):
        schedule.step(e)
        assert rates(optimiser) == pytest.approx([formula(0.5, e), formula(0.1, e)], rel=1e-12, abs=1e-15)


def test_two_schedules_on_one_optimiser() -> None:
    mine, other = groups(minigrad), groups(torch)
    pairs = [
        [s.LinearLR(o, 0.1, total_iters=4), s.ExponentialLR(o, 0.9), s.StepLR(o, 3)]
        for s, o in ((lr_scheduler, mine), (torch.optim.lr_scheduler, other))
    ]
    for _ in range(12):
        assert rates(mine) == pytest.approx(rates(other), rel=1e-12)
        for schedules in pairs:
            for schedule in schedules:
                schedule.step()


@pytest.mark.parametrize("name", SCHEDULES)
def test_going_on_from_a_state_dict(name: str) -> None:
    make, formula = SCHEDULES[name]
    a = groups(minigrad)
    first = make(lr_scheduler, a)
    for _ in range(7):
        first.step()
    b = groups(minigrad)
    second = make(lr_scheduler, b)
    b.load_state_dict(a.state_dict())
    second.load_state_dict(first.state_dict())
    assert "optimizer" not in first.state_dict()
    for e in range(8, 25):
        second.step()
        assert rates(b) == pytest.approx([formula(0.5, e), formula(0.1, e)], rel=1e-12, abs=1e-15)


def test_a_lambda_for_each_group() -> None:
    optimiser = groups(minigrad)
    schedule = lr_scheduler.LambdaLR(optimiser, [lambda e: 1.0, lambda e: e])
    schedule.step()
    assert rates(optimiser) == [0.5, 0.1]
    with pytest.raises(ValueError, match="Expected 2 lr_lambdas, but got 1"):
        lr_scheduler.LambdaLR(optimiser, [lambda e: 1.0])


def test_the_state_of_a_lambda_object() -> None:
    class Warmup:
        def __init__(self, steps: int) -> None:
            self.steps = steps

        def __call__(self, e: int) -> float:
            return min(1.0, e / self.steps)

    saved = lr_scheduler.LambdaLR(groups(minigrad), Warmup(4)).state_dict()
    assert saved["lr_lambdas"] == [{"steps": 4}, {"steps": 4}]
    other = Warmup(9)
    lr_scheduler.LambdaLR(groups(minigrad), other).load_state_dict(saved)
    assert other.steps == 4


METRICS = [1.0, 0.9, 0.9, 0.9, 0.9, 0.85, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.2, 0.3, 0.3, 0.3, 0.3, 0.3]


@pytest.mark.parametrize(
    "how",
    [
        {"patience": 1},
        {"factor": 0.5, "patience": 2, "cooldown": 2, "min_lr": [0.1, 0.01]},
        {"mode": "max", "patience": 0, "threshold": 0.1, "threshold_mode": "abs", "min_lr": 0.01},
    ],
    ids=str,
)
def test_reduce_on_plateau(how: dict[str, Any]) -> None:
    mine, other = groups(minigrad), groups(torch)
    schedule = lr_scheduler.ReduceLROnPlateau(mine, **how)
    expected = torch.optim.lr_scheduler.ReduceLROnPlateau(other, **how)
    for metric in METRICS:
        schedule.step(minigrad.tensor(metric))
        expected.step(metric)
        assert rates(mine) == pytest.approx(rates(other), rel=1e-12)
    again = lr_scheduler.ReduceLROnPlateau(mine)
    again.load_state_dict(schedule.state_dict())
    assert again.num_bad_epochs == expected.num_bad_epochs and again.patience == how["patience"]


def test_errors() -> None:
    with pytest.raises(TypeError, match="int is not an Optimizer"):
        lr_scheduler.ExponentialLR(3, 0.9)  # type: ignore[arg-type]
    with pytest.raises(KeyError, match="'initial_lr' is not specified"):
        lr_scheduler.ExponentialLR(groups(minigrad), 0.9, last_epoch=3)
    with pytest.raises(ValueError, match="greater than 0"):
        lr_scheduler.LinearLR(groups(minigrad), 0.0)
    with pytest.raises(ValueError, match="must be positive"):
        lr_scheduler.NoamLR(groups(minigrad), 0)
    with pytest.raises(ValueError, match=r"Factor should be < 1\.0"):
        lr_scheduler.ReduceLROnPlateau(groups(minigrad), factor=1.0)
    assert lr_scheduler._LRScheduler is lr_scheduler.LRScheduler
