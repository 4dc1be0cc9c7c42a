"""Module: registration, attributes, walking, hooks, modes, copies."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad import nn
from tests.support.both import alike, outcome
from tests.support.cases import cases, raises


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


def names(pairs: Any) -> list[str]:
    return [name for name, _ in pairs]


def test_registered_objects_are_listed_once_and_in_order() -> None:
    net, tied = Net(), Tied()
    assert names(net.named_parameters()) == ["first.weight", "first.bias", "second.weight"]
    assert names(net.named_buffers()) == ["scale", "cache"]
    assert names(net.named_modules()) == ["", "first", "second"] and names(net.named_children()) == ["first", "second"]
    assert {"first", "scale", "parameters"} <= set(dir(net))
    assert names(tied.named_parameters()) == ["embedding.weight"] and len(list(tied.parameters())) == 1
    assert names(tied.named_parameters(remove_duplicate=False)) == ["embedding.weight", "head.weight"]
    layer = nn.Linear(2, 2)
    twice = nn.Sequential(layer, layer)
    assert names(twice.named_modules()) == ["", "0"] and len(list(twice.children())) == 1
    assert set(twice.state_dict()) == {"0.weight", "0.bias", "1.weight", "1.bias"}


def test_assignment_before_init_is_refused() -> None:
    class Early(nn.Module):
        def __init__(self, value: Any) -> None:
            self.layer = value

    raises(AttributeError, r"cannot assign module before Module.__init__\(\) call", lambda: Early(nn.Linear(1, 1)))
    words = r"cannot assign parameters before Module.__init__\(\) call"
    raises(AttributeError, words, lambda: Early(nn.Parameter(minigrad.ones(1))))


def test_reassignment() -> None:
    net = Net()
    net.first = None
    assert net.first is None and [name for name, _ in net.named_parameters()] == ["second.weight"]
    net.first = nn.Identity()
    assert isinstance(net.get_submodule("first"), nn.Identity)
    raises(TypeError, "cannot assign 'int' as child module 'first'", lambda: setattr(net, "first", 3))
    net.second.weight = None
    assert net.second.weight is None
    with pytest.raises(TypeError, match="cannot assign 'Tensor' as parameter 'weight'"):
        net.second.weight = minigrad.ones(2)
    net.scale = minigrad.zeros(2)
    assert net.get_buffer("scale") is net.scale
    raises(TypeError, "cannot assign 'float' as buffer 'scale'", lambda: setattr(net, "scale", 1.0))
    net.plain = 3
    net.plain = nn.Parameter(minigrad.ones(1))
    assert "plain" in dict(net.named_parameters())
    del net.plain
    assert not hasattr(net, "plain")
    net.table = minigrad.ones(2)
    assert "table" not in dict(net.named_buffers()) and net.table.shape == (2,)


def test_missing_attributes_are_named() -> None:
    raises(AttributeError, "'Net' object has no attribute 'third'", lambda: Net().third)
    raises(AttributeError, r"has no attribute `third`", lambda: Net().get_submodule("third.layer"))
    raises(AttributeError, "no parameter 'wait'", lambda: Net().get_parameter("first.wait"))
    assert Net().get_parameter("first.weight").shape == (4, 3)


@cases("name, error", [("a.b", "name can.*t contain"), ("", "name can.*t be empty"), ("forward", "already exists")])
def test_names_that_cannot_be_registered(name: str, error: str) -> None:
    raises(KeyError, error, lambda: Net().register_parameter(name, nn.Parameter(minigrad.ones(1))))
    raises(KeyError, error, lambda: Net().register_buffer(name, minigrad.ones(1)))
    raises(KeyError, error, lambda: Net().add_module(name, nn.Identity()))


def test_values_that_cannot_be_registered_and_a_missing_forward() -> None:
    net: Any = Net()
    raises(TypeError, "Parameter or None required", lambda: net.register_parameter("x", minigrad.ones(1)))
    raises(TypeError, "not a Module subclass", lambda: net.add_module("x", 3))
    raises(TypeError, "Tensor or None required", lambda: net.register_buffer("x", 3))
    raises(NotImplementedError, r'\[Module\] is missing the required "forward" function', lambda: nn.Module()(1))


def test_modes_gradients_and_apply() -> None:
    net, events = Net(), []
    assert net.eval() is net and not any(m.training for m in net.modules())
    net(minigrad.ones(2, 3)).sum().backward()  # evaluation does not switch gradients off
    assert all(p.grad is not None for p in net.parameters())
    net.zero_grad(set_to_none=False)
    assert all(p.grad is not None and not p.grad.any().item() for p in net.parameters())
    net.zero_grad()
    assert all(p.grad is None for p in net.parameters()) and all(m.training for m in net.train().modules())
    raises(ValueError, "boolean", lambda: net.train(1))  # type: ignore[arg-type]
    assert net.apply(events.append) is net and events == [net.first, net.second, net]
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


def test_to_takes_what_tensors_take_moves_buffers_and_leaves_integers(device: str) -> None:
    net = Net()
    net.register_buffer("count", minigrad.tensor([1, 2]))
    net.to(device, minigrad.float64)
    assert net.count.dtype is minigrad.int64 and net.scale.dtype is minigrad.float64
    assert {b.device.type for b in net.buffers()} == {device}
    assert net.half().first.weight.dtype is minigrad.float16
    assert net.float().first.weight.dtype is minigrad.float32
    assert net.to(minigrad.ones(1).double()).first.weight.dtype is minigrad.float64
    assert net.cpu().first.weight.device.type == "cpu"
    net.to("cpu", non_blocking=True).to("cpu", minigrad.float64, True)
    assert net.to(device=None, dtype=minigrad.float32, memory_format=None).scale.dtype is minigrad.float32
    raises(TypeError, "only accepts floating point or complex dtypes", lambda: net.to(minigrad.int64))


def test_forward_hooks() -> None:
    net, calls = nn.Linear(2, 2), []
    x = minigrad.ones(1, 2)
    with net.register_forward_pre_hook(lambda m, args: calls.append("before") or (args[0] * 2,)):
        handle = net.register_forward_hook(lambda m, args, out: calls.append("after") or out + 1)
        np.testing.assert_allclose(net(x).detach().numpy(), (net.forward(x * 2) + 1).detach().numpy(), rtol=1e-6)
        handle.remove()
        handle.remove()
    net(x)
    assert calls == ["before", "after"]

    class Scaled(nn.Module):
        def forward(self, x: int, factor: int = 1) -> int:
            return x * factor

    scaled, order = Scaled(), []
    scaled.register_forward_pre_hook(lambda m, a, k: (a, {"factor": 5}), with_kwargs=True)
    scaled.register_forward_hook(lambda m, a, out: order.append("second"))
    scaled.register_forward_hook(lambda m, a, k, out: order.append(k["factor"]), with_kwargs=True, prepend=True)
    assert scaled(2) == 10 and order == [5, "second"]


def test_copies_are_independent_and_keep_ties() -> None:
    net, events = Tied(), []
    net.register_forward_hook(lambda m, args, out: events.append(m))
    twin = copy.deepcopy(net)
    twin._forward_hooks.clear()
    assert twin.head.weight is twin.embedding.weight is not net.head.weight
    assert isinstance(twin.head.weight, nn.Parameter)
    net.embedding(minigrad.tensor([0])).sum().backward()
    assert net.head.weight.grad is not None and copy.deepcopy(net).head.weight.grad is None
    with minigrad.no_grad():
        twin.head.weight.zero_()
    assert net.head.weight.any().item() and [m._forward_hooks != {} for m in (net, twin)] == [True, False]
    stored = pickle.loads(pickle.dumps(Tied().eval()))
    assert stored.head.weight is stored.embedding.weight
    assert isinstance(stored.head.weight, nn.Parameter) and not stored.training
    assert stored.embedding(minigrad.tensor([0])).requires_grad


def test_parameter() -> None:
    data = minigrad.ones(2)
    parameter = nn.Parameter(data)
    assert parameter.requires_grad and isinstance(parameter, minigrad.Tensor)
    assert repr(parameter) == "Parameter containing:\ntensor([1., 1.], requires_grad=True)"
    data[0] = 5
    assert parameter[0].item() == 5 and not nn.Parameter(data, requires_grad=False).requires_grad
    assert type(parameter * 2) is minigrad.Tensor
    raises(RuntimeError, "floating point", lambda: nn.Parameter(minigrad.tensor([1])))
    raises(TypeError, r"minigrad\.tensor", lambda: nn.Parameter([1.0]))  # type: ignore[arg-type]


@alike
def test_arguments_for_a_base_without_arguments(t: Any) -> Any:
    kind = type("Own", (t.nn.Module,), {})
    return [outcome(call) for call in (lambda: kind(3), lambda: kind(a=3), lambda: kind(1, 2, a=3))]


@alike
def test_call_super_init_passes_arguments_on(library: Any) -> Any:
    class Mixin:
        def __init__(self, a: int, b: int = 0) -> None:
            self.both = (a, b)

    class Net(library.nn.Module, Mixin):  # type: ignore[misc, name-defined]
        call_super_init = True

    return Net(1, b=2).both


@alike
def test_names_that_attributes_may_have(t: Any) -> Any:
    class Net(t.nn.Module):  # type: ignore[misc, name-defined]
        norm, bias = None, None

        def __init__(self) -> None:
            super().__init__()
            self.norm = t.nn.LayerNorm(2)

    net, plain = Net(), t.nn.Module()
    setattr(plain, "a.b", t.nn.Linear(1, 1))
    over = outcome(lambda: setattr(net, "bias", t.nn.Parameter(t.ones(1))))
    return [list(net.state_dict()), over, list(plain.state_dict())]


@alike
def test_methods_that_a_submodule_replaces_are_called(library: Any) -> Any:
    class Frozen(library.nn.Linear):  # type: ignore[misc, name-defined]
        def train(self, mode: bool = True) -> Any:
            return super().train(False)

        def _apply(self, fn: Any, *args: Any) -> Any:
            events.append("applied")
            return super()._apply(fn, *args)

    events: list[Any] = []
    net = library.nn.Sequential(library.nn.Dropout(), Frozen(1, 1)).train().double()
    return [m.training for m in net.modules()], events, str(net[1].weight.dtype)


@alike
def test_set_submodule(t: Any) -> Any:
    net = t.nn.Sequential(t.nn.Sequential(t.nn.ReLU()), t.nn.Tanh())
    net.set_submodule("0.0", t.nn.Identity())
    net.set_submodule("1", t.nn.GELU(), strict=True)
    net.set_submodule("0.new", t.nn.ReLU())
    return repr(net)


def test_submodules_that_cannot_be_set() -> None:
    net = Net()
    raises(ValueError, "without a target name", lambda: net.set_submodule("", nn.ReLU()))
    raises(ValueError, r"`module` is not an nn\.Module", lambda: net.set_submodule("first", 3))  # type: ignore[arg-type]
    for name, strict in (("third", True), ("third.layer", False), ("first.weight", False)):
        raises(AttributeError, None, lambda name=name, strict=strict: net.set_submodule(name, nn.ReLU(), strict))


@alike
def test_buffers_by_assignment(t: Any) -> Any:
    net = t.nn.Module()
    net.kept = t.nn.Buffer(t.ones(2))
    net.lost = t.nn.Buffer(t.ones(2), persistent=False)
    net.changed = t.nn.Parameter(t.ones(2))
    raises(TypeError, "as parameter 'changed'", lambda: setattr(net, "changed", t.nn.Buffer(t.zeros(1))))
    del net.changed
    net.double()
    is_tensor = isinstance(net.kept, t.Tensor)
    return [list(net.state_dict()), names(net.named_buffers()), net.lost.dtype, list(net.parameters()), is_tensor]


def test_buffers_are_tensors_without_gradients() -> None:
    buffer = nn.Buffer(minigrad.ones(2), persistent=False)
    assert type(buffer * 2) is minigrad.Tensor and not buffer.requires_grad
    raises(TypeError, r"Buffer takes a Tensor, not list", lambda: nn.Buffer([1.0]))  # type: ignore[arg-type]
    module = nn.Module()
    module.number = 5
    raises(KeyError, "attribute 'number' already exists", lambda: setattr(module, "number", buffer))


@alike
def test_conversions(library: Any) -> Any:
    net = library.nn.Linear(2, 2)
    net.register_buffer("count", library.tensor([1]))
    actual = [str(net.double().weight.dtype), str(net.count.dtype)]
    actual += [net.type(library.float32).count.dtype, net.half().weight.dtype, net.float().weight.dtype]
    weight = net.weight
    net.to_empty(device="cpu")
    actual += [net.weight is weight, tuple(net.weight.shape), net._get_name()]
    net._apply(lambda t: t.new_zeros(t.shape) + 2)
    actual += [net.weight.tolist(), net.weight is weight, net.weight.requires_grad]
    return [*actual, [n for n, _ in net._named_members(lambda m: m._buffers.items())]]


def test_compiling_changes_nothing_and_memory_is_not_shared() -> None:
    net = nn.Linear(2, 2)
    expected = net(minigrad.ones(1, 2)).tolist()
    assert net.compile(mode="reduce-overhead", dynamic=True) is None  # type: ignore[func-returns-value]
    assert net(minigrad.ones(1, 2)).tolist() == expected
    raises(NotImplementedError, "Send", net.share_memory)


@alike
def test_data_replaces_the_memory_of_a_parameter(library: Any) -> Any:
    net = library.nn.Linear(2, 1).double()
    weight, other = net.weight, library.ones(1, 3, dtype=library.float64)
    net.weight.data = other
    other[0, 0] = 5
    actual = [net.weight is weight, net.weight.tolist(), net.weight.requires_grad, net.weight.is_leaf]
    net.weight.data[:] = 2
    net.weight.data *= 2
    net.weight.data[0, 1] = 7
    actual += [other.tolist(), round(net(other * 0 + 1).item() - net.bias.item(), 6)]
    del net.bias
    actual += [list(net.state_dict()), hasattr(net, "bias")]
    net.bias = None
    return [*actual, net.bias]


def test_state_from_before_an_attribute_existed() -> None:
    """A module pickled by an older version has fewer tables."""
    state = nn.Linear(2, 2).__dict__.copy()
    for name in ("_backward_hooks", "_state_dict_hooks", "_load_state_dict_post_hooks"):
        del state[name]
    module = nn.Linear.__new__(nn.Linear)
    module.__setstate__(state)
    module.load_state_dict(module.state_dict())
    assert module(minigrad.ones(1, 2)).shape == (1, 2)


@alike
def test_an_overridden_register_buffer_sees_assigned_buffers(t: Any) -> Any:
    class Own(t.nn.Module):  # type: ignore[misc, name-defined]
        def register_buffer(self, name: str, tensor: Any) -> None:
            super().register_buffer(name, tensor + 1)

    module = Own()
    module.count = t.nn.Buffer(t.ones(1))
    return module.count, list(module.state_dict())
