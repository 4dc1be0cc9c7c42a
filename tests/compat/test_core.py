"""The few names of torch._C and beside it that programs mention."""

from __future__ import annotations

import numpy as np
import pytest

import minigrad
from tests.support.parity import assert_close, ours, theirs, torch


@pytest.mark.parity
@pytest.mark.parametrize("kind", ["softmax", "log_softmax"])
def test_gradients_of_softmax_by_their_own_names(kind: str) -> None:
    g, x = np.random.default_rng(0).normal(size=(2, 3, 4))
    actual = getattr(minigrad, f"_{kind}_backward_data")(
        ours(g), getattr(ours(x), kind)(1 if x.ndim > 1 else 0), -1, minigrad.float64
    )
    output = getattr(theirs(x), kind)(1 if x.ndim > 1 else 0)  # skipped without PyTorch
    expected = getattr(torch, f"_{kind}_backward_data")(theirs(g), output, -1, torch.float64)
    assert_close(actual, expected)


def test_guards_and_annotations() -> None:
    core = minigrad._C
    assert core._get_tracing_state() is None and core._log_api_usage_once("x") is None
    assert core._jit_set_profiling_mode(True) is False
    assert not isinstance(minigrad.ones(1), core.Value)
    with pytest.raises(NotImplementedError, match=r"torch\._C\.Graph: nothing records a program"):
        core.Graph()
    with pytest.raises(NotImplementedError, match=r"no torch\._C\._onnx: there is no C\+\+ library"):
        core._onnx()


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
    with pytest.raises(AssertionError, match="as it was"):
        minigrad._assert(minigrad.ones(1) < 0, "as it was")
