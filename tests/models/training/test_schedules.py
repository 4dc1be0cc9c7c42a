"""Learning rates at known steps."""

import math
from collections.abc import Callable

import pytest

import minigrad
from minigrad.optim.lr_scheduler import InverseSquareRootLR, LambdaLR
from minigrad_models.training import cosine, inverse_sqrt, inverse_sqrt_with_decay, linear
from tests.support.cases import each, raises

Schedule = Callable[[int], float]
VALUES: list[tuple[str, Schedule, dict[int, float]]] = [
    ("inverse_sqrt", inverse_sqrt(4), {0: 0.25, 1: 0.5, 3: 1.0, 15: 0.5, 63: 0.25, 399: 0.1}),
    ("cosine", cosine(4, 24), {0: 0.25, 3: 1.0, 4: 1.0, 9: (1 + math.sqrt(0.5)) / 2, 14: 0.5, 24: 0.0, 99: 0.0}),
    ("cosine to a tenth", cosine(4, 24, 0.1), {0: 0.25, 3: 1.0, 4: 1.0, 14: 0.55, 24: 0.1, 99: 0.1}),
    ("linear", linear(4, 24), {0: 0.25, 3: 1.0, 4: 1.0, 9: 0.75, 14: 0.5, 23: 0.05, 24: 0.0, 99: 0.0}),
    (
        "with decay",
        inverse_sqrt_with_decay(4, 80, 0.2),
        {0: 0.25, 3: 1.0, 15: 0.5, 63: 0.25, 64: math.sqrt(4 / 65), 72: math.sqrt(1 / 65), 80: 0.0, 99: 0.0},
    ),
    ("long decay", inverse_sqrt_with_decay(4, 8, 0.5), {3: 1.0, 4: math.sqrt(0.8), 6: math.sqrt(0.8) / 2, 8: 0.0}),
    ("no decay", inverse_sqrt_with_decay(4, 64, 0.0), {3: 1.0, 15: 0.5, 63: 0.25}),
    ("no warmup", linear(0, 4), {0: 1.0, 2: 0.5, 4: 0.0}),
]


def test_values() -> None:
    for name, schedule, values in VALUES:
        assert [schedule(e) for e in values] == pytest.approx([*values.values()], abs=1e-12), name


def test_the_function_matches_the_class() -> None:
    rates = []
    for make in (lambda o: LambdaLR(o, inverse_sqrt(5)), lambda o: InverseSquareRootLR(o, 5)):
        optimizer = minigrad.optim.SGD([minigrad.zeros(1).requires_grad_()], lr=0.3)
        schedule = make(optimizer)
        rates.append([])
        for _ in range(20):
            rates[-1].append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            schedule.step()
    assert rates[0] == pytest.approx(rates[1])


def test_invalid_arguments() -> None:
    rows: list[tuple[Callable[..., Schedule], tuple[float, ...]]] = [
        (inverse_sqrt, (0,)),
        *((cosine, wrong) for wrong in ((5, 5), (1, 5, 1.5))),
        (linear, (-1, 5)),
        *((inverse_sqrt_with_decay, wrong) for wrong in ((0, 5), (6, 9, 0.5), (1, 9, 1.5))),
    ]
    each(rows, lambda row: raises(ValueError, r"warmup|decay_fraction|final", lambda: row[0](*row[1])))
