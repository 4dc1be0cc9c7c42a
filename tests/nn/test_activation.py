"""Activations against PyTorch in float64: layers, functions, in place, random slopes, errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad
import minigrad.nn.functional as F
from minigrad import nn
from tests.support.cases import cases, raises, rng
from tests.support.layer_checks import check_first_numbers, check_float32, check_layer
from tests.support.parity import assert_close, host, ours, theirs, torch
from tests.support.twins import pair

LAYERS: dict[str, Callable[[Any], Any]] = {
    "ReLU6": lambda n: n.ReLU6(),
    "SELU": lambda n: n.SELU(),
    "CELU": lambda n: n.CELU(2.0),
    "Mish": lambda n: n.Mish(),
    "Hardtanh": lambda n: n.Hardtanh(-0.5, 1.5),
    "Hardswish": lambda n: n.Hardswish(),
    "Hardshrink": lambda n: n.Hardshrink(0.3),
    "Softshrink": lambda n: n.Softshrink(0.3),
    "Tanhshrink": lambda n: n.Tanhshrink(),
    "Threshold": lambda n: n.Threshold(0.1, 20),
    "Softsign": lambda n: n.Softsign(),
    "Softmin": lambda n: n.Softmin(dim=-1),
    "PReLU": lambda n: n.PReLU(),
    "PReLU of channels": lambda n: n.PReLU(4, init=0.1),
    "RReLU": lambda n: n.RReLU(0.2, 0.4).eval(),
}
SHAPE = (3, 4, 2, 2)


@cases("name", LAYERS)
def test_layer(name: str, device: str) -> None:
    check_layer(LAYERS[name], SHAPE, device)


@cases("name", [*LAYERS, "Hardsigmoid"])
def test_layers_keep_float32(name: str, device: str) -> None:
    check_float32(LAYERS.get(name, lambda n: n.Hardsigmoid()), SHAPE, device)


@cases("name", LAYERS)
def test_nothing_in_nothing_out(name: str, device: str) -> None:
    x = minigrad.zeros(0, 4, 2, dtype=minigrad.float32, device=device)
    assert LAYERS[name](nn).to(device)(x).shape == (0, 4, 2)


@cases("shape", [(3, 4, 2, 2), (4, 2, 2)])
def test_softmax2d(shape: tuple[int, ...], device: str) -> None:
    x, tx = pair(rng.standard_normal(shape), device, True)
    out, expected = nn.Softmax2d()(x), torch.nn.Softmax2d()(tx)
    assert_close(out, expected)
    (out * out).sum().backward()
    (expected * expected).sum().backward()
    assert_close(x.grad, tx.grad)


def test_hardsigmoid(device: str) -> None:
    """PyTorch's own gradient is 1/6 in float32, in float64 too."""
    x, tx = pair(np.array([-4.0, -3, -1, 0, 2, 3, 5, np.nan]), device, True)
    out, expected = nn.Hardsigmoid()(x), torch.nn.Hardsigmoid()(tx)
    assert_close(out, expected)
    out.sum().backward()
    expected.sum().backward()
    assert_close(x.grad, tx.grad, 1e-7)


MAKERS: dict[str, Callable[[Any, bool], Any]] = {
    "ReLU": lambda n, i: n.ReLU(i),
    "ReLU6": lambda n, i: n.ReLU6(i),
    "ELU": lambda n, i: n.ELU(0.7, i),
    "SELU": lambda n, i: n.SELU(i),
    "CELU": lambda n, i: n.CELU(2.0, i),
    "SiLU": lambda n, i: n.SiLU(i),
    "Mish": lambda n, i: n.Mish(i),
    "Hardtanh": lambda n, i: n.Hardtanh(-0.5, 0.5, i),
    "Hardsigmoid": lambda n, i: n.Hardsigmoid(i),
    "Hardswish": lambda n, i: n.Hardswish(i),
    "Threshold": lambda n, i: n.Threshold(0.1, 20, i),
    "LeakyReLU": lambda n, i: n.LeakyReLU(0.2, i),
    "RReLU": lambda n, i: n.RReLU(0.1, 0.3, i),
}


@cases("name", MAKERS)
def test_in_place_layers(name: str, device: str) -> None:
    mine, other = MAKERS[name](nn, True), MAKERS[name](torch.nn, True)
    assert repr(mine) == repr(other)
    assert repr(MAKERS[name](nn, False)) == repr(MAKERS[name](torch.nn, False))
    minigrad.manual_seed(5)
    torch.manual_seed(5)
    x, tx = pair(rng.standard_normal((4, 5)), device, True)
    y, ty = x * 1, tx * 1
    out, expected = mine(y), other(ty)
    assert out is y
    assert_close(y, ty)
    (out * out).sum().backward()
    (expected * expected).sum().backward()
    assert_close(x.grad, tx.grad, 1e-7 if name == "Hardsigmoid" else 1e-10)


FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "relu_": (),
    "elu_": (0.7,),
    "selu_": (),
    "celu_": (2.0,),
    "leaky_relu_": (0.2,),
    "hardtanh_": (-0.5, 0.5),
    "threshold_": (0.1, 3.0),
    "rrelu_": (0.1, 0.3, True),
}


@cases("name", FUNCTIONS)
def test_in_place_functions(name: str, device: str) -> None:
    x, tx = pair(rng.standard_normal((4, 5)), device)
    minigrad.manual_seed(5)
    torch.manual_seed(5)
    out = getattr(F, name)(x, *FUNCTIONS[name])
    getattr(torch.nn.functional, name)(tx, *FUNCTIONS[name])
    assert out is x
    assert getattr(F, name).__name__ == name
    assert_close(x, tx)


