"""From one seed both libraries hold the same numbers: parameters, draws, shuffles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad
from tests.support.cases import cases

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:enable_nested_tensor")

LAYERS: dict[str, Callable[[Any], Any]] = {
    "Linear": lambda t: t.nn.Linear(17, 5),
    "Linear without bias": lambda t: t.nn.Linear(3, 70, bias=False),
    "Embedding": lambda t: t.nn.Embedding(30, 7, padding_idx=0),
    "LSTM": lambda t: t.nn.LSTM(5, 6, 2, bidirectional=True),
    "GRU": lambda t: t.nn.GRU(5, 6, batch_first=True),
    "LSTMCell": lambda t: t.nn.LSTMCell(4, 9),
    "MultiheadAttention": lambda t: t.nn.MultiheadAttention(24, 4, add_bias_kv=True),
    "MultiheadAttention of other widths": lambda t: t.nn.MultiheadAttention(24, 4, kdim=10, vdim=6),
    "Transformer": lambda t: t.nn.Transformer(16, 2, 2, 2, 32),
    "Conv1d": lambda t: t.nn.Conv1d(4, 6, 3),
    "Conv2d": lambda t: t.nn.Conv2d(4, 6, 3, groups=2),
}

DRAWS: dict[str, Callable[[Any], Any]] = {
    "rand": lambda t: t.rand(3, 5),
    "rand float64": lambda t: t.rand(3, 5, dtype=t.float64),
    "randn of few": lambda t: t.randn(7),
    "randn of 16": lambda t: t.randn(4, 4),
    "randn of 37": lambda t: t.randn(37),
    "randn float64": lambda t: t.randn(33, dtype=t.float64),
    "randint": lambda t: t.randint(3, 90, (40,)),
    "randint of a wide range": lambda t: t.randint(0, 2**40, (40,)),
    "randint from 2**28": lambda t: t.randint(0, 2**31, (40,)),
    "randperm": lambda t: t.randperm(100),
    "randperm of many": lambda t: t.randperm(70_000),
    "multinomial": lambda t: t.multinomial(t.arange(1.0, 13).reshape(3, 4), 1),
    "multinomial, several": lambda t: t.multinomial(t.arange(1.0, 9), 5),
    "multinomial, replaced": lambda t: t.multinomial(t.arange(1.0, 9), 20, replacement=True),
    "bernoulli": lambda t: t.bernoulli(t.full((50,), 0.3)),
    "normal_": lambda t: t.empty(40).normal_(2, 3),
    "normal of tensors": lambda t: t.normal(t.arange(20.0), t.ones(20)),
    "uniform_": lambda t: t.empty(40).uniform_(-1, 2),
    "exponential_": lambda t: t.empty(40).exponential_(2),
    "random_": lambda t: t.empty(10, dtype=t.int64).random_(),
    "random_ in a range": lambda t: t.empty(10, dtype=t.int64).random_(3, 1000),
    "shuffled loader": lambda t: t.cat([b for _ in range(2) for b in loader(t)]),
    "random_split": lambda t: t.tensor([i for part in split(t) for i in part.indices]),
    "own generator": lambda t: t.randperm(20, generator=t.Generator().manual_seed(9)),
    "Categorical": lambda t: t.distributions.Categorical(logits=t.arange(5.0)).sample((30,)),
}


def loader(t: Any) -> Any:
    return t.utils.data.DataLoader(t.arange(23), batch_size=4, shuffle=True)


def split(t: Any) -> Any:
    return t.utils.data.random_split(range(20), [12, 8])


@cases("name", LAYERS)
def test_initial_parameters(name: str) -> None:
    states, after = {}, {}
    for t in (minigrad, torch):
        t.manual_seed(1337)
        states[t] = LAYERS[name](t).state_dict()
        after[t] = t.rand(1).item()
    assert list(states[minigrad]) == list(states[torch])
    for key, expected in states[torch].items():
        np.testing.assert_allclose(states[minigrad][key].numpy(), expected.numpy(), rtol=3e-7, atol=3e-7)
    assert after[minigrad] == after[torch], "as many numbers were drawn"


@cases("name", DRAWS)
def test_draws(name: str) -> None:
    for seed in (0, 7):
        minigrad.manual_seed(seed)
        torch.manual_seed(seed)
        for _ in range(2):  # the second begins where the first has ended
            ours, theirs = DRAWS[name](minigrad), DRAWS[name](torch)
            assert str(ours.dtype).split(".")[-1] == str(theirs.dtype).split(".")[-1]
            np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-6, atol=1e-6)
        assert minigrad.rand(1).item() == torch.rand(1).item()
