"""What libraries call of PyTorch's inner functions, against PyTorch's; arrays by DLPack."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad
from tests.support.both import agree, refuse
from tests.support.cases import cases, raises
from tests.support.parity import torch

X = np.arange(6.0).reshape(2, 3)
CALLS: dict[str, Callable[[Any], Any]] = {
    "nothing": lambda t: t._C._nn._parse_to(),
    "a dtype": lambda t: t._C._nn._parse_to(t.float64),
    "a device": lambda t: t._C._nn._parse_to("cpu", t.float16, True),
    "a tensor": lambda t: t._C._nn._parse_to(t.ones(1, dtype=t.float64)),
    "by name": lambda t: t._C._nn._parse_to(device=t.device("cpu"), dtype=t.float32, non_blocking=True),
    "a memory format": lambda t: t._C._nn._parse_to(t.float32, memory_format=t.contiguous_format)[:3],
}


@cases("name", CALLS)
def test_the_arguments_of_to(name: str) -> None:
    results, expected = (CALLS[name](t) for t in (minigrad, torch))
    assert [str(value).replace("minigrad.", "torch.") for value in results] == list(map(str, expected))


def test_utilities() -> None:
    results = []
    for t in (minigrad, torch):
        utils: Any = importlib.import_module(f"{t.__name__}._utils")
        tensors = [t.tensor(X), t.ones(2, dtype=t.float64)]
        flat = utils._flatten_dense_tensors(tensors)
        back = utils._unflatten_dense_tensors(flat, tensors)
        index = utils._get_device_index("cuda:1"), utils._get_device_index(3)
        with pytest.raises(ValueError, match="Expected a non cpu device"):
            utils._get_device_index("cpu")
        with pytest.raises(ValueError, match="with a specified index"):
            utils._get_device_index("cuda")
        cpu = utils._get_device_index(t.device("cpu"), allow_cpu=True)
        results.append([flat.tolist(), [b.tolist() for b in back], index, cpu, utils._element_size(t.float64)])
        assert utils._get_device_module("cuda") is t.cuda and t.get_device_module("cuda:0") is t.cuda
        shape = t._shape_as_tensor(tensors[0])
        assert (shape.tolist(), str(shape.dtype).rpartition(".")[2]) == ([2, 3], "int64")
    assert results[0] == results[1]


def test_dlpack() -> None:
    array = np.arange(3.0)
    tensor: Any = minigrad.from_dlpack(array)
    tensor[0] = 7
    assert array[0] == 7 and minigrad.from_dlpack(array, copy=True).data_ptr() != tensor.data_ptr()
    assert np.from_dlpack(tensor).tolist() == [7, 1, 2]
    dlpack: Any = importlib.import_module("minigrad.utils.dlpack")
    again = dlpack.from_dlpack(dlpack.to_dlpack(tensor))
    assert again.data_ptr() == tensor.data_ptr()
    raises(BufferError, r"tensor\.detach", lambda: np.from_dlpack(minigrad.ones(2, requires_grad=True)))


def test_dlpack_between_both_libraries() -> None:
    assert minigrad.from_dlpack(torch.tensor(X)).tolist() == X.tolist()
    assert torch.from_dlpack(minigrad.tensor(X)).tolist() == X.tolist()


def test_nothing_is_a_script() -> None:
    jit: Any = minigrad.jit
    module = minigrad.nn.Linear(1, 1)
    assert not isinstance(module, jit.ScriptModule)
    assert not isinstance(jit.script(test_dlpack), jit.ScriptFunction)
    assert issubclass(jit.TracerWarning, Warning) and not issubclass(UserWarning, jit.TracerWarning)


def test_a_layer_that_is_lazy_is_known() -> None:
    parameter: Any = minigrad.nn.parameter
    assert parameter.is_lazy(minigrad.nn.LazyLinear(2).weight)
    assert not parameter.is_lazy(minigrad.nn.Linear(2, 2).weight)
    assert not isinstance(minigrad.nn.Linear(2, 2).weight, parameter.UninitializedParameter)


def test_numbers_in_place_of_symbols() -> None:
    t: Any = minigrad
    assert (t.sym_max(2, 3), t.sym_int(2.5), t.sym_not(False)) == (3, 2, True) and not isinstance(3, t.SymInt)
    t._assert_async(t.tensor(1))
    raises(RuntimeError, "empty", lambda: t._assert_async(t.tensor(0), "empty"))


def test_a_prefix_is_taken_from_a_state_dict() -> None:
    def program(t: Any) -> Any:
        model = t.nn.Sequential(t.nn.Sequential(t.nn.Linear(1, 1)), t.nn.BatchNorm1d(1))
        state = t.nn.DataParallel(model).state_dict()
        utils = importlib.import_module(f"{t.__name__}.nn.modules.utils")
        utils.consume_prefix_in_state_dict_if_present(state, "module.")
        utils.consume_prefix_in_state_dict_if_present(state, "module.")
        return [list(state), list(state._metadata), list(state) == list(model.state_dict())]

    agree(program, gradient=False)


def test_numbers_of_reductions() -> None:
    def program(t: Any, name: str) -> Any:
        reduction = importlib.import_module(f"{t.__name__}.nn._reduction")
        legacy = [reduction.legacy_get_string(a, b, False) for a in (True, False, None) for b in (True, False, None)]
        return [reduction.get_enum(name), reduction.legacy_get_enum(False, None, False), *legacy]

    for name in ("none", "mean", "sum"):
        agree(program, name, gradient=False)
    refuse(program, "other")
