"""Sequential, ModuleList, ModuleDict, ParameterList, ParameterDict, Identity."""

from __future__ import annotations

from collections import OrderedDict

import pytest

import minigrad
from minigrad import nn


def test_sequential() -> None:
    first, second = nn.Linear(2, 3), nn.Linear(3, 1)
    net = nn.Sequential(first, nn.ReLU(), second)
    x = minigrad.randn(4, 2)
    assert net(x).tolist() == second(first(x).relu()).tolist()
    assert len(net) == 3 and net[0] is first and net[-1] is second
    assert isinstance(net[:2], nn.Sequential) and len(net[:2]) == 2 and net[:2][0] is first
    assert [type(m).__name__ for m in net] == ["Linear", "ReLU", "Linear"]
    net.append(nn.Identity())
    assert list(dict(net.named_children())) == ["0", "1", "2", "3"]
    del net[1]
    assert list(dict(net.named_children())) == ["0", "1", "2"] and net[1] is second
    net[0] = nn.Identity()
    assert isinstance(net[0], nn.Identity)
    net.insert(0, nn.Tanh())
    assert isinstance(net[0], nn.Tanh) and len(net) == 4
    assert isinstance(net.pop(0), nn.Tanh)
    with pytest.raises(IndexError, match="out of range: Sequential has 3 entries"):
        _ = net[3]


def test_sequential_of_named_modules() -> None:
    net = nn.Sequential(OrderedDict(hidden=nn.Linear(2, 3), act=nn.ReLU()))
    assert list(net.state_dict()) == ["hidden.weight", "hidden.bias"]
    assert net.hidden is net[0]
    assert list(dict(net[1:].named_children())) == ["act"]


def test_module_list() -> None:
    layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])
    assert len(list(layers.parameters())) == 6
    assert isinstance(layers[1:], nn.ModuleList) and layers[1:][0] is layers[1]
    layers.extend([nn.Identity()])
    layers += [nn.Tanh()]
    layers.insert(1, nn.ReLU())
    assert [type(m).__name__ for m in layers] == ["Linear", "ReLU", "Linear", "Linear", "Identity", "Tanh"]
    assert layers[2] in layers
    with pytest.raises(NotImplementedError):
        layers(minigrad.ones(1))
    with pytest.raises(TypeError, match="not a Module subclass"):
        layers.append(3)


def test_module_dict() -> None:
    net = nn.ModuleDict({"a": nn.Linear(1, 1), "b": nn.ReLU()})
    net["c"] = nn.Identity()
    assert list(net) == list(net.keys()) == ["a", "b", "c"] and "a" in net and net.a is net["a"]
    assert len(net) == len(list(net.values())) == len(list(net.items())) == 3
    net.update({"a": nn.Tanh()})
    assert isinstance(net["a"], nn.Tanh)
    assert isinstance(net.pop("b"), nn.ReLU)
    del net["c"]
    assert list(net) == ["a"]


def test_parameter_containers() -> None:
    values = nn.ParameterList([nn.Parameter(minigrad.ones(2)), minigrad.zeros(3)])
    assert all(isinstance(p, nn.Parameter) for p in values)
    values.append(minigrad.ones(1))
    values[0] = minigrad.zeros(2)
    assert list(values.state_dict()) == ["0", "1", "2"] and not values[0].any().item()
    named = nn.ParameterDict({"a": minigrad.ones(2)})
    named["b"] = nn.Parameter(minigrad.ones(1))
    assert list(named.state_dict()) == ["a", "b"] and isinstance(named["a"], nn.Parameter)
    assert "Parameter containing: [minigrad.float32 of size 2]" in repr(named)


def test_identity_takes_anything() -> None:
    x = minigrad.ones(1)
    assert nn.Identity(3, unused=True)(x) is x
