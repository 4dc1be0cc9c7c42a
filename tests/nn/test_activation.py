"""Activations against PyTorch in float64: layers, functions, in-place forms, random slopes, errors."""

from typing import Any

import numpy as np
import pytest

import minigrad
import minigrad.nn.functional as F
from minigrad import nn
from tests.support.both import agree, numbers
from tests.support.cases import cases, pairwise, programs, raises, rng
from tests.support.layer_checks import check_float32, check_row
from tests.support.parity import assert_close, host, ours, theirs, torch
from tests.support.twins import pair

SHAPE = (3, 4, 2, 2)
LAYERS = programs("""
n.ReLU6(); n.SELU(); n.CELU(2.0); n.Mish(); n.Hardtanh(-0.5, 1.5); n.Hardswish(); n.Hardshrink(0.3); n.Softshrink(0.3);
n.Tanhshrink(); n.Threshold(0.1, 20); n.Softsign(); n.Softmin(dim=-1); n.PReLU(); n.PReLU(4, init=0.1);
n.RReLU(0.2, 0.4).eval()
""")


@cases("program", LAYERS)
def test_layers(program: str, device: str) -> None:
    check_row(f"{program} of {SHAPE}", device)
    assert eval(program, {"n": nn}).to(device)(minigrad.zeros(0, 4, 2, device=device)).shape == (0, 4, 2)


def test_softmax2d_and_hardsigmoid(device: str) -> None:
    for shape in (SHAPE, SHAPE[1:]):
        agree(lambda t, x: t.nn.Softmax2d()(x), numbers(*shape), device=device)
    # PyTorch's gradient of Hardsigmoid is 1/6 in float32, even in float64.
    agree(lambda t, x: t.nn.Hardsigmoid()(x), np.array([-4.0, -3, -1, 0, 2, 3, 5]), near=1e-7, device=device)
    check_float32(lambda n: n.Hardsigmoid(), SHAPE, device)


IN_PLACE = programs("""
n.ReLU(i); n.ReLU6(i); n.ELU(0.7, i); n.SELU(i); n.CELU(2.0, i); n.SiLU(i); n.Mish(i); n.Hardtanh(-0.5, 0.5, i);
n.Hardsigmoid(i); n.Hardswish(i); n.Threshold(0.1, 20, i); n.LeakyReLU(0.2, i); n.RReLU(0.1, 0.3, i)
""")


@cases("layer", IN_PLACE)
def test_layers_in_place(layer: str, device: str) -> None:
    make = lambda n, i: eval(layer, {"n": n, "i": i})

    def program(t: Any, x: Any) -> list[Any]:
        t.manual_seed(5)
        y = x * 1
        out = make(t.nn, True)(y)
        return [out, out is y, repr(make(t.nn, True)), repr(make(t.nn, False))]

    agree(program, numbers(4, 5), near=1e-7, device=device)


FUNCTIONS = programs("""
relu_(y); elu_(y, 0.7); selu_(y); celu_(y, 2.0); leaky_relu_(y, 0.2); hardtanh_(y, -0.5, 0.5); threshold_(y, 0.1, 3.0);
rrelu_(y, 0.1, 0.3, True)
""")


@cases("call", FUNCTIONS)
def test_functions_in_place(call: str, device: str) -> None:
    def program(t: Any, x: Any) -> list[Any]:
        t.manual_seed(5)
        y = x.detach()
        return [eval(f"f.{call}", {"f": t.nn.functional, "y": y}) is y, y]

    agree(program, numbers(4, 5), device=device)
    name = call.partition("(")[0]
    assert getattr(F, name).__name__ == name


@cases("dtype, transposed", pairwise([np.float32, np.float64], [False, True]))
def test_random_slopes_are_pytorchs(dtype: Any, transposed: bool, device: str) -> None:
    array = numbers(3, 5, dtype=dtype)
    array[0, 0] = 0

    def program(t: Any, x: Any) -> list[Any]:
        t.manual_seed(3)
        out = t.nn.RReLU(0.2, 0.4)(x.t() if transposed else x)
        return [out, t.rand(1).item()]  # both streams are at the same position

    agree(program, array, near=1e-6, device=device)


