"""Layers that take their input width from the first input, against PyTorch's."""

import copy
import importlib
import inspect
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad import nn, optim
from minigrad.compat.lazy import LazyModuleMixin
from tests.support.both import agree, numbers, refuse
from tests.support.cases import cases, raises
from tests.support.parity import assert_close, ours, theirs, torch

rng = np.random.default_rng(0)

LAYERS: dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]] = {
    "LazyLinear": (lambda n: n.LazyLinear(3), (2, 5)),
    "LazyLinear without bias": (lambda n: n.LazyLinear(3, bias=False), (2, 4, 5)),
    "LazyConv1d": (lambda n: n.LazyConv1d(4, 3, padding=1), (2, 5, 6)),
    "LazyConv2d in groups": (lambda n: n.LazyConv2d(4, 3, groups=2, padding_mode="circular"), (2, 6, 4, 5)),
    "LazyConv3d of one sample": (lambda n: n.LazyConv3d(2, 2, bias=False), (3, 4, 4, 4)),
    "LazyConvTranspose1d": (lambda n: n.LazyConvTranspose1d(4, 3, 2), (2, 5, 6)),
    "LazyConvTranspose2d": (lambda n: n.LazyConvTranspose2d(4, 2), (5, 3, 3)),
    "LazyConvTranspose3d": (lambda n: n.LazyConvTranspose3d(4, 2), (2, 3, 2, 2, 2)),
    "LazyBatchNorm1d": (lambda n: n.LazyBatchNorm1d(momentum=0.3), (4, 3)),
    "LazyBatchNorm2d": (lambda n: n.LazyBatchNorm2d(affine=False), (2, 3, 4, 4)),
    "LazyBatchNorm3d": (lambda n: n.LazyBatchNorm3d(track_running_stats=False), (2, 3, 2, 2, 2)),
    "LazyInstanceNorm1d": (lambda n: n.LazyInstanceNorm1d(affine=True), (2, 3, 4)),
    "LazyInstanceNorm2d": (lambda n: n.LazyInstanceNorm2d(track_running_stats=True), (2, 3, 4, 4)),
    "LazyInstanceNorm3d": (lambda n: n.LazyInstanceNorm3d(), (2, 3, 2, 2, 2)),
}


@cases("name, is_double", [(name, n % 2 == 0) for n, name in enumerate(LAYERS)])
def test_first_call(name: str, is_double: bool, device: str) -> None:
    make, shape = LAYERS[name]
    minigrad.manual_seed(0)
    torch.manual_seed(0)
    layer, other = make(nn).to(device), make(torch.nn)
    assert repr(layer) == repr(other)
    values = rng.standard_normal(shape).astype(np.float64 if is_double else np.float32)
    if is_double:
        layer, other = layer.double(), other.double()
    out, expected = layer(ours(values, device=device)), other(theirs(values))
    assert repr(layer) == repr(other) and type(layer) is getattr(nn, type(other).__name__)
    assert_close(out, expected, 1e-9 if is_double else 1e-5)
    for (key, value), (name, number) in zip(layer.state_dict().items(), other.state_dict().items(), strict=True):
        assert key == name
        assert_close(value, number, 1e-9 if is_double else 1e-5)
    assert_close(layer(ours(values, device=device)), other(theirs(values)), 1e-9 if is_double else 1e-5)


def test_an_earlier_optimiser_trains_the_new_parameters() -> None:
    model = nn.Sequential(nn.LazyLinear(3), nn.LazyBatchNorm1d(), nn.Linear(3, 1))
    sgd = optim.SGD(model.parameters(), lr=0.1)
    x = minigrad.ones(4, 2) * minigrad.arange(4.0)[:, None]
    model(x).square().sum().backward()
    before = model[0].weight.detach().clone()
    sgd.step()
    assert not before.equal(model[0].weight) and type(model[0].weight) is nn.Parameter


@cases("name", ["LazyLinear", "LazyConv2d in groups", "LazyBatchNorm1d", "LazyInstanceNorm2d"])
def test_state_dicts(name: str) -> None:
    make, shape = LAYERS[name]
    x = minigrad.randn(shape)
    trained = make(nn)
    trained(x)
    loaded = make(nn)
    loaded.load_state_dict(trained.state_dict())
    assert loaded(x).equal(trained(x)) and repr(loaded) == repr(trained)
    waiting = make(nn)
    waiting.load_state_dict(make(nn).state_dict())  # an empty state dict into an empty module
    assert waiting.has_uninitialized_params()
    copied = copy.deepcopy(waiting)
    assert copied(x).shape == trained(x).shape and waiting.has_uninitialized_params()


