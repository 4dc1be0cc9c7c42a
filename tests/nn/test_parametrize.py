"""Parametrized tensors; weight and spectral normalisation in both forms, with PyTorch's keys and draws."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad import nn
from minigrad.nn.utils import parametrizations, parametrize
from tests.support.cases import cases, raises
from tests.support.parity import assert_close, host, torch

pytestmark = [pytest.mark.filterwarnings("ignore:`(torch.)?nn.utils.(weight|spectral)_norm`")]
rng = np.random.default_rng(8)
X = rng.standard_normal((5, 3))
WEIGHT = rng.standard_normal((4, 3))


def nets() -> list[Any]:
    """(library, layer), drawn from one seed, with the same weight."""
    made = []
    for library in (minigrad, torch):
        layer = library.nn.Linear(3, 4).double()
        layer.weight.data = library.tensor(WEIGHT)
        layer.bias.data.fill_(0.25)
        library.manual_seed(5)
        made.append((library, layer))
    return made


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
    runs = []
    for library, net in nets():
        assert way(library.nn.utils, net) is net
        optimiser = library.optim.SGD(net.parameters(), lr=0.05)
        found = [host(net(library.tensor(X)))]
        for _ in range(3):
            optimiser.zero_grad()
            net(library.tensor(X)).square().mean().backward()
            optimiser.step()
        found += [np.array(host(p.grad)) for p in net.parameters()]
        net.eval()
        found += [host(net(library.tensor(X))), host(net.weight)]
        runs.append((found, net.state_dict(), repr(net)))
    (mine, state, text), (other, expected, other_text) = runs
    for found, wanted in zip(mine, other, strict=True):
        assert_close(found, wanted)
    assert list(state) == list(expected) and text == other_text
    for key, value in state.items():
        assert_close(value, expected[key], what=key)


def test_state_dicts_of_the_one_form_load_into_the_other() -> None:
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
    with pytest.raises(ValueError, match="n_power_iterations to be positive"):
        parametrizations.spectral_norm(net, n_power_iterations=0)
    raises(IndexError, "Dimension out of range", lambda: parametrizations.spectral_norm(net, dim=4))


def symmetric(library: Any) -> Any:
    class Symmetric(library.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any) -> Any:
            return x.triu() + x.triu(1).transpose(-1, -2)

        def right_inverse(self, value: Any) -> Any:
            return value.triu()

    return Symmetric()


def exponential(library: Any) -> Any:
    class Exponential(library.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any) -> Any:
            return x.exp()

        def right_inverse(self, value: Any) -> Any:
            return value.log()

    return Exponential()


def test_parametrizations_of_ones_own() -> None:
    found = []
    for library in (minigrad, torch):
        p = parametrize if library is minigrad else torch.nn.utils.parametrize
        net = library.nn.Linear(3, 3)
        net.weight.data = library.arange(1.0, 10).reshape(3, 3)
        p.register_parametrization(net, "weight", symmetric(library))
        seen: list[Any] = [repr(net), list(net.state_dict()), net.weight.tolist(), type(net).__name__]
        p.register_parametrization(net, "weight", exponential(library))
        seen += [list(net.state_dict()), net.weight.detach().round().tolist(), p.is_parametrized(net)]
        net.weight = library.ones(3, 3) * 2
        seen += [
            net.weight.detach().round().tolist(),
            p.is_parametrized(net, "bias"),
            isinstance(net, library.nn.Linear),
        ]
        net.register_buffer("table", library.ones(2))
        p.register_parametrization(net, "table", exponential(library))
        seen += [net.table.tolist(), [n for n, _ in net.named_buffers()]]
        with p.cached():
            seen += [net.weight is net.weight]
        seen += [net.weight is net.weight]
        original = net.parametrizations.weight.original
        p.remove_parametrizations(net, "table", leave_parametrized=False)
        seen += [net.table.tolist(), type(net).__name__]
        p.remove_parametrizations(net, "weight")
        seen += [net.weight is original, net.weight.round().tolist(), type(net).__name__, list(net.state_dict())]
        found.append(seen)
    assert found[0] == found[1]


def test_what_cannot_be_parametrized() -> None:
    class Half(nn.Module):
        def forward(self, x: Any) -> Any:
            return x[:1]

    class Double(nn.Module):
        def forward(self, x: Any) -> Any:
            return x.double()

    net = nn.Linear(3, 4)
    for wrong in (Half(), Double()):
        with pytest.raises(ValueError, match="may not change shape or dtype"):
            parametrize.register_parametrization(net, "weight", wrong)
    assert not parametrize.is_parametrized(net) and type(net) is nn.Linear
    assert parametrize.register_parametrization(net, "weight", Half(), unsafe=True).weight.shape == (1, 3)
    with pytest.raises(ValueError, match="does not have a parameter, a buffer, or a parametrized element"):
        parametrize.register_parametrization(net, "wait", Half())
    with pytest.raises(ValueError, match="does not have a parametrization on bias"):
        parametrize.remove_parametrizations(net, "bias")
    with pytest.raises(ValueError, match="needs a parametrization with a single original"):
        parametrize.remove_parametrizations(parametrizations.weight_norm(nn.Linear(1, 1)), "weight", False)


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
