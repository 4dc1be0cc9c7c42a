"""PyTorch's private names that libraries call anyway, against PyTorch; arrays passed by DLPack."""

import gc
import importlib
import time
from functools import partial
from typing import Any

import numpy as np

import minigrad
from minigrad import nn
from minigrad.compat import as_torch
from minigrad.compat.internal import WeakIdKeyDictionary, _DecoratorContextManager, swap_tensor
from minigrad.utils import _pytree
from tests.support.both import agree
from tests.support.cases import cases, raises
from tests.support.expressions import evaluate, split
from tests.support.parity import assert_close, in_torch_words, ours, theirs, torch

X = np.arange(6.0).reshape(2, 3)
CALLS = """
t._C._nn._parse_to() ; t._C._nn._parse_to(t.float64) ; t._C._nn._parse_to("cpu", t.float16, True)
t._C._nn._parse_to(t.ones(1, dtype=t.float64)) ; t._C._nn._parse_to(t.float32, memory_format=t.contiguous_format)[:3]
t._C._nn._parse_to(device=t.device("cpu"), dtype=t.float32, non_blocking=True)
"""


@cases("call", split(CALLS))
def test_the_arguments_of_to(call: str) -> None:
    results, expected = (evaluate(call, t=t) for t in (minigrad, torch))
    assert [in_torch_words(value) for value in results] == list(map(str, expected))


def test_utilities() -> None:
    results = []
    for t in (minigrad, torch):
        utils: Any = importlib.import_module(f"{t.__name__}._utils")
        tensors = [t.tensor(X), t.ones(2, dtype=t.float64)]
        flat = utils._flatten_dense_tensors(tensors)
        back = utils._unflatten_dense_tensors(flat, tensors)
        index = utils._get_device_index("cuda:1"), utils._get_device_index(3)
        raises(ValueError, "Expected a non cpu device", partial(utils._get_device_index, "cpu"))
        raises(ValueError, "with a specified index", partial(utils._get_device_index, "cuda"))
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
    assert dlpack.from_dlpack(dlpack.to_dlpack(tensor)).data_ptr() == tensor.data_ptr()
    raises(BufferError, r"tensor\.detach", lambda: np.from_dlpack(minigrad.ones(2, requires_grad=True)))


def test_dlpack_between_both_libraries() -> None:
    assert minigrad.from_dlpack(torch.tensor(X)).tolist() == X.tolist()
    assert torch.from_dlpack(minigrad.tensor(X)).tolist() == X.tolist()


def test_symbolic_functions_and_assertions() -> None:
    t: Any = minigrad
    assert (t.sym_max(2, 3), t.sym_int(2.5), t.sym_not(False)) == (3, 2, True) and not isinstance(3, t.SymInt)
    t._assert_async(t.tensor(1))
    t._assert(t.ones(1) > 0, "never")
    raises(RuntimeError, "empty", lambda: t._assert_async(t.tensor(0), "empty"))
    raises(AssertionError, "as it was", lambda: t._assert(t.ones(1) < 0, "as it was"))


def test_removing_a_prefix_from_a_state_dict() -> None:
    def program(t: Any) -> Any:
        model = t.nn.Sequential(t.nn.Sequential(t.nn.Linear(1, 1)), t.nn.BatchNorm1d(1))
        state = t.nn.DataParallel(model).state_dict()
        utils = importlib.import_module(f"{t.__name__}.nn.modules.utils")
        utils.consume_prefix_in_state_dict_if_present(state, "module.")
        utils.consume_prefix_in_state_dict_if_present(state, "module.")
        return [list(state), list(state._metadata), list(state) == list(model.state_dict())]

    agree(program, gradient=False)


def test_a_context_that_decorates() -> None:
    events: list[str] = []

    class Noted(_DecoratorContextManager):
        def __enter__(self) -> None:
            events.append("in")

        def __exit__(self, *raised: object) -> None:
            events.append("out")

    @Noted()
    def call(x: int) -> int:
        events.append("call")
        return x + 1

    assert call(1) == 2 and events == ["in", "call", "out"]


def test_swap_tensor() -> None:
    layer: Any = nn.BatchNorm1d(2)
    weight, mean, other = layer.weight, layer.running_mean, minigrad.ones(2) * 3
    assert swap_tensor(layer, "weight", other) is weight and layer.weight is other
    assert swap_tensor(layer, "running_mean", other) is mean
    assert swap_tensor(layer, "new", other, allow_missing=True) is None and layer.new is other
    raises(AttributeError, None, lambda: swap_tensor(layer, "missing", other))


def test_nodes_of_lists_and_names() -> None:
    assert _pytree._list_unflatten(*_pytree._list_flatten([1, 2])) == [1, 2]
    (key, value), _ = _pytree._list_flatten_with_keys([5, 6])[0]
    assert (str(key), key.get([5, 6]), value) == ("[0]", 5, 5)
    assert _pytree.is_structseq_instance(time.localtime()) and not _pytree.is_structseq_instance((1, 2))


def test_paths_that_packages_import_from_torch() -> None:
    with as_torch(replace=True) as t:
        import functorch
        from torch._C._functorch import is_batchedtensor
        from torch.autograd import forward_ad
        from torch.serialization import MAP_LOCATION
        from torch.utils.data._utils.worker import _generate_state

        assert functorch.vmap(t.sin)(t.zeros(2)).tolist() == [0, 0] and MAP_LOCATION
        assert t.torch is t and not is_batchedtensor(t.ones(1))
        assert forward_ad.unpack_dual(t.ones(1)).tangent is None
        seed = int(np.random.SeedSequence([0, 5, 0, 0]).generate_state(4)[0])
        assert int(_generate_state(5, 0)[0]) == seed
        with t.no_grad():
            t.ones(2, requires_grad=True).numpy()