def test_prelu_can_begin_again() -> None:
    layer = nn.PReLU(2, init=0.1)
    with minigrad.no_grad():
        layer.weight.fill_(3.0)
    layer.reset_parameters()
    np.testing.assert_allclose(host(layer.weight), 0.1)


def test_integers() -> None:
    x, tx = minigrad.tensor([7, -1]), torch.tensor([7, -1])
    for name, args in {"relu6": (), "hardtanh": (-1, 3), "threshold": (1, 0), "softsign": ()}.items():
        agree(lambda t, x, name=name, args=args: getattr(t.nn.functional, name)(x, *args), np.array([7, -1]), near=1e-6)
    assert F.hardtanh(x, -1.5, 3.5).tolist() == torch.nn.functional.hardtanh(tx, -1.5, 3.5).tolist() == [3, -1]
    raises(RuntimeError, "uint8 and a negative limit", lambda: F.hardtanh(x.to(minigrad.uint8)))
    raises(RuntimeError, "not implemented for bools", lambda: F.hardtanh(x.bool()))


@cases("name", ["hardtanh", "relu6", "hardswish", "hardshrink", "softshrink", "selu", "celu", "mish"])
def test_ends_of_intervals(name: str, device: str) -> None:
    """At a kink the gradient also equals PyTorch's."""
    array = np.array([-3.0, -1, -0.5, -0.0, 0, 0.5, 1, 3, 6])
    agree(lambda t, x: getattr(t.nn.functional, name)(x), array, device=device)


@cases("name", ["gelu", "hardshrink", "logsigmoid", "softplus", "softshrink"])
def test_results_in_memory_of_the_program(name: str, device: str) -> None:
    x, tx = pair(numbers(3, 2), device)
    function, expected = getattr(F, name), getattr(torch.nn.functional, name)(tx)
    for out in (x.new_empty(0), x.new_empty(2, 3).t(), x):
        assert function(x.clone(), out=out) is out
        assert_close(out, expected)
    raises(RuntimeError, "unsupported operation", lambda: function(x, out=x[:1].expand(3, 2)))
    message = r"out=... arguments don't support automatic differentiation"
    raises(RuntimeError, message, lambda: function(x.requires_grad_(), out=x.new_empty(0)))


def test_softmax_without_an_axis_warns_and_takes_pytorchs() -> None:
    for shape, axis in (((3,), 0), ((2, 3), 1), ((2, 3, 4), 0), ((2, 3, 4, 5), 1)):
        x = ours(rng.standard_normal(shape))
        for name in ("softmax", "softmin", "log_softmax"):
            with pytest.warns(UserWarning, match=f"Implicit dimension choice for {name}"):
                actual = getattr(F, name)(x)
            assert_close(actual, getattr(torch.nn.functional, name)(theirs(x), axis))
            assert getattr(F, name)(x, axis, dtype=minigrad.float32).dtype is minigrad.float32


def test_errors() -> None:
    x, one = minigrad.ones(2, 3), minigrad.ones
    raises(RuntimeError, "lambda must not be negative", lambda: F.softshrink(x, -1.0))
    raises(RuntimeError, "alpha cannot be 0", lambda: F.celu(x, 0.0))
    raises(ValueError, "min_val cannot be greater", lambda: F.hardtanh(x, 1.0, -1.0))
    raises(AssertionError, "must be greater than min_val", lambda: nn.Hardtanh(1.0, -1.0))
    raises(RuntimeError, "Lower bound", lambda: F.rrelu(x, 0.5, 0.1))
    raises(ValueError, "got 2D instead", lambda: nn.Softmax2d()(x))
    raises(RuntimeError, "parameter numbers = 2 and channel size = 3", lambda: F.prelu(x, one(2)))
    raises(RuntimeError, "parameter numbers = 3 and channel size = 1", lambda: F.prelu(one(3), one(3)))
    raises(RuntimeError, "scalar or 1D tensor", lambda: F.prelu(x, one(1, 3)))
    raises(RuntimeError, "same dtype", lambda: F.prelu(x, one(3).double()))
    raises(RuntimeError, "channel size = 1", lambda: F.prelu(one(()), one(2)))
