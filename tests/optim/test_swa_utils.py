"""Averaged weights against PyTorch's."""

from functools import partial
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad import nn
from minigrad.optim import swa_utils
from tests.support.cases import cases, raises
from tests.support.parity import assert_close, host, torch

pytestmark = pytest.mark.filterwarnings("ignore:Detected call of")
FUNCTIONS: dict[str, Any] = {
    "mean": lambda s: {},
    "ema": lambda s: {"multi_avg_fn": s.get_ema_multi_avg_fn(0.9)},
    "ema one by one": lambda s: {"avg_fn": s.get_ema_avg_fn(0.9)},
    "swa": lambda s: {"multi_avg_fn": s.get_swa_multi_avg_fn()},
    "swa one by one": lambda s: {"avg_fn": s.get_swa_avg_fn()},
    "of one's own": lambda s: {"avg_fn": lambda mean, new, n: (mean * n + 2 * new) / (n + 2)},
}


@cases("name", FUNCTIONS)
@cases("use_buffers", [False, True])
def test_averages(name: str, use_buffers: bool) -> None:
    models, averages = [], []
    for library, utils in ((minigrad, swa_utils), (torch, torch.optim.swa_utils)):
        model = library.nn.Linear(3, 2)
        model.register_buffer("kept", library.ones(2))
        models.append(model)
        averages.append(utils.AveragedModel(model, use_buffers=use_buffers, **FUNCTIONS[name](utils)))
    rng = np.random.default_rng(0)
    for _ in range(5):
        values = [rng.standard_normal(s).astype(np.float32) for s in ((2, 3), (2,), (2,))]
        for library, model, average in zip((minigrad, torch), models, averages, strict=True):
            for t, v in zip([*model.parameters(), *model.buffers()], values, strict=True):
                t.data.copy_(library.tensor(v))
            average.update_parameters(model)
    actual, expected = (a.state_dict() for a in averages)
    assert list(actual) == list(expected) and actual["n_averaged"].item() == 5
    for key, value in expected.items():
        assert_close(actual[key], value, 1e-6, key)
    x = rng.standard_normal((4, 3)).astype(np.float32)
    assert_close(averages[0](minigrad.tensor(x)), averages[1](torch.tensor(x)), 1e-6)


SCHEDULES: list[dict[str, Any]] = [{}, {"anneal_strategy": "linear"}, {"anneal_epochs": 0}, {"last_epoch": 3}]


@cases("how", SCHEDULES)
def test_the_schedule(how: dict[str, Any]) -> None:
    optimisers, schedules = [], []
    for library, utils in ((minigrad, swa_utils), (torch, torch.optim.swa_utils)):
        p = library.nn.Parameter(library.ones(1))
        optimisers.append(library.optim.SGD([{"params": [p], "initial_lr": 0.3}], lr=0.5))
        schedules.append(utils.SWALR(optimisers[-1], 0.05, **{"anneal_epochs": 5, **how}))
    for _ in range(9):
        a, b = (o.param_groups[0]["lr"] for o in optimisers)
        assert a == pytest.approx(b, rel=1e-12)
        for s in schedules:
            s.step()


def test_errors() -> None:
    schedule = partial(swa_utils.SWALR, minigrad.optim.SGD([nn.Parameter(minigrad.ones(1))]), 0.1)
    raises(ValueError, "anneal_strategy must be one of", lambda: schedule(anneal_strategy="square"))
    raises(ValueError, "anneal_epochs must be equal or greater than 0", lambda: schedule(anneal_epochs=-1))
    raises(ValueError, "Invalid decay value 2", lambda: swa_utils.get_ema_multi_avg_fn(2))
    both = {"avg_fn": swa_utils.get_swa_avg_fn(), "multi_avg_fn": swa_utils.get_swa_multi_avg_fn()}
    raises(AssertionError, "Only one of", lambda: swa_utils.AveragedModel(nn.Linear(1, 1), **both))


def test_the_model_is_a_copy() -> None:
    layer = nn.Linear(2, 2)
    average = swa_utils.AveragedModel(layer)
    assert average.module is not layer and average.module.weight is not layer.weight
    average.update_parameters(layer)
    layer.weight.data.zero_()
    assert host(average.module.weight).any()


def test_update_bn() -> None:
    data = [np.random.default_rng(i).standard_normal((8, 3)).astype(np.float32) for i in range(4)]
    a, b = nn.BatchNorm1d(3), torch.nn.BatchNorm1d(3)
    swa_utils.update_bn([(minigrad.tensor(d), 1) for d in data], a)
    torch.optim.swa_utils.update_bn([(torch.tensor(d), 1) for d in data], b)
    for key, value in b.state_dict().items():
        assert_close(a.state_dict()[key], value, 1e-5, key)
    assert a.momentum == 0.1 and a.training
