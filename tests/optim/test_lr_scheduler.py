"""Schedules against their closed form and against PyTorch, step by step."""

import copy
import itertools
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import minigrad
from minigrad import nn, optim
from minigrad.optim import lr_scheduler
from tests.support.both import outcome
from tests.support.cases import cases, programs, raises
from tests.support.parity import assert_same_signature, torch

pytestmark = [
    pytest.mark.filterwarnings("ignore:Detected call of", "ignore:The epoch parameter", "ignore:To get the last")
]

Make = Callable[[Any, Any], Any]
FORMULAS: list[tuple[Make, Callable[[float, int], float]]] = [
    (lambda s, o: s.LambdaLR(o, lambda e: min(1, e / 5)), lambda lr, e: lr * min(1, e / 5)),
    (lambda s, o: s.MultiStepLR(o, [9, 3, 9], 0.5), lambda lr, e: lr * 0.5 ** ((e >= 3) + 2 * (e >= 9))),
    (lambda s, o: s.LinearLR(o, 0.25, 0.75, total_iters=6), lambda lr, e: lr * (0.25 + 0.5 * min(e, 6) / 6)),
    (
        lambda s, o: s.NoamLR(o, d_model=512, warmup_steps=7),
        lambda lr, e: lr * 512**-0.5 * min((e + 1) ** -0.5, (e + 1) * 7**-1.5),
    ),
    (lambda s, o: s.InverseSquareRootLR(o, warmup_steps=7), lambda lr, e: lr * min((e + 1) / 7, (7 / (e + 1)) ** 0.5)),
]


# Functions of (lr_scheduler, optimiser, last_epoch): schedules without a formula above, and some with other options.
MORE = programs("""
s.LambdaLR(o, [lambda e: 0.9**e, lambda e: 1 / (1 + e)], e); s.MultiplicativeLR(o, lambda e: 0.9 + e / 1000, e);
s.StepLR(o, 3, 0.5, e); s.MultiStepLR(o, [5, 2, 5, 9], 0.5, e); s.ConstantLR(o, 0.3, 4, e);
s.LinearLR(o, 0.3, 0.8, 6, e); s.ExponentialLR(o, 0.9, e); s.PolynomialLR(o, 7, 2.0, e);
s.CosineAnnealingLR(o, 5, 0.01, e); s.CosineAnnealingWarmRestarts(o, 4, 1, 0.01, e);
s.CosineAnnealingWarmRestarts(o, 3, 2, 0.01, e); s.CyclicLR(o, [0.01, 0.02], 0.5, 3, 5, last_epoch=e);
s.CyclicLR(o, 0.01, 0.5, 3, mode="triangular2", last_epoch=e);
s.CyclicLR(o, 0.01, 0.5, 3, mode="exp_range", gamma=0.9, last_epoch=e);
s.CyclicLR(o, 0.01, 0.5, 3, scale_fn=lambda x: x + 1, scale_mode="iterations", cycle_momentum=False, last_epoch=e);
s.OneCycleLR(o, 0.5, 20, last_epoch=e);
s.OneCycleLR(o, [0.5, 0.2], epochs=5, steps_per_epoch=4, three_phase=True, anneal_strategy="linear", last_epoch=e)
""")
COMBINED = programs("""
s.SequentialLR(o, [s.LinearLR(o, 0.1, 1.0, 3), s.CosineAnnealingLR(o, 5)], [3]);
s.SequentialLR(o, [s.ConstantLR(o, 0.1, 2), s.ExponentialLR(o, 0.9), s.StepLR(o, 2)], [2, 6]);
s.SequentialLR(o, [s.LinearLR(o, 0.1, 1.0, 3), s.CosineAnnealingWarmRestarts(o, 3, 2)], [3]);
s.ChainedScheduler([s.LinearLR(o, 0.1, total_iters=4), s.ExponentialLR(o, 0.9), s.StepLR(o, 3)]);
s.SequentialLR(o, [s.MultiplicativeLR(o, lambda e: 0.9), s.LambdaLR(o, lambda e: 0.9**e)], [4]);
s.SequentialLR(o, [s.SequentialLR(o, [s.LinearLR(o, 0.1, 1.0, 3), s.ExponentialLR(o, 0.9)], [2]), s.StepLR(o, 2)], [6]);
s.ChainedScheduler([s.ConstantLR(o, 0.1, 4), s.ExponentialLR(o, 0.9)])
""")


