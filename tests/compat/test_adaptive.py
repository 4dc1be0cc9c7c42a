"""The adaptive softmax against PyTorch."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad import nn
from tests.support.cases import cases, raises
from tests.support.layer_checks import check_first_numbers
from tests.support.parity import ours
from tests.support.twins import check_twins

rng = np.random.default_rng(0)
MAKERS: dict[str, Callable[[Any], Any]] = {
    "two clusters": lambda n: n.AdaptiveLogSoftmaxWithLoss(8, 10, [3, 6], div_value=2.0),
    "one cluster, a bias": lambda n: n.AdaptiveLogSoftmaxWithLoss(8, 10, [4], head_bias=True),
}
OF_ALL_CLUSTERS, OF_THE_HEAD, OF_A_CLUSTER = [0, 9, 4, 3, 6, 2, 5], [0, 1, 2, 0, 1, 2, 0], [9, 8, 7, 9, 8, 7, 9]


@cases("name", MAKERS)
@cases("targets", [OF_ALL_CLUSTERS, OF_THE_HEAD, OF_A_CLUSTER])
def test_agrees_with_torch(name: str, targets: list[int], device: str) -> None:
    x, all_of = rng.standard_normal((7, 8)), lambda t, layer, x, y: [*layer(x, y), layer.log_prob(x), layer.predict(x)]
    check_twins(MAKERS[name], x, np.array(targets), device=device, call=all_of)


def test_one_sample(device: str) -> None:
    check_twins(MAKERS["two clusters"], rng.standard_normal(8), np.array(7), device=device)


def test_second_order(device: str) -> None:
    layer = nn.AdaptiveLogSoftmaxWithLoss(4, 6, [2, 4], div_value=2.0).double().to(device)
    x, t = ours(rng.standard_normal((3, 4)), True, device), ours(np.array([0, 3, 5]), device=device)
    assert minigrad.autograd.gradgradcheck(lambda x: layer(x, t).loss, [x])


@cases("name", MAKERS)
def test_first_numbers(name: str) -> None:
    check_first_numbers(MAKERS[name])


def test_reset_parameters() -> None:
    layer = MAKERS["two clusters"](nn)
    minigrad.manual_seed(1)
    layer.reset_parameters()
    minigrad.manual_seed(1)
    again = MAKERS["two clusters"](nn)
    for name, value in again.state_dict().items():
        assert minigrad.equal(value, layer.state_dict()[name])


def test_errors() -> None:
    for cutoffs, text in (([], "length larger than 0"), ([3, 3], "unique"), ([3, 10], "unique"), ([0], "unique")):
        raises(ValueError, text, partial(nn.AdaptiveLogSoftmaxWithLoss, 5, 10, cutoffs))
    layer = MAKERS["two clusters"](nn)
    with pytest.raises(RuntimeError, match=r"\[0, 9\], but values in range \[1, 10\]"):
        layer(minigrad.ones(2, 8), minigrad.tensor([1, 10]))
    raises(RuntimeError, "same size in the batch dimension", lambda: layer(minigrad.ones(2, 8), minigrad.tensor([1])))
    raises(RuntimeError, "0D target tensor expects 1D", lambda: layer(minigrad.ones(2, 8), minigrad.tensor(1)))
    raises(RuntimeError, "multi-target not supported", lambda: layer(minigrad.ones(2, 8), minigrad.tensor([[1], [2]])))
