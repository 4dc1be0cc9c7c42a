"""Parametrized tensors; weight and spectral normalisation in both forms, with PyTorch's keys and random numbers."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad import nn
from minigrad.nn.utils import parametrizations, parametrize
from tests.support.both import agree, alike
from tests.support.cases import cases, raises
from tests.support.parity import assert_close, host, in_torch_words

pytestmark = [pytest.mark.filterwarnings("ignore:`(torch.)?nn.utils.(weight|spectral)_norm`")]
rng = np.random.default_rng(8)
X = rng.standard_normal((5, 3))
WEIGHT = rng.standard_normal((4, 3))


WAYS: list[Any] = [
    lambda u, m: u.weight_norm(m),
    lambda u, m: u.weight_norm(m, "weight", 1),
    lambda u, m: u.weight_norm(m, dim=None),
    lambda u, m: u.parametrizations.weight_norm(m),
    lambda u, m: u.parametrizations.weight_norm(m, dim=None),
    lambda u, m: u.parametrizations.weight_norm(m, dim=1),
    lambda u, m: u.spectral_norm(m),
    lambda u, m: u.spectral_norm(m, n_power_iterations=3, dim=1),
    lambda u, m: u.parametrizations.spectral_norm(m),
    lambda u, m: u.parametrizations.spectral_norm(m, dim=1),
    lambda u, m: u.parametrizations.spectral_norm(m, "bias"),
]


@cases("way", WAYS)
def test_training_steps(way: Any) -> None:
    def program(t: Any) -> list[Any]:
        net, x = t.nn.Linear(3, 4).double(), t.tensor(X)
        net.weight.data = t.tensor(WEIGHT)
        net.bias.data.fill_(0.25)
        t.manual_seed(5)
        assert way(t.nn.utils, net) is net
        optimiser = t.optim.SGD(net.parameters(), lr=0.05)
        first = net(x).detach()
        for _ in range(3):
            optimiser.zero_grad()
            net(x).square().mean().backward()
            optimiser.step()
        derivatives = [p.grad for p in net.parameters()]
        state = net.state_dict()
        return [
            first,
            derivatives,
            net.eval()(x),
            net.weight,
            list(state),
            list(state.values()),
            in_torch_words(repr(net)),
        ]

    agree(program, gradient=False)


def test_state_dicts_of_one_form_load_into_the_other() -> None:
    old, new = nn.utils.weight_norm(nn.Linear(3, 4)), parametrizations.weight_norm(nn.Linear(3, 4))
    new.load_state_dict(old.state_dict())
    x = minigrad.randn(2, 3)
    np.testing.assert_array_equal(host(old(x)), host(new(x)))


def test_removing_weight_norm() -> None:
    net = nn.utils.weight_norm(nn.Linear(3, 4))
    expected = 2 * net.weight.detach()
    net.weight_g.data *= 2
    raises(RuntimeError, "two weight_norm hooks on the same parameter weight", lambda: nn.utils.weight_norm(net))
    nn.utils.remove_weight_norm(net)
    assert sorted(net.state_dict()) == ["bias", "weight"] and isinstance(net.weight, nn.Parameter)
    assert_close(net.weight, expected, 1e-6)
    raises(ValueError, "weight_norm of 'weight' not found", lambda: nn.utils.remove_weight_norm(net))


def test_removing_spectral_norm() -> None:
    net = nn.utils.spectral_norm(nn.Linear(3, 4)).eval()
    x = minigrad.randn(2, 3)
    expected = net(x).tolist()
    raises(RuntimeError, "two spectral_norm hooks", lambda: nn.utils.spectral_norm(net))
    nn.utils.remove_spectral_norm(net)
    assert net(x).tolist() == expected
    assert sorted(net.state_dict()) == ["bias", "weight"] and isinstance(net.weight, nn.Parameter)
    raises(ValueError, "spectral_norm of 'weight' not found", lambda: nn.utils.remove_spectral_norm(net))
    raises(ValueError, "n_power_iterations to be positive", lambda: nn.utils.spectral_norm(net, n_power_iterations=0))
    normalize = parametrizations.spectral_norm
    raises(ValueError, "n_power_iterations to be positive", lambda: normalize(net, n_power_iterations=0))
    raises(IndexError, "Dimension out of range", lambda: normalize(net, dim=4))


def module(t: Any, forward: Callable[[Any], Any], inverse: Callable[[Any], Any] | None = None) -> Any:
    methods = {"forward": lambda self, x: forward(x)}
    if inverse:
        methods["right_inverse"] = lambda self, value: inverse(value)
    return type("Own", (t.nn.Module,), methods)()


@alike
def test_custom_parametrizations(t: Any) -> list[Any]:
    p, net = t.nn.utils.parametrize, t.nn.Linear(3, 3)
    symmetric = module(t, lambda x: x.triu() + x.triu(1).transpose(-1, -2), lambda value: value.triu())
    exponential = module(t, lambda x: x.exp(), lambda value: value.log())
    net.weight.data = t.arange(1.0, 10).reshape(3, 3)
    p.register_parametrization(net, "weight", symmetric)
    calls: list[Any] = [repr(net), list(net.state_dict()), net.weight.tolist(), type(net).__name__]
    p.register_parametrization(net, "weight", exponential)
    calls += [list(net.state_dict()), net.weight.detach().round().tolist(), p.is_parametrized(net)]
    net.weight = t.ones(3, 3) * 2
    calls += [net.weight.detach().round().tolist(), p.is_parametrized(net, "bias"), isinstance(net, t.nn.Linear)]
    net.register_buffer("table", t.ones(2))
    p.register_parametrization(net, "table", exponential)
    calls += [net.table.tolist(), [n for n, _ in net.named_buffers()]]
    with p.cached():
        calls += [net.weight is net.weight]
    calls += [net.weight is net.weight]
    original = net.parametrizations.weight.original
    p.remove_parametrizations(net, "table", leave_parametrized=False)
    calls += [net.table.tolist(), type(net).__name__]
    p.remove_parametrizations(net, "weight")
    return [*calls, net.weight is original, net.weight.round().tolist(), type(net).__name__, list(net.state_dict())]


def test_invalid_parametrizations() -> None:
    net, half = nn.Linear(3, 4), module(minigrad, lambda x: x[:1])
    register, remove = parametrize.register_parametrization, parametrize.remove_parametrizations
    for wrong in (half, module(minigrad, lambda x: x.double())):
        raises(ValueError, "may not change shape or dtype", lambda wrong=wrong: register(net, "weight", wrong))
    assert not parametrize.is_parametrized(net) and type(net) is nn.Linear
    assert register(net, "weight", half, unsafe=True).weight.shape == (1, 3)
    words = "does not have a parameter, a buffer, or a parametrized element"
    raises(ValueError, words, lambda: register(net, "wait", half))
    raises(ValueError, "does not have a parametrization on bias", lambda: remove(net, "bias"))
    other = parametrizations.weight_norm(nn.Linear(1, 1))
    raises(ValueError, "needs a parametrization with a single original", lambda: remove(other, "weight", False))


def test_copies_of_parametrized_modules() -> None:
    net = parametrizations.weight_norm(nn.Linear(3, 4))
    twin = copy.deepcopy(net)
    x = minigrad.randn(2, 3)
    assert twin(x).tolist() == net(x).tolist()
    with minigrad.no_grad():
        twin.parametrizations.weight.original0.mul_(2)
    assert twin.weight.tolist() == (2 * net.weight).tolist()
    parametrize.remove_parametrizations(twin, "weight")
    assert type(twin) is nn.Linear and parametrize.is_parametrized(net) and net(x).shape == (2, 4)
    raises(RuntimeError, "only supported through state_dict", lambda: pickle.dumps(net))