def groups(library: Any, name: str = "SGD", resumed: bool = False) -> Any:
    """An optimiser with two groups of different rates, optionally from a resumed run."""
    p, q = (library.nn.Parameter(library.ones(1)) for _ in range(2))
    how = {"momentum": 0.9} if name == "SGD" else {}
    optimizer = getattr(library.optim, name)([{"params": [p], "lr": 0.5}, {"params": [q]}], lr=0.1, **how)
    for group in optimizer.param_groups if resumed else []:
        group["initial_lr"], group["lr"] = group["lr"], group["lr"] * 0.6
    return optimizer


def options(optimiser: Any) -> list[float]:
    """All options that a schedule may change."""
    actual = [(g["lr"], g.get("momentum", 0), *g.get("betas", ())) for g in optimiser.param_groups]
    return [float(value) for group in actual for value in group]


def pairs(make: Make, name: str = "SGD", resumed: bool = False) -> tuple[Any, Any]:
    """A schedule in both libraries."""
    libraries: tuple[Any, Any] = (minigrad, torch)
    mine, other = (make(t.optim.lr_scheduler, groups(t, name, resumed)) for t in libraries)
    return mine, other


def rates(optimiser: Any) -> list[float]:
    return [float(g["lr"]) for g in optimiser.param_groups]


@cases("make, formula", FORMULAS)
def test_closed_forms(make: Make, formula: Callable[[float, int], float]) -> None:
    """Step by step, resumed from a state dict, and at a given epoch."""

    def check(epoch: int) -> None:
        assert rates(optimiser) == pytest.approx([formula(0.5, epoch), formula(0.1, epoch)], rel=1e-12, abs=1e-15)
        assert schedule.get_last_lr() == rates(optimiser)

    optimiser = groups(minigrad)
    schedule = make(lr_scheduler, optimiser)
    for e in range(25):
        check(e)
        assert schedule.last_epoch == e
        if e == 7:
            states = optimiser.state_dict(), schedule.state_dict()
            assert "optimizer" not in states[1]
            optimiser = groups(minigrad)
            schedule = make(lr_scheduler, optimiser)
            optimiser.load_state_dict(states[0]), schedule.load_state_dict(states[1])
        schedule.step()
    for e in (13, 2, 20):
        schedule.step(e)
        check(e)


AT_ONCE = [
    "s.ConstantLR(o, 0.3, 0, e)",
    "s.LinearLR(o, 0.3, 0.8, 0, e)",
    "s.PolynomialLR(o, 0, 1.0, e)",
]  # no iteration


@cases(
    "row, optimiser, begin", [*itertools.product(MORE, ["SGD", "Adam"], [-1, 2, 5]), *((r, "SGD", -1) for r in AT_ONCE)]
)
def test_against_pytorch(row: str, optimiser: str, begin: int) -> None:
    """From the start, and resumed by ``last_epoch``; and with one call too many."""
    if begin >= 0 and row.startswith(("s.OneCycleLR", "s.CyclicLR")) and "scale_fn" not in row:
        return  # these need values that the first scheduler stored in the groups
    mine, other = pairs(lambda s, o: eval(row, {"s": s, "o": o, "e": begin}), optimiser, begin >= 0)
    assert set(mine.state_dict()) == set(other.state_dict())
    for _ in range(24):
        assert options(mine.optimizer) == options(other.optimizer)
        assert outcome(mine.step) == outcome(other.step) and mine.last_epoch == other.last_epoch


@cases("row", MORE)
def test_explicit_epochs_against_pytorch(row: str) -> None:
    schedules = pairs(lambda s, o: eval(row, {"s": s, "o": o, "e": -1}))
    for e in (7, 2, 13, 0, None, None, 5, None):
        for s in schedules:
            s.step(e)
        assert options(schedules[0].optimizer) == options(schedules[1].optimizer)


