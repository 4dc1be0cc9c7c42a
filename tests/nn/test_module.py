"""Module: registration, attributes, walking, hooks, modes, copies."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad import nn


class Net(nn.Module):
    """Two layers, a buffer that is saved and one that is not."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.second = nn.Linear(4, 2, bias=False)
        self.register_buffer("scale", minigrad.ones(2))
        self.register_buffer("cache", minigrad.zeros(3), persistent=False)

    def forward(self, x: minigrad.Tensor) -> minigrad.Tensor:
        return self.second(self.first(x).relu()) * self.scale


class Tied(nn.Module):
    """One weight under two names."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(5, 3)
        self.head = nn.Linear(3, 5, bias=False)
        self.head.weight = self.embedding.weight


def test_parameters_are_registered_in_order() -> None:
    assert [name for name, _ in Net().named_parameters()] == ["first.weight", "first.bias", "second.weight"]
    assert [name for name, _ in Net().named_buffers()] == ["scale", "cache"]
    assert [name for name, _ in Net().named_modules()] == ["", "first", "second"]
    assert [name for name, _ in Net().named_children()] == ["first", "second"]


def test_a_shared_parameter_comes_once() -> None:
    net = Tied()
    assert [name for name, _ in net.named_parameters()] == ["embedding.weight"]
    assert len(list(net.parameters())) == 1
    both = [name for name, _ in net.named_parameters(remove_duplicate=False)]
    assert both == ["embedding.weight", "head.weight"]


def test_a_shared_module_comes_once() -> None:
    layer = nn.Linear(2, 2)
    net = nn.Sequential(layer, layer)
    assert [name for name, _ in net.named_modules()] == ["", "0"]
    assert len(list(net.children())) == 1
    assert set(net.state_dict()) == {"0.weight", "0.bias", "1.weight", "1.bias"}


def test_assignment_before_init_is_refused() -> None:
    class Early(nn.Module):
        def __init__(self, value: Any) -> None:
            self.layer = value

    with pytest.raises(AttributeError, match=r"cannot assign module before Module.__init__\(\) call"):
        Early(nn.Linear(1, 1))
    with pytest.raises(AttributeError, match=r"cannot assign parameters before Module.__init__\(\) call"):
        Early(nn.Parameter(minigrad.ones(1)))


def test_reassignment() -> None:
    net = Net()
    net.first = None
    assert net.first is None
    assert [name for name, _ in net.named_parameters()] == ["second.weight"]
    net.first = nn.Identity()
    assert isinstance(net.get_submodule("first"), nn.Identity)
    with pytest.raises(TypeError, match="cannot assign 'int' as child module 'first'"):
        net.first = 3
    net.second.weight = None
    assert net.second.weight is None
    with pytest.raises(TypeError, match="cannot assign 'Tensor' as parameter 'weight'"):
        net.second.weight = minigrad.ones(2)
    net.scale = minigrad.zeros(2)
    assert net.get_buffer("scale") is net.scale
    with pytest.raises(TypeError, match="cannot assign 'float' as buffer 'scale'"):
        net.scale = 1.0
    net.plain = 3
    net.plain = nn.Parameter(minigrad.ones(1))
    assert "plain" in dict(net.named_parameters())
    del net.plain
    assert not hasattr(net, "plain")


def test_a_tensor_is_a_plain_attribute() -> None:
    net = Net()
    net.table = minigrad.ones(2)
    assert "table" not in dict(net.named_buffers()) and net.table.shape == (2,)


def test_missing_attributes_are_named() -> None:
    with pytest.raises(AttributeError, match="'Net' object has no attribute 'third'"):
        _ = Net().third
    with pytest.raises(AttributeError, match=r"'third' .* does not exist"):
        Net().get_submodule("third.layer")
    with pytest.raises(AttributeError, match="no parameter 'wait'"):
        Net().get_parameter("first.wait")
    assert Net().get_parameter("first.weight").shape == (4, 3)


@pytest.mark.parametrize(
    ("name", "error"),
    [("a.b", "name can.*t contain"), ("", "name can.*t be empty"), ("forward", "already exists")],
)
def test_names_that_cannot_be_registered(name: str, error: str) -> None:
    with pytest.raises(KeyError, match=error):
        Net().register_parameter(name, nn.Parameter(minigrad.ones(1)))
    with pytest.raises(KeyError, match=error):
        Net().register_buffer(name, minigrad.ones(1))
    with pytest.raises(KeyError, match=error):
        Net().add_module(name, nn.Identity())


def test_values_that_cannot_be_registered() -> None:
    with pytest.raises(TypeError, match="Parameter or None required"):
        Net().register_parameter("x", minigrad.ones(1))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="not a Module subclass"):
        Net().add_module("x", 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Tensor or None required"):
        Net().register_buffer("x", 3)  # type: ignore[arg-type]


def test_a_module_without_forward_says_so() -> None:
    with pytest.raises(NotImplementedError, match=r'\[Module\] is missing the required "forward" function'):
        nn.Module()(1)


def test_train_and_eval() -> None:
    net = Net()
    assert net.eval() is net
    assert not any(m.training for m in net.modules())
    assert all(m.training for m in net.train().modules())
    with pytest.raises(ValueError, match="boolean"):
        net.train(1)  # type: ignore[arg-type]


def test_eval_does_not_switch_gradients_off() -> None:
    net = Net().eval()
    net(minigrad.ones(2, 3)).sum().backward()
    assert all(p.grad is not None for p in net.parameters())


def test_zero_grad() -> None:
    net = Net()
    net(minigrad.ones(2, 3)).sum().backward()
    net.zero_grad(set_to_none=False)
    assert all(p.grad is not None and not p.grad.any().item() for p in net.parameters())
    net.zero_grad()
    assert all(p.grad is None for p in net.parameters())


def test_apply_and_requires_grad() -> None:
    seen: list[nn.Module] = []
    net = Net()
    assert net.apply(seen.append) is net
    assert seen == [net.first, net.second, net]
    net.requires_grad_(False)
    assert not any(p.requires_grad for p in net.parameters())


def test_to_keeps_parameters_and_ties(device: str) -> None:
    net = Tied()
    weight = net.embedding.weight
    net.embedding(minigrad.tensor([1])).sum().backward()
    net.to(device).double()
    assert net.embedding.weight is weight and net.head.weight is weight
    assert weight.dtype is minigrad.float64 and weight.device.type == device
    assert weight.grad is not None
    assert weight.grad.dtype is minigrad.float64 and weight.grad.device.type == device
    assert isinstance(weight, nn.Parameter) and weight.requires_grad and weight.is_leaf


def test_to_moves_buffers_and_leaves_integers(device: str) -> None:
    net = Net()
    net.register_buffer("count", minigrad.tensor([1, 2]))
    net.to(device, minigrad.float64)
    assert net.count.dtype is minigrad.int64 and net.scale.dtype is minigrad.float64
    assert {b.device.type for b in net.buffers()} == {device}
    assert net.half().first.weight.dtype is minigrad.float16
    assert net.float().first.weight.dtype is minigrad.float32
    assert net.to(minigrad.ones(1).double()).first.weight.dtype is minigrad.float64
    assert net.cpu().first.weight.device.type == "cpu"
    with pytest.raises(TypeError, match="only accepts floating point dtypes"):
        net.to(minigrad.int64)


def test_the_optimiser_sees_a_moved_module() -> None:
    net = nn.Linear(2, 1)
    optimiser = minigrad.optim.SGD(net.parameters(), lr=1.0)
    net.double()
    net(minigrad.ones(1, 2).double()).sum().backward()
    before = net.weight.detach().clone()
    optimiser.step()
    np.testing.assert_allclose(net.weight.detach().numpy(), before.numpy() - 1)


def test_forward_hooks() -> None:
    net, calls = nn.Linear(2, 2), []
    with net.register_forward_pre_hook(lambda m, args: calls.append("before") or (args[0] * 2,)):
        handle = net.register_forward_hook(lambda m, args, out: calls.append("after") or out + 1)
        x = minigrad.ones(1, 2)
        changed = net(x)
        np.testing.assert_allclose(
            changed.detach().numpy(), (net.forward(x * 2) + 1).detach().numpy(), rtol=1e-6
        )
        handle.remove()
        handle.remove()
    assert calls == ["before", "after"]
    net(x)
    assert calls == ["before", "after"]


def test_hooks_with_keywords_and_prepended() -> None:
    class Scaled(nn.Module):
        def forward(self, x: int, factor: int = 1) -> int:
            return x * factor

    net, order = Scaled(), []
    net.register_forward_pre_hook(lambda m, a, k: (a, {"factor": 5}), with_kwargs=True)
    net.register_forward_hook(lambda m, a, out: order.append("second"))
    net.register_forward_hook(lambda m, a, k, out: order.append(k["factor"]), with_kwargs=True, prepend=True)
    assert net(2) == 10
    assert order == [5, "second"]


def test_deepcopy_is_independent_and_keeps_ties() -> None:
    net = Tied()
    twin = copy.deepcopy(net)
    assert twin.head.weight is twin.embedding.weight
    assert twin.head.weight is not net.head.weight
    assert isinstance(twin.head.weight, nn.Parameter)
    with minigrad.no_grad():
        twin.head.weight.zero_()
    assert net.head.weight.any().item()


def test_pickle() -> None:
    net = pickle.loads(pickle.dumps(Tied().eval()))
    assert net.head.weight is net.embedding.weight
    assert isinstance(net.head.weight, nn.Parameter) and not net.training
    assert net.embedding(minigrad.tensor([0])).requires_grad


def test_repr() -> None:
    assert repr(nn.Linear(2, 3)) == "Linear(in_features=2, out_features=3, bias=True)"
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.ModuleList(nn.Dropout(0.5) for _ in range(3)))
    assert repr(net) == (
        "Sequential(\n  (0): Linear(in_features=2, out_features=3, bias=True)\n  (1): ReLU()\n"
        "  (2): ModuleList(\n    (0-2): 3 x Dropout(p=0.5, inplace=False)\n  )\n)"
    )


def test_dir_lists_what_is_registered() -> None:
    assert {"first", "scale", "parameters"} <= set(dir(Net()))


def test_parameter() -> None:
    data = minigrad.ones(2)
    parameter = nn.Parameter(data)
    assert parameter.requires_grad and isinstance(parameter, minigrad.Tensor)
    assert repr(parameter) == "Parameter containing:\ntensor([1., 1.], requires_grad=True)"
    data[0] = 5
    assert parameter[0].item() == 5
    assert not nn.Parameter(data, requires_grad=False).requires_grad
    assert type(parameter * 2) is minigrad.Tensor
    with pytest.raises(RuntimeError, match="floating point"):
        nn.Parameter(minigrad.tensor([1]))
    with pytest.raises(TypeError, match=r"minigrad\.tensor"):
        nn.Parameter([1.0])  # type: ignore[arg-type]
