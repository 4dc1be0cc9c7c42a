"""State dicts: names, sharing, loading, and errors that change nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad import nn

from .test_module import Net, Tied


def test_names_and_memory() -> None:
    net = Net()
    state = net.state_dict()
    assert list(state) == ["scale", "first.weight", "first.bias", "second.weight"]
    assert not any(v.requires_grad for v in state.values())
    assert net.state_dict(keep_vars=True)["first.weight"] is net.first.weight
    assert list(net.state_dict(prefix="net.")) == ["net." + name for name in state]
    state["first.bias"][0] = 7
    assert net.first.bias[0].item() == 7


def test_a_tied_weight_has_each_of_its_names() -> None:
    state = Tied().state_dict()
    assert list(state) == ["embedding.weight", "head.weight"]
    assert state["embedding.weight"].data_ptr() == state["head.weight"].data_ptr()


def test_round_trip() -> None:
    a, b = Net(), Net()
    result = b.load_state_dict(a.state_dict())
    assert repr(result) == "<All keys matched successfully>"
    for name, value in a.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), b.state_dict()[name].numpy())


def test_loading_keeps_parameters_dtype_and_device(device: str) -> None:
    net = Net().to(device)
    weight = net.first.weight
    net.load_state_dict({name: value.double().cpu() for name, value in Net().state_dict().items()})
    assert net.first.weight is weight
    assert weight.dtype is minigrad.float32 and weight.device.type == device


def test_errors_name_everything_and_change_nothing() -> None:
    net, state = Net(), Net().state_dict()
    del state["first.bias"]
    state["first.weight"] = minigrad.zeros(4, 5)
    state["third"] = minigrad.zeros(1)
    state["fourth"] = minigrad.zeros(1)
    before = {name: value.clone() for name, value in net.state_dict().items()}
    with pytest.raises(RuntimeError) as caught:
        net.load_state_dict(state)
    assert str(caught.value) == (
        "Error(s) in loading state_dict for Net:\n"
        '\tMissing key(s) in state_dict: "first.bias". \n'
        '\tUnexpected key(s) in state_dict: "third", "fourth". \n'
        "\tsize mismatch for first.weight: copying a param with shape [4, 5] from checkpoint, the shape in "
        "current model is [4, 3]."
    )
    for name, value in net.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), before[name].numpy())


def test_not_strict() -> None:
    net, state = Net(), Net().state_dict()
    del state["first.bias"]
    state["third"] = minigrad.zeros(1)
    assert net.load_state_dict(state, strict=False) == (["first.bias"], ["third"])
    np.testing.assert_array_equal(net.first.weight.detach().numpy(), state["first.weight"].numpy())
    state["first.weight"] = minigrad.zeros(1)
    with pytest.raises(RuntimeError, match="size mismatch"):
        net.load_state_dict(state, strict=False)


def test_values_of_another_type() -> None:
    state: dict[str, Any] = dict(Net().state_dict())
    state["scale"] = [1.0, 1.0]
    with pytest.raises(RuntimeError, match='the parameter named "scale", expected a Tensor'):
        Net().load_state_dict(state)
    with pytest.raises(TypeError, match="dict-like"):
        Net().load_state_dict([])  # type: ignore[arg-type]


def test_assign_takes_the_tensors_and_keeps_ties() -> None:
    net = Tied()
    net.head.weight.requires_grad_(False)
    state = {name: value.double() for name, value in Tied().state_dict().items()}
    net.load_state_dict(state, assign=True)
    assert net.head.weight is net.embedding.weight
    assert net.head.weight.dtype is minigrad.float64 and not net.head.weight.requires_grad
    assert isinstance(net.head.weight, nn.Parameter)


def test_loading_is_seen_by_graphs_recorded_before() -> None:
    net = nn.Linear(2, 2)
    loss = net(minigrad.ones(1, 2, requires_grad=True)).sum()
    net.load_state_dict(nn.Linear(2, 2).state_dict())
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_an_overridden_state_dict_of_a_submodule_is_used() -> None:
    class Quiet(nn.Linear):
        def state_dict(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
            destination: dict[str, Any] = kwargs["destination"]
            destination[kwargs["prefix"] + "mark"] = minigrad.ones(1)
            return destination

    assert list(nn.Sequential(Quiet(1, 1)).state_dict()) == ["0.mark"]
