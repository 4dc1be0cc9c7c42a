"""The device "meta": shapes, strides and dtypes without elements, as in PyTorch."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn
from minigrad.compat.ops.registry import REGISTRY
from tests.ops.cases import CASES, Case
from tests.support.cases import cases, raises

HUGE = 10**7  # a square matrix of this size would take 400 TB
NO_DATA = "Cannot copy out of meta tensor; no data!"
LOOK_AT_VALUES = {"getitem", "ldl_solve", "linear_cross_entropy", "lu_factor", "moved", "repeat_interleave"}


def _described(result: Any) -> Any:
    """Shapes and dtypes of tensors."""
    return [*map(_described, result)] if isinstance(result, (tuple, list)) else (tuple(result.shape), result.dtype)


def _run(case: Case, device: str) -> Any:
    """The shapes and dtypes of a case's result and gradients on a device."""
    inputs = [mg.tensor(array, device=device) for array in case.arrays()]
    leaves = [x.requires_grad_() for x in inputs if x.is_floating_point() and REGISTRY[case.op].rules]
    out = case.ours(mg, *inputs)
    parts = out if isinstance(out, (tuple, list)) else [out]
    loss = sum((part.abs().sum() for part in parts if part.requires_grad), mg.zeros((), device=device))
    if loss.requires_grad:
        loss.backward()
    return _described(out), [None if x.grad is None else tuple(x.grad.shape) for x in leaves]


@cases("case", CASES)
def test_every_op_describes_the_result_of_the_cpu_or_says_that_it_needs_values(case: Case) -> None:
    """The op's rules do the same for the gradients."""
    try:
        result = _run(case, "meta")
    except (NotImplementedError, RuntimeError) as error:
        assert case.op in LOOK_AT_VALUES
        assert any(words in str(error) for words in ("no data", "meta tensors"))
    else:
        assert result == _run(case, "cpu")


def test_tensors_without_elements_take_no_memory() -> None:
    """A matrix of 400 TB: views, arithmetic, reductions, products, sorting."""
    h = mg.empty(HUGE, HUGE, device="meta")
    half = 2 * HUGE
    shapes = {
        (HUGE, HUGE): [h @ h, h + h[0], h.softmax(-1), h.sort()[0], mg.where(h > 0, h, 0.0), h.cumsum(0), h.half()],
        (HUGE,): [h.sum(0), h.argmax(1), h.mean(-1), h[3], h.diagonal()],
        (HUGE, 5): [h.topk(5)[0], h[:, :5]],
        (HUGE, half): [mg.cat([h, h], 1)],
        (2, HUGE, HUGE): [mg.stack([h, h])],
        (HUGE * HUGE,): [h.view(-1)],
        (): [h.mean(), h.norm()],
    }
    for shape, results in shapes.items():
        assert [(r.shape, r.device.type) for r in results] == [(shape, "meta")] * len(results)
    assert h.t().stride() == (1, HUGE)
    assert (h.t() * 2).stride() == (1, HUGE)
    assert h[1:].storage_offset() == HUGE
    assert not h.t().is_contiguous()


def test_a_model_is_created_and_run_without_memory() -> None:
    """Its initialisation draws no random numbers."""
    before = mg.get_rng_state()
    with mg.device("meta"):
        layer = nn.TransformerEncoderLayer(8 * 1024, 16, 32 * 1024, batch_first=True)
        x = mg.randn(64, 512, 8 * 1024)
        embedding = nn.Embedding(HUGE, HUGE)
        lstm = nn.LSTM(8, 16)
        conv = nn.Conv2d(3, 8, 3)
        assert mg.tensor([1.0]).is_meta
        assert mg.randperm(4).is_meta
    assert mg.equal(before, mg.get_rng_state())
    assert layer(x).shape == x.shape
    layer(x).sum().backward()
    assert layer.linear1.weight.grad is not None
    assert layer.linear1.weight.grad.is_meta
    assert embedding(mg.zeros(1000, 100, dtype=mg.int64, device="meta")).shape == (1000, 100, HUGE)
    assert lstm(mg.empty(5, 2, 8, device="meta"))[0].shape == (5, 2, 16)
    assert conv(mg.empty(2, 3, 9, 9, device="meta")).shape == (2, 8, 7, 7)
    for name in ("xavier_uniform_", "kaiming_normal_", "orthogonal_", "trunc_normal_", "eye_"):
        assert getattr(nn.init, name)(mg.empty(8, 8, device="meta")).shape == (8, 8)