def test_a_missing_shape_raises_an_error() -> None:
    layer = nn.LazyLinear(3)
    for ask in (lambda: layer.weight.shape, lambda: sum(p.numel() for p in layer.parameters())):
        raises(RuntimeError, "Can't access the shape of an uninitialized parameter", ask)
    assert repr(layer.weight) == "<UninitializedParameter>"
    with pytest.raises(RuntimeError, match=r"Expected 3D \(unbatched\) or 4D \(batched\) input to LazyConv2d"):
        nn.LazyConv2d(3, 2)(minigrad.ones(2, 2))
    raises(TypeError, None, nn.LazyLinear)


@cases("name", sorted({name.split()[0] for name in LAYERS}))
def test_signatures_are_pytorchs(name: str) -> None:
    parameters, other = (inspect.signature(getattr(n, name)).parameters for n in (nn, torch.nn))
    assert set(other) - {"kwargs"} <= set(parameters)


def own_layer(t: Any, becomes: bool = False) -> Any:
    """A layer with a lazy parameter, a lazy buffer and an ordinary one; its class may change at the first call."""
    lazy = importlib.import_module(f"{t.__name__}.nn.modules.lazy")
    parameter = importlib.import_module(f"{t.__name__}.nn.parameter")

    class Scale(t.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any, shift: Any = 0) -> Any:
            return x * self.factor + self.offset + shift

    class LazyScale(lazy.LazyModuleMixin, Scale):  # type: ignore[misc, name-defined]
        cls_to_become = Scale if becomes else None

        def __init__(self) -> None:
            super().__init__()
            self.factor = parameter.UninitializedParameter()
            self.register_buffer("offset", parameter.UninitializedBuffer())
            self.times = 0

        def initialize_parameters(self, x: Any, shift: Any = 0) -> None:
            self.times += 1
            if self.has_uninitialized_params():
                with t.no_grad():
                    self.factor.materialize(x.shape[-1:])
                    self.factor.fill_(2.0)
                    self.offset.materialize((1,))
                    self.offset.fill_(shift)

    return LazyScale()


@cases("becomes", [False, True])
def test_a_custom_layer(becomes: bool) -> None:
    def program(t: Any, x: Any) -> Any:
        layer = own_layer(t, becomes)
        optimizer = t.optim.SGD(layer.parameters(), lr=0.1)
        model = t.nn.Sequential(layer).double()
        calls: list[Any] = []
        layer.register_forward_pre_hook(lambda module, args, kwargs: calls.append(kwargs), with_kwargs=True)
        before = [layer.has_uninitialized_params(), str(layer.factor.dtype)[-7:]]
        before += [repr(layer.factor), repr(layer.offset)]
        out = layer(x, shift=3)
        model(out).sum().backward()
        optimizer.step()
        names = [type(each).__name__ for each in (layer, layer.factor, layer.offset)]
        return [*before, out.detach(), layer.factor.detach(), layer.offset, layer.times, len(calls), *names]

    agree(program, numbers(2, 3), gradient=False)


def test_a_custom_layer_is_loaded_and_pickled() -> None:
    def program(t: Any, x: Any) -> Any:
        trained, loaded, waiting = own_layer(t), own_layer(t), own_layer(t)
        out = trained(x)
        loaded.load_state_dict(trained.state_dict())
        waiting.load_state_dict(own_layer(t).state_dict())
        parameter = importlib.import_module(f"{t.__name__}.nn.parameter")
        again = pickle.loads(pickle.dumps(parameter.UninitializedParameter(dtype=t.float64)))
        again.materialize((2,))
        flags = [loaded.has_uninitialized_params(), waiting.has_uninitialized_params(), parameter.is_lazy(again)]
        return [loaded.state_dict()["factor"], loaded(x).detach() - out.detach(), *flags, tuple(again.shape)]

    agree(program, numbers(2, 3), gradient=False)


def test_a_custom_layer_without_values() -> None:
    pytest.importorskip("torch")
    refuse(lambda t: own_layer(t).load_state_dict({"factor": t.ones(2)}))
    refuse(lambda t: own_layer(t).offset.shape)

    def program(t: Any) -> None:
        trained = own_layer(t)
        trained(t.ones(1, 2))
        trained.load_state_dict(own_layer(t).state_dict())

    refuse(program)
    refuse(lambda t: t.nn.utils.weight_norm(t.nn.LazyLinear(3)))
    refuse(lambda t: t.nn.utils.spectral_norm(t.nn.LazyConv2d(3, 2)))

    class Forgets(LazyModuleMixin):
        def initialize_parameters(self, *args: Any) -> None:
            pass

    layer = Forgets()
    layer.weight = nn.UninitializedParameter()
    raises(RuntimeError, "module Forgets has not been fully initialized", lambda: layer(minigrad.ones(2)))