@cases("dtype", [np.float32, np.float64])
@cases("transposed", [False, True])
def test_random_slopes_are_pytorchs(dtype: Any, transposed: bool, device: str) -> None:
    array = rng.standard_normal((3, 5)).astype(dtype)
    array[0, 0] = 0
    x, tx = pair(array, device, True)
    minigrad.manual_seed(3)
    torch.manual_seed(3)
    mine, other = nn.RReLU(0.2, 0.4), torch.nn.RReLU(0.2, 0.4)
    out, expected = (mine(x.t()), other(tx.t())) if transposed else (mine(x), other(tx))
    assert_close(out, expected, 1e-6)
    g, tg = pair(rng.standard_normal(expected.shape).astype(dtype), device)
    out.backward(g)
    expected.backward(tg)
    assert_close(x.grad, tx.grad, 1e-6)
    assert minigrad.rand(1).item() == torch.rand(1).item()  # both streams are at the same place


def test_first_numbers() -> None:
    check_first_numbers(lambda n: n.PReLU(3, 0.1))


def test_prelu_can_begin_again() -> None:
    layer = nn.PReLU(2, init=0.1)
    with minigrad.no_grad():
        layer.weight.fill_(3.0)
    layer.reset_parameters()
    np.testing.assert_allclose(host(layer.weight), 0.1)


def test_integers() -> None:
    x, tx = minigrad.tensor([7, -1]), torch.tensor([7, -1])
    for name, args in {"relu6": (), "hardtanh": (-1, 3), "threshold": (1, 0), "softsign": ()}.items():
        found, expected = getattr(F, name)(x, *args), getattr(torch.nn.functional, name)(tx, *args)
        assert_close(found, expected, 1e-6)
        assert str(found.dtype).rpartition(".")[2] == str(expected.dtype).rpartition(".")[2]
    assert F.hardtanh(x, -1.5, 3.5).tolist() == torch.nn.functional.hardtanh(tx, -1.5, 3.5).tolist() == [3, -1]
    for dtype, text in ((minigrad.uint8, "uint8 and a negative limit"), (minigrad.bool, "not provided for bools")):
        with pytest.raises(RuntimeError, match=text):
            F.hardtanh(x.to(dtype))


def test_ends_of_intervals(device: str) -> None:
    """At a kink PyTorch's gradient, too."""
    array = np.array([-3.0, -1, -0.5, -0.0, 0, 0.5, 1, 3, 6])
    for name in ("hardtanh", "relu6", "hardswish", "hardshrink", "softshrink", "selu", "celu", "mish"):
        x, tx = pair(array, device, True)
        out, expected = getattr(F, name)(x), getattr(torch.nn.functional, name)(tx)
        assert_close(out, expected)
        out.sum().backward()
        expected.sum().backward()
        assert_close(x.grad, tx.grad, what=name)


@cases("name", ["gelu", "hardshrink", "logsigmoid", "softplus", "softshrink"])
def test_results_in_memory_of_the_program(name: str, device: str) -> None:
    x, tx = pair(rng.standard_normal((3, 2)), device)
    function, expected = getattr(F, name), getattr(torch.nn.functional, name)(tx)
    for out in (x.new_empty(0), x.new_empty(2, 3).t(), x):
        assert function(x.clone(), out=out) is out
        assert_close(out, expected)
    raises(RuntimeError, "unsupported operation", lambda: function(x, out=x[:1].expand(3, 2)))
    with pytest.raises(RuntimeError, match=r"out=... arguments don't support automatic differentiation"):
        function(x.requires_grad_(), out=x.new_empty(0))


def test_old_keywords_of_hardtanh() -> None:
    with pytest.warns(FutureWarning, match="use `min_val`"):
        layer = nn.Hardtanh(min_value=-2.0)
    assert (layer.min_val, layer.max_val) == (-2.0, 1.0)


def test_softmax_without_an_axis_warns_and_takes_pytorchs() -> None:
    for shape, axis in (((3,), 0), ((2, 3), 1), ((2, 3, 4), 0), ((2, 3, 4, 5), 1)):
        x = ours(rng.standard_normal(shape))
        for name in ("softmax", "softmin", "log_softmax"):
            with pytest.warns(UserWarning, match=f"Implicit dimension choice for {name}"):
                found = getattr(F, name)(x)
            assert_close(found, getattr(torch.nn.functional, name)(theirs(x), axis))
            assert getattr(F, name)(x, axis, dtype=minigrad.float32).dtype is minigrad.float32


def test_errors() -> None:
    x = minigrad.ones(2, 3)
    raises(RuntimeError, "lambda must not be negative", lambda: F.softshrink(x, -1.0))
    raises(RuntimeError, "alpha cannot be 0", lambda: F.celu(x, 0.0))
    raises(ValueError, "min_val cannot be greater", lambda: F.hardtanh(x, 1.0, -1.0))
    raises(AssertionError, "must be greater than min_val", lambda: nn.Hardtanh(1.0, -1.0))
    raises(RuntimeError, "Lower bound", lambda: F.rrelu(x, 0.5, 0.1))
    raises(ValueError, "got 2D instead", lambda: nn.Softmax2d()(x))
    raises(RuntimeError, "parameter numbers = 2 and channel size = 3", lambda: F.prelu(x, minigrad.ones(2)))
    with pytest.raises(RuntimeError, match="parameter numbers = 3 and channel size = 1"):
        F.prelu(minigrad.ones(3), minigrad.ones(3))
    raises(RuntimeError, "scalar or 1D tensor", lambda: F.prelu(x, minigrad.ones(1, 3)))
    raises(RuntimeError, "same dtype", lambda: F.prelu(x, minigrad.ones(3, dtype=minigrad.float64)))
    raises(RuntimeError, "channel size = 1", lambda: F.prelu(minigrad.ones(()), minigrad.ones(2)))