READS: dict[str, tuple[Callable[[mg.Tensor], Any], type[Exception], str]] = {
    "item": (lambda m: m[0, 0].item(), RuntimeError, "cannot be called on meta tensors"),
    "bool": (lambda m: bool(m[0, 0]), RuntimeError, "cannot be called on meta tensors"),
    "int": (lambda m: int(m[0, 0]), RuntimeError, "cannot be called on meta tensors"),
    "float": (lambda m: float(m[0, 0]), RuntimeError, "cannot be called on meta tensors"),
    "tolist": (lambda m: m.tolist(), NotImplementedError, NO_DATA),
    "numpy": (lambda m: m.numpy(), TypeError, "can't convert meta device type tensor to numpy"),
    "array": (lambda m: np.asarray(m), TypeError, "can't convert meta device type tensor to numpy"),
    "cpu": (lambda m: m.cpu(), NotImplementedError, NO_DATA),
    "copy_ to the CPU": (lambda m: mg.zeros(2, 3).copy_(m), NotImplementedError, NO_DATA),
    "add": (lambda m: m + mg.zeros(2, 3), RuntimeError, "on the same device"),
    "nonzero": (lambda m: m.nonzero(), NotImplementedError, "depends on values"),
    "mask": (lambda m: m[m > 0], NotImplementedError, "a mask"),
    "module": (lambda m: nn.Linear(2, 3, device="meta").to("cpu"), NotImplementedError, "to_empty"),
}


@cases("name", READS)
def test_values_cannot_be_read(name: str) -> None:
    read, error, words = READS[name]
    raises(error, words.replace("(", r"\("), lambda: read(mg.empty(2, 3, device="meta")))


def test_changes_in_place_are_checked_but_not_executed() -> None:
    m = mg.empty(2, 3, device="meta")
    m[0] = 1
    m[:, 0] += 2
    m.zero_().normal_().copy_(mg.zeros(3)).masked_fill_(m > 0, 3)
    with pytest.raises(RuntimeError, match="broadcast"):
        m[0] = mg.zeros(4, device="meta")
    raises(RuntimeError, "broadcast", lambda: m.copy_(mg.zeros(4, 4)))


def test_a_state_dict_is_assigned_to_a_meta_module_and_copied_only_to_one_with_memory() -> None:
    empty, full = nn.Linear(3, 3, device="meta"), nn.Linear(3, 3)
    raises(RuntimeError, "an exception occurred", lambda: full.load_state_dict(empty.state_dict()))
    with pytest.warns(UserWarning, match="which is a no-op"):
        empty.load_state_dict(full.state_dict())
    assert empty.weight.is_meta
    empty.load_state_dict(full.state_dict(), assign=True)
    assert mg.equal(empty.weight, full.weight)
    assert full.to("meta").weight.is_meta
    assert full.to_empty(device="cpu").weight.device.type == "cpu"
    full._parameters["weight"] = nn.Parameter(mg.ones(3, 3))
    assert full(mg.ones(1, 3)).shape == (1, 3)


@cases("data", [[1.0, 2.0], np.ones(2), 2])
def test_the_class_tensor_is_not_of_the_default_device(data: Any) -> None:
    from tests.support.parity import torch

    for library in (mg, torch):
        with library.device("meta"):
            assert library.Tensor(data).device.type == library.FloatTensor([1.0]).device.type == "cpu"


def test_copies_and_pickles() -> None:
    m = nn.Parameter(mg.empty(4, 3, device="meta", dtype=mg.float16).t())
    for twin in (copy.deepcopy(m), pickle.loads(pickle.dumps(m))):
        assert (twin.shape, twin.dtype, twin.is_meta, twin.requires_grad) == ((3, 4), mg.float16, True, True)


def test_shown_as_in_pytorch() -> None:
    parts = [mg.empty(2, 3, device="meta"), mg.empty((), dtype=mg.int64, device="meta")]
    assert repr(parts[0]) == "tensor(..., device='meta', size=(2, 3))"
    assert repr(parts[1]) == "tensor(..., device='meta', size=(), dtype=minigrad.int64)"
    assert parts[0].type() == "torch.meta.FloatTensor"
