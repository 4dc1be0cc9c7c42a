"""Wrappers for one device: the module itself, under PyTorch's names."""

import gc
from collections.abc import Iterator
from typing import Any

import pytest

import minigrad as mg
from minigrad import nn
from minigrad.autograd import observer
from minigrad.nn import parallel
from tests.support.cases import cases, raises
from tests.support.parity import torch

WRAPPERS = [nn.DataParallel, nn.DistributedDataParallel]


@pytest.fixture(autouse=True)
def world() -> Iterator[None]:
    """DistributedDataParallel needs a process group; this one has only this process."""
    before = observer.watch.observers
    mg.distributed.init_process_group()
    yield
    gc.collect()  # a wrapper observes until a backward pass, or until it is deleted
    assert observer.watch.observers == before
    mg.distributed.destroy_process_group()


@cases("wrapper", WRAPPERS)
def test_a_wrapper_is_the_module_with_longer_names(wrapper: Any) -> None:
    layer, x = nn.Linear(3, 2), mg.ones(4, 3)
    wrapped = wrapper(layer)
    assert wrapped.module is layer and list(wrapped.state_dict()) == ["module.weight", "module.bias"]
    assert mg.equal(wrapped(x), layer(x))
    wrapped(x).sum().backward()
    assert layer.weight.grad is not None
    other = wrapper(nn.Linear(3, 2), device_ids=[0], output_device=0, dim=0)
    other.load_state_dict(wrapped.state_dict())
    assert mg.equal(other(input=x), layer(x)) and other.device_ids == [0]
    other.eval()
    assert not other.module.training and wrapper(layer, device_ids=["cuda:1"]).device_ids == [1]
    raises(NotImplementedError, f"{wrapper.__name__} for 2", lambda: wrapper(layer, device_ids=[0, 1]))


def test_reprs_are_pytorchs() -> None:
    assert repr(nn.DataParallel(nn.Linear(2, 2))) == repr(torch.nn.DataParallel(torch.nn.Linear(2, 2)))


def test_functions_of_one_device() -> None:
    layer, x = nn.Linear(3, 2), mg.ones(4, 3)
    assert mg.equal(parallel.data_parallel(layer, x), layer(x))
    assert mg.equal(parallel.data_parallel(layer, (), module_kwargs={"input": x}), layer(x))
    replicas = parallel.replicate(layer, [0])
    inputs = parallel.scatter((x,), [0])
    outputs = parallel.parallel_apply(replicas, inputs, devices=[0])
    assert mg.equal(parallel.gather(outputs, 0), layer(x))
    outputs = parallel.parallel_apply([layer, abs], [x, x], [{}, {}])
    assert mg.equal(outputs[1], x)
    assert parallel.scatter((), [0]) == []
    raises(NotImplementedError, "one device", lambda: parallel.replicate(layer, [0, 1]))
    raises(NotImplementedError, "one device", lambda: parallel.scatter(x, [0, 1]))
    raises(NotImplementedError, "one device", lambda: parallel.gather([x, x], 0))
    raises(NotImplementedError, "one device", lambda: parallel.data_parallel(layer, x, [0, 1]))
    raises(AssertionError, "2 modules, but 1", lambda: parallel.parallel_apply([layer, layer], [x]))


def test_functions_of_the_graph() -> None:
    x = mg.ones(2)
    functions = nn.parallel._functions
    assert functions.Broadcast.apply([0], x) == (x,) and functions.Scatter.apply([0], None, 0, x) == (x,)
    assert functions.ReduceAddCoalesced.apply(0, 1, x) == (x,) and functions.Gather.apply(0, 0, x) is x
    raises(NotImplementedError, None, lambda: functions.Scatter.apply([0, 1], None, 0, x))
