"""Layers that declare their fields."""

import copy
import inspect
import pickle
from typing import Any

import pytest

import minigrad as mg
from minigrad import nn
from minigrad.nn.layer import FunctionLayer
from tests.support.cases import raises


def scale(input: Any, factor: float, weight: Any = None, *, training: bool = True) -> Any:
    return (input if weight is None else input * weight) * (factor if training else 1.0)


class Base(FunctionLayer, fields=True):
    factor: float
    weight: mg.Tensor | None = None


class Scale(Base, function=scale):
    """It has a field that the function does not take."""

    label: str = "plain"

    def __post_init__(self) -> None:
        if self.factor < 0:
            raise ValueError("negative")


class Keywords(FunctionLayer, function=scale, kw_only=True):
    factor: float = 3.0


class Derived(Scale):
    """Without the decorator: its annotations are not fields."""

    note: int = 7

    def __init__(self) -> None:
        super().__init__(5.0, label="derived")


def test_fields_are_the_arguments_bases_first() -> None:
    parameters = inspect.signature(Scale).parameters.values()
    assert [(p.name, p.default) for p in parameters] == [
        ("factor", inspect.Parameter.empty),
        ("weight", None),
        ("label", "plain"),
    ]
    layer = Scale(2.0, label="x")
    assert (layer.factor, layer.label, layer.weight) == (2.0, "x", None)
    assert repr(layer) == "Scale(factor=2.0, weight=None, label='x')"
    assert not hasattr(Scale, "factor") and not hasattr(Scale, "label")


def test_the_function_gets_what_it_takes() -> None:
    x = mg.ones(2)
    layer = Scale(2.0)
    assert layer(x).tolist() == [2.0, 2.0] and layer(input=x).tolist() == [2.0, 2.0]
    assert layer.eval()(x).tolist() == [1.0, 1.0]
    layer.factor = 4.0
    assert layer.train()(x).tolist() == [4.0, 4.0]


def test_an_error_names_the_layer_and_the_argument() -> None:
    raises(TypeError, r"Scale.__init__\(\): missing a required argument: 'factor'", Scale)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"LeakyReLU.__init__\(\): got an unexpected keyword argument 'slope'"):
        nn.LeakyReLU(slope=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"Keywords.__init__\(\): too many positional arguments"):
        Keywords(2.0)  # type: ignore[misc]
    raises(ValueError, "negative", lambda: Scale(-1.0))


def test_a_subclass_without_the_decorator_is_ordinary() -> None:
    layer = Derived()
    assert (layer.factor, layer.label, layer.note) == (5.0, "derived", 7)
    assert not inspect.signature(Derived).parameters and layer(mg.ones(1)).tolist() == [5.0]


def test_tensors_are_buffers() -> None:
    loss = nn.CrossEntropyLoss(mg.tensor([1.0, 2.0]))
    assert list(loss.state_dict()) == ["weight"] and loss.double().weight.dtype == mg.float64
    assert nn.CrossEntropyLoss().state_dict() == {}


def test_copies_and_pickles() -> None:
    for twin in (copy.deepcopy(nn.LeakyReLU(0.3)), pickle.loads(pickle.dumps(nn.LeakyReLU(0.3)))):
        assert repr(twin) == "LeakyReLU(negative_slope=0.3)"


def test_functions_for_each_number_of_axes_have_different_names() -> None:
    function = nn.functional.max_pool2d
    assert function.__name__ == function.__qualname__ == "max_pool2d"
    assert list(inspect.signature(function).parameters)[:2] == ["input", "kernel_size"]
    assert pickle.loads(pickle.dumps(function)) is function