# torch._C and related names --------------------------------------------------------------------------------


def test_the_gradient_of_softmax_under_its_private_name() -> None:
    g, x = np.random.default_rng(0).normal(size=(2, 3, 4))
    slopes = [
        t._softmax_backward_data(make(g), make(x).softmax(1), -1, t.float64)
        for t, make in ((minigrad, ours), (torch, theirs))
    ]
    assert_close(*slopes)


def test_guards_and_annotations() -> None:
    core = minigrad._C
    assert core._get_tracing_state() is None and core._log_api_usage_once("x") is None
    assert core._jit_set_profiling_mode(True) is False and not isinstance(minigrad.ones(1), core.Value)
    raises(NotImplementedError, r"torch\._C\.Graph: programs are not recorded", core.Graph)
    raises(NotImplementedError, r"no torch\._C\._onnx: there is no C\+\+ library", core._onnx)


def test_paths_that_packages_import_from() -> None:
    from minigrad.autograd.profiler import record_function
    from minigrad.random import fork_rng
    from minigrad.utils.hooks import RemovableHandle

    assert record_function is minigrad.profiler.record_function
    assert isinstance(minigrad.nn.Linear(1, 1).register_forward_hook(print), RemovableHandle)
    minigrad.manual_seed(0)
    with fork_rng(devices=[], enabled=True):
        within = minigrad.rand(3)
    assert minigrad.rand(3).tolist() == within.tolist()
    calls: list[int] = []
    minigrad.cuda._lazy_call(lambda: calls.append(1))
    assert calls == [1] * minigrad.cuda.is_available() and minigrad.cuda._initialized is False


# torch._check and related functions --------------------------------------------------------------------


CONDITIONS = [(True,), (False,), (False, lambda: "text"), (1, None), (False, "no function"), (False, lambda: 3)]
TENSORS = [([True, True], "bool"), ([True, False], "bool"), ([], "bool"), ([1, 0], "int64")]


def outcome(function: Any, *arguments: Any) -> tuple[str, str]:
    """The error's class and the first sentence of its text, with PyTorch's module names."""
    try:
        function(*arguments)
    except Exception as error:
        return type(error).__name__, str(error).partition(". ")[0].rstrip(".").replace("minigrad.", "torch.")
    return "", ""


@cases("arguments", CONDITIONS)
def test_check_of_a_condition(arguments: tuple[Any, ...]) -> None:
    assert outcome(minigrad._check, *arguments) == outcome(torch._check, *arguments)
    if len(arguments) == 2:
        arguments = (IndexError, *arguments)
        assert outcome(minigrad._check_with, *arguments) == outcome(torch._check_with, *arguments)


@cases("values, dtype", TENSORS)
def test_check_of_a_tensor(values: list[Any], dtype: str) -> None:
    ours, theirs = (lib.tensor(values, dtype=getattr(lib, dtype)) for lib in (minigrad, torch))
    assert outcome(minigrad._check_tensor_all, ours) == outcome(torch._check_tensor_all, theirs)
    actual = outcome(minigrad._check_tensor_all_with, ValueError, ours, lambda: "text")
    assert actual == outcome(torch._check_tensor_all_with, ValueError, theirs, lambda: "text")
    assert outcome(minigrad._check, ours)[0] == outcome(torch._check, theirs)[0] == "TypeError"
    assert outcome(minigrad._check_tensor_all, True)[0] == outcome(torch._check_tensor_all, True)[0] == "TypeError"


# A one-element index within vmap, as masks use it -----------------------------------------------------


def masks(library: Any) -> list[Any]:
    """A causal mask with padding, batch by query by key, and elements at an index of both kinds."""
    mode = importlib.import_module(f"{library.__name__}._dynamo._trace_wrapped_higher_order_op").TransformGetItemToIndex
    padding = library.tensor([[True, False, True], [True, True, False]])
    x = library.arange(6.0).reshape(2, 3)

    def allowed(batch: Any, query: Any, key: Any) -> Any:
        return padding[batch, key] & (query >= key)

    for dims in ((None, None, 0), (None, 0, None), (0, None, None)):
        allowed = library.vmap(allowed, in_dims=dims)
    rows = library.vmap(library.vmap(lambda i, j: x[i][j] + x[i, 0], in_dims=(None, 0)), in_dims=(0, None))
    with mode():
        two, three = library.arange(2), library.arange(3)
        return [allowed(two, three, three).tolist(), rows(two, three).tolist()]


def test_a_tensor_as_an_index_inside_vmap() -> None:
    assert masks(minigrad) == masks(torch)


# Mappings with weak keys -------------------------------------------------------------------------------


def test_items_disappear_with_their_keys(t: Any) -> None:
    kind: Any = WeakIdKeyDictionary
    if t is not minigrad:
        kind = t.utils.weak.WeakIdKeyDictionary
    first, second = t.ones(2), t.ones(2)
    mapping = kind({first: 1})
    mapping[second] = 2
    mapping[first] += 2
    assert (mapping[first], mapping[second], len(mapping)) == (3, 2, 2) and t.ones(2) not in mapping
    assert {id(key) for key in mapping} == {id(first), id(second)}
    del second, mapping[first]
    gc.collect()
    assert len(mapping) == 0
    raises(KeyError, None, lambda: mapping[first])
