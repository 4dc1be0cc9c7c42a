"""From one seed, PyTorch's numbers: every way to draw, alone and mixed, and the stream's position."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad
from tests.support.parity import host, torch

WEIGHTS = np.random.RandomState(0).rand(4, 6).astype(np.float32)
MANY = np.random.RandomState(1).rand(3, 5000).astype(np.float32)
MEANS = np.arange(20, dtype=np.float32).reshape(4, 5)
Draw = Callable[[Any], Any]
DRAWS: dict[str, Draw] = {
    "rand": lambda t: t.rand(7, 3),
    "rand float64": lambda t: t.rand(7, dtype=t.float64),
    "rand float16": lambda t: t.rand(70, dtype=t.float16),
    "randn complex": lambda t: t.view_as_real(t.randn(5, 8, dtype=t.complex64)),
    "randn complex128": lambda t: t.view_as_real(t.randn(3, dtype=t.complex128)),
    "rand complex": lambda t: t.view_as_real(t.rand(3, dtype=t.complex64)),
    "randn mixed": lambda t: t.cat([t.randn(3), t.rand(2), t.randn(1), t.randn(20), t.randn(2)]),
    "randn mixed dtypes": lambda t: t.cat([t.randn(3).double(), t.randn(1, dtype=t.float64), t.randn(2)]),
    "normal_ of a view": lambda t: t.empty(6, 7).t().normal_(1, 2),
    "uniform_ of a view": lambda t: t.empty(6, 7).t().uniform_(1, 2),
    "uniform_ float64": lambda t: t.empty(90, dtype=t.float64).uniform_(-3, 2),
    "uniform_ float16": lambda t: t.empty(90, dtype=t.float16).uniform_(-3, 2),
    "uniform_ from and to": lambda t: t.empty(9).uniform_(-3, to=2),
    "randint": lambda t: t.randint(-5, 7, (9,)),
    "randint of a size": lambda t: t.randint(5, (9,)),
    "randint by keywords": lambda t: t.randint(high=9, size=(4,)),
    "randint uint8": lambda t: t.randint(0, 100, (9,), dtype=t.uint8),
    "randint float": lambda t: t.randint(0, 100, (9,), dtype=t.float32),
    "randint 2**28": lambda t: t.randint(0, 2**28, (9,)),
    "randint 2**31": lambda t: t.randint(0, 2**31 + 5, (9,)),
    "randint 2**40": lambda t: t.randint(-5, 2**40, (9,)),
    "randint of all": lambda t: t.randint(-(2**63), 2**63 - 1, (9,)),
    "randperm int32": lambda t: t.randperm(50, dtype=t.int32),
    "multinomial": lambda t: t.multinomial(t.tensor(WEIGHTS), 1),
    "multinomial without": lambda t: t.multinomial(t.tensor(WEIGHTS), 3),
    "multinomial with": lambda t: t.multinomial(t.tensor(WEIGHTS), 5, replacement=True),
    "multinomial vector": lambda t: t.multinomial(t.tensor(WEIGHTS[0]), 9, True),
    "multinomial float64": lambda t: t.multinomial(t.tensor(WEIGHTS).double(), 3, True),
    "multinomial of many": lambda t: t.multinomial(t.tensor(MANY), 300),
    "multinomial of many with": lambda t: t.multinomial(t.tensor(MANY), 300, True),
    "bernoulli": lambda t: t.bernoulli(t.tensor(WEIGHTS)),
    "bernoulli p": lambda t: t.bernoulli(t.zeros(7), 0.5),
    "bernoulli_": lambda t: t.empty(5, 4).bernoulli_(0.3),
    "bernoulli_ tensor": lambda t: t.empty(4, 6).bernoulli_(t.tensor(WEIGHTS)),
    "exponential_": lambda t: t.empty(20).exponential_(2.5),
    "geometric_": lambda t: t.empty(20).geometric_(0.3),
    "cauchy_": lambda t: t.empty(20, dtype=t.float64).cauchy_(1, 2),
    "log_normal_": lambda t: t.empty(20).log_normal_(),
    "random_ float": lambda t: t.empty(9).random_(),
    "random_ int64": lambda t: t.empty(9, dtype=t.int64).random_(),
    "random_ uint8": lambda t: t.empty(9, dtype=t.uint8).random_(),
    "random_ bool": lambda t: t.empty(9, dtype=t.bool).random_(),
    "random_ to": lambda t: t.empty(9).random_(10),
    "random_ from to": lambda t: t.empty(9, dtype=t.int64).random_(3, 10),
    "random_ from": lambda t: t.empty(9, dtype=t.int64).random_(3, None),
    "rand_like": lambda t: t.rand_like(t.zeros(5, 8).t()),
    "randn_like": lambda t: t.randn_like(t.zeros(5, 8).t()),
    "randint_like": lambda t: t.randint_like(t.zeros(3, 2), 3, 7),
    "rand_like in another order": lambda t: t.rand_like(t.ones(3, 2).t(), memory_format=t.contiguous_format),
    "multinomial of columns": lambda t: t.multinomial(t.arange(1.0, 13.0).reshape(3, 4).t(), 2),
    "normal tensors": lambda t: t.normal(t.tensor(MEANS), t.tensor(MEANS + 1)),
    "normal tensor and number": lambda t: t.normal(t.tensor(MEANS), 2.0),
    "normal broadcast": lambda t: t.normal(t.zeros(3, 1), t.ones(4)),
    "normal size": lambda t: t.normal(mean=2.0, std=3.0, size=(4,)),
    "large seed": lambda t: (t.manual_seed(2**40 + 3), t.rand(4))[1],
    "negative seed": lambda t: (t.manual_seed(-7), t.rand(4))[1],
    "generator": lambda t: t.randn(4, generator=t.Generator().manual_seed(3)),
    "unseeded generator": lambda t: t.rand(4, generator=t.Generator()),
}
for _n in (1, 3, 15, 16, 17, 31, 32, 100):
    DRAWS[f"randn {_n}"] = lambda t, n=_n: t.randn(n)
    DRAWS[f"randn float64 {_n}"] = lambda t, n=_n: t.randn(n, dtype=t.float64)
    DRAWS[f"randn float16 {_n}"] = lambda t, n=_n: t.randn(n, dtype=t.float16)
for _n in (0, 1, 10, 30000, 100000):
    DRAWS[f"randperm {_n}"] = lambda t, n=_n: t.randperm(n)


@pytest.mark.parametrize("name", DRAWS)
def test_as_torch_from_one_seed(name: str) -> None:
    found, after = drawn(DRAWS[name], minigrad)
    expected, after_expected = drawn(DRAWS[name], torch)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    tolerance = {"float16": 2e-3, "float64": 1e-11}.get(found.dtype.name, 2e-6)
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
    np.testing.assert_array_equal(after, after_expected, "the stream stands elsewhere afterwards")


def drawn(draw: Draw, t: Any) -> tuple[Any, Any]:
    t.manual_seed(5)
    return host(draw(t)), host(t.rand(3))


def test_a_state_goes_from_one_library_to_the_other() -> None:
    torch.manual_seed(5)
    torch.randn(3), torch.rand(700)
    state = torch.get_rng_state().numpy()
    minigrad.set_rng_state(minigrad.from_numpy(state))
    np.testing.assert_allclose(host(minigrad.randn(5)), host(torch.randn(5)), atol=1e-6)
    state = host(minigrad.get_rng_state())[:5056]
    minigrad.rand(3)
    torch.set_rng_state(torch.from_numpy(state.copy()))
    minigrad.set_rng_state(minigrad.from_numpy(state.copy()))
    np.testing.assert_allclose(host(minigrad.randn(5)), host(torch.randn(5)), atol=1e-6)


def test_state_of_both_streams() -> None:
    state = minigrad.get_rng_state()
    assert (state.dtype, state.dim()) == (minigrad.uint8, 1)
    first = minigrad.rand(3).tolist(), minigrad.default_generator.keep_mask((50,), 0.5).tolist()
    minigrad.set_rng_state(state)
    assert (minigrad.rand(3).tolist(), minigrad.default_generator.keep_mask((50,), 0.5).tolist()) == first
    with pytest.raises(RuntimeError, match="5056 bytes"):
        minigrad.set_rng_state(minigrad.zeros(3, dtype=minigrad.uint8))


def test_seeds() -> None:
    minigrad.manual_seed(11)
    assert minigrad.initial_seed() == 11
    assert minigrad.seed() == minigrad.initial_seed() != 11


def test_fork_rng() -> None:
    from minigrad.functions.random import fork_rng

    minigrad.manual_seed(1)
    with fork_rng():
        minigrad.rand(10)
    after = minigrad.rand(2).tolist()
    minigrad.manual_seed(1)
    assert minigrad.rand(2).tolist() == after


def test_errors() -> None:
    x = minigrad.zeros(3)
    for draw in (
        lambda: x.uniform_(2, 1),
        lambda: x.normal_(0, -1),
        lambda: x.bernoulli_(2.0),
        lambda: x.exponential_(0),
        lambda: x.geometric_(0.0),
        lambda: x.random_(3, 3),
        lambda: minigrad.bernoulli(x + 2),
        lambda: minigrad.randperm(-1),
        lambda: minigrad.ones(3, requires_grad=True).normal_(),
    ):
        with pytest.raises(RuntimeError):
            draw()
    with pytest.raises(TypeError, match="size"):
        minigrad.randint(3, 4)