@cases("row", MORE)
def test_states_move_between_libraries(row: str) -> None:
    mine, other = pairs(lambda s, o: eval(row, {"s": s, "o": o, "e": -1}))
    a, b = mine.optimizer, other.optimizer
    for _ in range(4):
        other.step()
    for source, target, first, second in ((other, mine, b, a), (mine, other, a, b)):
        target.load_state_dict(source.state_dict())
        for passed, group in zip(first.param_groups, second.param_groups, strict=True):
            group.update({k: v for k, v in passed.items() if k != "params"})
        for _ in range(4):
            mine.step()
            other.step()
            assert options(a) == options(b)
        source.step()  # so that there is some state to transfer


@cases("row", COMBINED)
def test_combined_schedules(row: str) -> None:
    both, make = [groups(minigrad), groups(torch)], lambda s, o: eval(row, {"s": s, "o": o})
    a, b = (make(t.optim.lr_scheduler, o) for t, o in zip((minigrad, torch), both, strict=True))
    for step in range(14):
        assert rates(both[0]) == rates(both[1]) and a.get_last_lr() == b.get_last_lr()
        if step == 5:
            saved = [copy.deepcopy(a.state_dict()), both[0].state_dict()]
        a.step()
        b.step()
    assert set(a.state_dict()) == set(b.state_dict())
    optimiser = groups(minigrad)
    again = make(lr_scheduler, optimiser)
    again.load_state_dict(saved[0])
    optimiser.load_state_dict(saved[1])
    for _ in range(9):
        again.step()
    assert rates(optimiser) == pytest.approx(rates(both[0]), rel=1e-11)


def test_warm_restarts_in_fractions() -> None:
    mine, other = pairs(lambda s, o: s.CosineAnnealingWarmRestarts(o, 3, 2, 0.01))
    for quarter in range(40):
        mine.step(quarter / 4), other.step(quarter / 4)
        assert rates(mine.optimizer) == rates(other.optimizer)


@cases("library", [minigrad, torch])
def test_a_custom_schedule(library: Any) -> None:
    class Warmup(library.optim.lr_scheduler._LRScheduler):  # type: ignore[misc, name-defined]
        def __init__(self, optimizer: Any, warmup: int, last_epoch: int = -1) -> None:
            self.warmup = warmup
            super().__init__(optimizer, last_epoch)

        def get_lr(self) -> list[float]:
            return [base * min(1, (self.last_epoch + 1) / self.warmup) for base in self.base_lrs]

    optimiser = groups(library)
    schedule = Warmup(optimiser, 4)
    for e in range(6):
        assert rates(optimiser) == pytest.approx([0.5 * min(1, (e + 1) / 4), 0.1 * min(1, (e + 1) / 4)])
        schedule.step()
    schedule.step(1)
    assert schedule.get_last_lr() == rates(optimiser) == pytest.approx([0.25, 0.05])
    assert schedule.optimizer is optimiser and schedule.state_dict()["warmup"] == 4


@pytest.mark.filterwarnings("default")
@cases("library", [minigrad, torch])
def test_warnings(library: Any) -> None:
    optimiser = groups(library)
    schedule = library.optim.lr_scheduler.ExponentialLR(optimiser, 0.9)
    with pytest.warns(UserWarning, match=r"Detected call of `lr_scheduler.step\(\)` before `optimizer.step"):
        schedule.step()
    with pytest.warns(UserWarning, match="The epoch parameter"):
        schedule.step(3)
    with pytest.warns(UserWarning, match="please use `get_last_lr"):
        schedule.get_lr()
    schedule = library.optim.lr_scheduler.ExponentialLR(groups(library), 0.9)
    schedule.optimizer.step()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        schedule.step()
        schedule.step()


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


HOWS: list[dict[str, Any]] = [
    {"patience": 1},
    {"factor": 0.5, "patience": 2, "cooldown": 2, "min_lr": [0.1, 0.01]},
    {"mode": "max", "patience": 0, "threshold": 0.1, "threshold_mode": "abs", "min_lr": 0.01},
]


