"""State dicts: names, sharing, loading, and errors that change nothing."""

from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad import nn
from tests.support.both import alike, outcome
from tests.support.cases import raises

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
    tied = Tied().state_dict()
    assert list(tied) == ["embedding.weight", "head.weight"]
    assert tied["embedding.weight"].data_ptr() == tied["head.weight"].data_ptr()


def test_loading_keeps_parameters_dtype_and_device(device: str) -> None:
    net = Net().to(device)
    weight = net.first.weight
    state = {name: value.double().cpu() for name, value in Net().state_dict().items()}
    assert repr(net.load_state_dict(state)) == "<All keys matched successfully>"
    for name, value in net.state_dict().items():
        np.testing.assert_array_equal(value.numpy(force=True), state[name].numpy())
    assert net.first.weight is weight
    assert weight.dtype is minigrad.float32 and weight.device.type == device


def test_errors_name_everything_and_change_nothing() -> None:
    net, state = Net(), Net().state_dict()
    del state["first.bias"]
    state["first.weight"] = minigrad.zeros(4, 5)
    state["third"] = minigrad.zeros(1)
    state["fourth"] = minigrad.zeros(1)
    before = {name: value.clone() for name, value in net.state_dict().items()}
    with pytest.raises(RuntimeError) as error:
        net.load_state_dict(state)
    assert str(error.value) == (
        "Error(s) in loading state_dict for Net:\n"
        '\tMissing key(s) in state_dict: "first.bias". \n'
        '\tUnexpected key(s) in state_dict: "third", "fourth". \n'
        f"\tsize mismatch for first.weight: copying a param with shape {minigrad.Size([4, 5])} from "
        f"checkpoint, the shape in current model is {minigrad.Size([4, 3])}."
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
    raises(RuntimeError, "size mismatch", lambda: net.load_state_dict(state, strict=False))


def test_assign_takes_the_tensors_and_keeps_ties() -> None:
    net = Tied()
    net.head.weight.requires_grad_(False)
    state = {name: value.double() for name, value in Tied().state_dict().items()}
    net.load_state_dict(state, assign=True)
    assert net.head.weight is net.embedding.weight
    assert net.head.weight.dtype is minigrad.float64 and not net.head.weight.requires_grad
    assert isinstance(net.head.weight, nn.Parameter)


def test_earlier_graphs_notice_loading() -> None:
    net = nn.Linear(2, 2)
    loss = net(minigrad.ones(1, 2, requires_grad=True)).sum()
    net.load_state_dict(nn.Linear(2, 2).state_dict())
    raises(RuntimeError, "modified by an inplace operation", loss.backward)


def layer(library: Any) -> Any:
    module = library.nn.Sequential(library.nn.Linear(2, 2), library.nn.Linear(2, 1))
    for i, parameter in enumerate(module.parameters()):
        parameter.data.fill_(i)
    return module


def listed(module: Any) -> dict[str, Any]:
    return {name: value.tolist() for name, value in module.state_dict().items()}


@alike
def test_metadata_contains_the_versions(library: Any) -> Any:
    class Second(library.nn.Module):  # type: ignore[misc, name-defined]
        _version = 3

        def _load_from_state_dict(self, state_dict: Any, prefix: str, metadata: Any, *rest: Any) -> None:
            calls.append((prefix, metadata.get("version")))
            super()._load_from_state_dict(state_dict, prefix, metadata, *rest)

    calls: list[Any] = []
    net = library.nn.Module()
    net.inner = Second()
    state = net.state_dict()
    net.load_state_dict(state)
    net.load_state_dict(dict(state))
    return [type(state).__name__, state._metadata, calls]


@alike
def test_errors_have_pytorchs_words(t: Any) -> Any:
    net, state = layer(t), layer(t).state_dict()
    state["0.weight"] = t.zeros(3, 2)
    del state["1.bias"]
    state["2.bias"] = state["0.more"] = state["0.bias"]
    loads = (lambda: net.load_state_dict(state), lambda: net.load_state_dict(state, strict=False))
    return [outcome(load) for load in (*loads, lambda: net.load_state_dict([]))]


@alike
def test_a_module_that_loads_itself(library: Any) -> Any:
    """An override may rename keys; its values are loaded when super() returns."""

    class Renamed(library.nn.Linear):  # type: ignore[misc, name-defined]
        def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
            state_dict[prefix + "weight"] = state_dict.pop(prefix + "kernel")
            super()._load_from_state_dict(state_dict, prefix, *rest)
            calls.append(self.weight.tolist())

        def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
            super()._save_to_state_dict(destination, prefix, keep_vars)
            destination[prefix + "kernel"] = destination.pop(prefix + "weight")

    calls: list[Any] = []
    net = library.nn.Sequential(Renamed(2, 2), library.nn.Linear(2, 1))
    state = {name: library.full_like(value, 3) for name, value in net.state_dict().items()}
    result = net.load_state_dict(state)
    return [list(state), listed(net), list(result.missing_keys), list(result.unexpected_keys), calls]


@alike
def test_methods_that_a_subclass_replaces(library: Any) -> Any:
    class Own(library.nn.Linear):  # type: ignore[misc, name-defined]
        def state_dict(self, *args: Any, **kwargs: Any) -> Any:
            state = super().state_dict(*args, **kwargs)
            state.pop(kwargs.get("prefix", "") + "bias")
            return state

        def load_state_dict(self, state_dict: Any, *args: Any, **kwargs: Any) -> Any:
            return super().load_state_dict({**state_dict, "bias": library.ones(2)}, *args, **kwargs)

    own = Own(2, 2)
    result = own.load_state_dict({"weight": library.zeros(2, 2)})
    return [list(library.nn.Sequential(own).state_dict()), str(result), listed(own)]


@alike
def test_extra_state(library: Any) -> Any:
    class Counting(library.nn.Linear):  # type: ignore[misc, name-defined]
        count = 0

        def get_extra_state(self) -> Any:
            return {"count": self.count}

        def set_extra_state(self, state: Any) -> None:
            self.count = state["count"]

    a, b = (library.nn.Sequential(Counting(1, 1)) for _ in range(2))
    a[0].count = 7
    b.load_state_dict(a.state_dict())
    plain = library.nn.Sequential(library.nn.Linear(1, 1))
    return [
        list(a.state_dict()),
        b[0].count,
        outcome(lambda: plain.load_state_dict(a.state_dict())),
        outcome(lambda: b.load_state_dict(plain.state_dict())),
    ]


@alike
def test_hooks_of_state_dicts(library: Any) -> Any:
    net, calls = layer(library), []
    net[0].register_state_dict_pre_hook(lambda m, prefix, keep: calls.append(f"before {prefix} {keep}"))
    net[0].register_state_dict_post_hook(lambda m, state, prefix, meta: state.update({prefix + "x": 0}))
    net._register_state_dict_hook(lambda m, state, prefix, meta: {**state, "more": 1})
    state = net.state_dict()
    calls.append(list(state))
    net.load_state_dict(layer(library).state_dict())

    def before(*passed: Any) -> None:
        state_dict, prefix, _, strict, missing, unexpected, errors = passed[-7:]
        calls.append((len(passed), prefix, strict, list(missing), list(unexpected), list(errors)))
        state_dict[prefix + "bias"] = library.zeros(2)

    handle = net[0].register_load_state_dict_pre_hook(before)
    net[0]._register_load_state_dict_pre_hook(before)

    def after(module: Any, keys: Any) -> None:
        calls.append((module.weight.tolist(), list(keys.missing_keys), list(keys.unexpected_keys)))
        keys.unexpected_keys.clear()

    net.register_load_state_dict_post_hook(lambda m, keys: keys.unexpected_keys.clear())
    net[0].register_load_state_dict_post_hook(after)
    calls.append(str(net.load_state_dict(state)))
    handle.remove()
    net[1].register_load_state_dict_post_hook(lambda m, keys: 3)
    calls.append(outcome(lambda: net.load_state_dict(state)).split(":")[0])
    net[1].register_state_dict_post_hook(lambda m, state, prefix, meta: {})
    calls.append(outcome(net.state_dict))
    return [calls, listed(layer(library))]


@alike
def test_a_number_saved_with_an_axis(library: Any) -> Any:
    net = library.nn.Module()
    net.register_buffer("count", library.tensor(0))
    net.load_state_dict({"count": library.tensor([4])})
    return [net.count.tolist()]


def test_nothing_is_copied_where_a_later_module_does_not_fit() -> None:
    net = layer(minigrad)
    before = listed(net)
    state = {name: value + 1 for name, value in net.state_dict().items()}
    state["1.bias"] = minigrad.ones(5)
    raises(RuntimeError, r"size mismatch for 1\.bias", lambda: net.load_state_dict(state))
    assert listed(net) == before
