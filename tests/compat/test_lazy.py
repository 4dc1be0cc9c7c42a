"""Parameters and buffers whose shape is not known yet, against PyTorch's."""

import copy
import importlib
import pickle
from typing import Any

import minigrad
from minigrad import nn
from tests.support.both import agree, numbers, refuse
from tests.support.cases import raises


def kinds(t: Any) -> Any:
    """``torch.nn.parameter`` of either."""
    return importlib.import_module(f"{t.__name__}.nn.parameter")


def test_they_get_their_shape_later() -> None:
    def program(t: Any, x: Any) -> Any:
        layer = t.nn.Module()
        layer.factor = kinds(t).UninitializedParameter()
        layer.register_buffer("offset", kinds(t).UninitializedBuffer())
        optimizer = t.optim.SGD(layer.parameters(), lr=0.1)
        before = [repr(layer.factor), repr(layer.offset), str(layer.factor.dtype)[-7:], kinds(t).is_lazy(layer.factor)]
        with t.no_grad():
            layer.factor.materialize(x.shape[-1:], dtype=t.float64)
            layer.factor.fill_(2.0)
            layer.offset.materialize((1,))
            layer.offset.fill_(3.0)
        (x * layer.factor + layer.offset).sum().backward()
        optimizer.step()
        names = [type(each).__name__ for each in (layer.factor, layer.offset)]
        return [*before, layer.factor.detach(), layer.offset, *names]

    agree(program, numbers(2, 3), gradient=False)


def test_they_are_pickled_and_copied() -> None:
    def program(t: Any) -> Any:
        parameter = kinds(t).UninitializedParameter(dtype=t.float64)
        again, copied = pickle.loads(pickle.dumps(parameter)), copy.deepcopy(parameter)
        again.materialize((2,))
        return [kinds(t).is_lazy(again), tuple(again.shape), kinds(t).is_lazy(copied)]

    agree(program, gradient=False)


def test_what_has_no_shape_says_so() -> None:
    refuse(lambda t: kinds(t).UninitializedBuffer().shape)
    parameter = nn.UninitializedParameter()
    for ask in (lambda: parameter.shape, parameter.numel):
        raises(RuntimeError, "Can't access the shape of an uninitialized parameter", ask)
    assert repr(parameter) == "<UninitializedParameter>"

    def program(t: Any) -> None:
        layer = t.nn.Linear(2, 3)
        layer.weight = kinds(t).UninitializedParameter()
        t.nn.utils.weight_norm(layer)

    refuse(program)


def test_layers_that_wait_for_their_input_are_refused() -> None:
    raises(NotImplementedError, "give the width of the input", lambda: minigrad.nn.LazyLinear(3))