@cases("how", HOWS)
def test_reduce_on_plateau(how: dict[str, Any]) -> None:
    mine, other = groups(minigrad), groups(torch)
    schedule = lr_scheduler.ReduceLROnPlateau(mine, **how)
    expected = torch.optim.lr_scheduler.ReduceLROnPlateau(other, **how)
    for metric in METRICS:
        schedule.step(minigrad.tensor(metric))
        expected.step(metric)
        assert rates(mine) == rates(other)
    again = lr_scheduler.ReduceLROnPlateau(mine)
    again.load_state_dict(schedule.state_dict())
    assert again.num_bad_epochs == expected.num_bad_epochs and again.patience == how["patience"]


def test_errors() -> None:
    lambdas = [lambda e: 1.0]
    raises(ValueError, "Expected 2 lr_lambdas, but got 1", lambda: lr_scheduler.LambdaLR(groups(minigrad), lambdas))
    raises(TypeError, "int is not an Optimizer", lambda: lr_scheduler.ExponentialLR(3, 0.9))  # type: ignore[arg-type]
    with pytest.raises(KeyError, match="'initial_lr' is not specified"):
        lr_scheduler.ExponentialLR(groups(minigrad), 0.9, last_epoch=3)
    raises(ValueError, "greater than 0", lambda: lr_scheduler.LinearLR(groups(minigrad), 0.0))
    raises(ValueError, "must be positive", lambda: lr_scheduler.NoamLR(groups(minigrad), 0))
    raises(ValueError, r"Factor should be < 1\.0", lambda: lr_scheduler.ReduceLROnPlateau(groups(minigrad), factor=1.0))
    assert lr_scheduler._LRScheduler is lr_scheduler.LRScheduler
    assert issubclass(lr_scheduler.ReduceLROnPlateau, lr_scheduler.LRScheduler)


WRONG = programs("""
s.ConstantLR(o, 2); s.LinearLR(o, 0.5, 2); s.MultiplicativeLR(o, [lambda e: e]); s.CosineAnnealingWarmRestarts(o, 0);
s.CosineAnnealingWarmRestarts(o, 2, 0); s.CosineAnnealingWarmRestarts(o, 2).step(-1);
s.CyclicLR(o, 0.1, 0.5, mode="square"); s.CyclicLR(o, [0.1], 0.5); s.OneCycleLR(o, 0.5); s.OneCycleLR(o, 0.5, -1);
s.OneCycleLR(o, 0.5, epochs=3, steps_per_epoch=0); s.OneCycleLR(o, 0.5, 10, pct_start=2.0);
s.OneCycleLR(o, 0.5, 10, anneal_strategy="square"); s.ReduceLROnPlateau(o, "up");
s.ReduceLROnPlateau(o, threshold_mode="up"); s.ReduceLROnPlateau(o, min_lr=[1]);
s.SequentialLR(o, [s.StepLR(o, 2)], [2]); s.SequentialLR(o, [s.StepLR(o, 2), s.ReduceLROnPlateau(o)], [2]);
s.ChainedScheduler([])
""")


@cases("program", WRONG)
def test_errors_are_pytorchs(program: str) -> None:
    names = ({"s": t.optim.lr_scheduler, "o": groups(t)} for t in (minigrad, torch))
    actual, expected = (outcome(lambda n=n: eval(program, n)) for n in names)  # type: ignore[misc]
    assert actual == expected and expected.startswith("ValueError")


def test_no_momentum_to_cycle() -> None:
    optimiser = optim.Adagrad([nn.Parameter(minigrad.ones(1))])
    raises(ValueError, "must support momentum or beta1", lambda: lr_scheduler.CyclicLR(optimiser, 0.1, 0.5))
    raises(ValueError, "must support momentum or beta1", lambda: lr_scheduler.OneCycleLR(optimiser, 0.5, 10))
    lr_scheduler.OneCycleLR(optimiser, 0.5, 10, cycle_momentum=False).step()


@cases("name", [n for n in lr_scheduler.__all__ if n not in ("LRScheduler", "NoamLR", "InverseSquareRootLR")])
def test_signatures_are_pytorchs(name: str) -> None:
    assert_same_signature(getattr(lr_scheduler, name), getattr(torch.optim.lr_scheduler, name))
    assert getattr(lr_scheduler, name).__module__ == lr_scheduler.__name__
