"""functional_call: tensors in every place where a module may have one; afterwards the module is unchanged."""

import itertools
from typing import Any

import pytest

import minigrad
from minigrad import nn
from minigrad.func import functional_call
from tests.support.both import agree, refuse
from tests.support.cases import cases


def model(t: Any) -> Any:
    """A module with a parameter, a tied one, a buffer that each call replaces, a plain tensor, a number, a child."""

    class Net(t.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.inner = t.nn.Linear(2, 2)
            self.inner.weight.data.fill_(0.5)
            self.inner.bias.data.fill_(0.25)
            self.tied = self.inner.bias
            self.register_buffer("count", t.zeros(1))
            self.plain = t.ones(2)
            self.number = 3.0

        def forward(self, x: Any) -> Any:
            self.count = self.count + 1
            extra = self.extra if hasattr(self, "extra") else 0
            return self.inner(x) + self.tied + self.count + self.plain + extra

    return Net()


def state(net: Any) -> list[Any]:
    """The identities of everything that a call may replace."""
    tables = (net.__dict__, net._parameters, net._buffers, net.inner._parameters)
    return [{name: id(value) for name, value in table.items() if name != "count"} for table in tables]


EYE = [[1.0, 0.0], [0.0, 1.0]]
PLACES: list[dict[str, Any]] = [
    {"inner.weight": EYE},
    {"inner.bias": [1.0, 2.0]},  # tied
    {"tied": [1.0, 2.0]},  # under its other name
    {"count": [4.0]},  # a buffer
    {"plain": [5.0, 6.0]},  # a tensor that is an attribute
    {"extra": [7.0]},  # a new name
    {"inner.extra": [7.0]},
    {"inner.bias": None},
    {"inner.weight": EYE, "count": [4.0], "plain": [5.0, 6.0], "extra": [7.0]},
]


@cases("place, leaf", itertools.product(PLACES, [False, True]))
def test_each_place(place: dict[str, Any], leaf: bool) -> None:
    def program(t: Any, x: Any) -> Any:
        net = model(t)
        before = state(net)
        make = (lambda value: t.nn.Parameter(t.tensor(value))) if leaf and "count" not in place else t.tensor
        values = {name: None if value is None else make(value) for name, value in place.items()}
        how = {"tie_weights": False} if place == {"inner.bias": None} else {}
        result = t.func.functional_call(net, values, x, **how)
        assert state(net) == before or (leaf and "plain" in values)  # PyTorch itself leaves a Parameter in the module
        return [result.detach(), net.count, sorted(values), values.get("count", 0), hasattr(net, "extra")]

    agree(program, minigrad.ones(1, 2).numpy(), gradient=False)


def test_a_plain_tensor_replaced_by_a_parameter_is_plain_again() -> None:
    net = model(minigrad)
    before = state(net)
    functional_call(net, {"plain": nn.Parameter(minigrad.ones(2))}, minigrad.ones(1, 2))
    assert state(net) == before


@cases(
    "values",
    [
        {"number": 1},  # replaces a number
        {"inner.weight": "text"},
        {"other.weight": 1},  # a missing module
        {"inner.bias": 1, "tied": 1},  # two tensors for one
    ],
)
def test_refused(values: dict[str, Any]) -> None:
    def program(t: Any) -> None:
        net = model(t)
        before = state(net)
        tensors = {name: t.ones(2) if value == 1 else value for name, value in values.items()}
        try:
            t.func.functional_call(net, tensors, t.ones(1, 2))
        finally:
            assert state(net) == before

    refuse(program)


def test_strict() -> None:
    def program(t: Any, values: Any) -> Any:
        return t.func.functional_call(t.nn.Linear(1, 1), values(t), t.ones(1, 1), strict=True)

    refuse(program, lambda t: {"weight": t.ones(1, 1)})
    refuse(program, lambda t: {"weight": t.ones(1, 1), "bias": t.ones(1), "extra": t.ones(1)})
    with pytest.raises(RuntimeError, match=r"Unexpected key\(s\): 'extra'\.\n\tMissing key\(s\): 'bias'\."):
        program(minigrad, lambda t: {"weight": t.ones(1, 1), "extra": t.ones(1)})


def test_several_dicts() -> None:
    def program(t: Any, *names: str) -> Any:
        values = {"weight": t.ones(1, 1), "bias": t.ones(1)}
        return t.func.functional_call(t.nn.Linear(1, 1), [{name: values[name]} for name in names], t.ones(1, 1))

    agree(program, "weight", "bias")
    refuse(program, "weight", "weight")


def test_an_error_in_forward_leaves_no_trace() -> None:
    def program(t: Any) -> Any:
        net = model(t)
        before = state(net)
        try:
            t.func.functional_call(net, {"extra": t.ones(1), "plain": t.zeros(2)}, t.ones(5, 5))
        finally:
            assert state(net) == before

    refuse(program)
