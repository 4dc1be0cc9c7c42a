"""The few names of torch._C and beside it that programs mention."""

from __future__ import annotations

import numpy as np

import minigrad
from tests.support.cases import cases, raises
from tests.support.parity import assert_close, ours, theirs, torch


@cases("kind", ["softmax", "log_softmax"])
def test_gradients_of_softmax_by_their_own_names(kind: str) -> None:
    g, x = np.random.default_rng(0).normal(size=(2, 3, 4))
    actual = getattr(minigrad, f"_{kind}_backward_data")(
        ours(g), getattr(ours(x), kind)(1 if x.ndim > 1 else 0), -1, minigrad.float64
    )
    output = getattr(theirs(x), kind)(1 if x.ndim > 1 else 0)  # skipped without PyTorch
    expected = getattr(torch, f"_{kind}_backward_data")(theirs(g), output, -1, torch.float64)
    assert_close(actual, expected)


@cases("kind, shape", [(None, (2, 2, 3, 3)), (0, (3, 3)), (1, (2, 3)), (2, (2, 2, 3, 3))])
def test_softmax_of_what_a_mask_leaves(kind: int | None, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    x, g, mask = rng.normal(size=(2, 2, 3, 3)), rng.normal(size=(2, 2, 3, 3)), rng.random(shape) < 0.5
    mask[..., 0] = False  # rows of which nothing is left are NaN there
    results = []
    for t, make in ((minigrad, ours), (torch, theirs)):
        leaf = make(x, True)
        out = t._masked_softmax(leaf, make(mask), None, kind)
        if mask.shape == x.shape:  # PyTorch has no gradient with other masks
            out.backward(make(g))
        results.append((out, out if leaf.grad is None else leaf.grad))
    for a, b in zip(*results, strict=True):
        assert_close(a, b)
    nothing = minigrad._masked_softmax(minigrad.ones(2), minigrad.tensor([True, True]))
    assert nothing.tolist() == [0, 0]


def test_response_norm_across_maps() -> None:
    x = np.random.default_rng(2).normal(size=(2, 3, 2, 2))  # few channels: PyTorch's window keeps the first for ever
    for size in (4, 5):
        layers = [t.nn.CrossMapLRN2d(size, 0.3, 0.6, k=1.5) for t in (minigrad, torch)]
        assert_close(layers[0](ours(x[:, :2])), layers[1](theirs(x[:, :2])))
    assert_close(layers[0](ours(x)), layers[1](theirs(x)))
    assert repr(layers[0]) == repr(layers[1])
    raises(ValueError, "Expected input to be 4D, got 3D", lambda: layers[0](ours(x[0])))


def test_guards_and_annotations() -> None:
    core = minigrad._C
    assert core._get_tracing_state() is None and core._log_api_usage_once("x") is None
    assert core._jit_set_profiling_mode(True) is False and not isinstance(minigrad.ones(1), core.Value)
    raises(NotImplementedError, r"torch\._C\.Graph: nothing records a program", core.Graph)
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
    called: list[int] = []
    minigrad.cuda._lazy_call(lambda: called.append(1))
    assert called == [1] * minigrad.cuda.is_available() and minigrad.cuda._initialized is False


def test_assert_as_a_function() -> None:
    minigrad._assert(minigrad.ones(1) > 0, "never")
    raises(AssertionError, "as it was", lambda: minigrad._assert(minigrad.ones(1) < 0, "as it was"))
