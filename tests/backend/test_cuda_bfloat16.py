"""CUDA kernels on arrays of bfloat16: they compute in float32, and round once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad.autograd.observer import Observer, observed
from minigrad.backend import dtype as dt
from minigrad.nn import functional as F
from tests.support import cuda_emulator, strict

pytest.importorskip("ml_dtypes")
pytestmark = pytest.mark.skipif(bool(cuda_emulator.missing()), reason=cuda_emulator.missing())

FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "dropout": lambda x, w: F.dropout(x, 0.5),
    "gelu": lambda x, w: F.gelu(x),
    "gelu by tanh": lambda x, w: F.gelu(x, approximate="tanh"),
    "layer_norm": lambda x, w: F.layer_norm(x, (8,), w, w),
    "log_softmax": lambda x, w: F.log_softmax(x, -1),
    "rms_norm": lambda x, w: F.rms_norm(x, (8,), w),
    "softmax": lambda x, w: F.softmax(x, 1),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_kernels(name: str) -> None:
    """The same as on the CPU to the rounding of bfloat16, forward and back, without a conversion on the way."""
    strict.install()
    results: dict[str, list[Any]] = {}
    for device in ("cpu", "strict"):
        minigrad.manual_seed(0)
        x = minigrad.tensor(np.random.default_rng(0).normal(size=(3, 5, 8)), dtype=minigrad.bfloat16).to(device)
        w = minigrad.tensor(np.random.default_rng(1).uniform(0.5, 2, 8), dtype=minigrad.bfloat16).to(device)
        x, w = x.detach().requires_grad_(), w.detach().requires_grad_()
        ops: list[str] = []

        class Watch(Observer):
            def applying(self, op: Any, args: Any, ops: list[str] = ops) -> None:
                ops.append(op.name)

        with observed(Watch()):
            y = FUNCTIONS[name](x, w)
        if device == "strict":
            assert "cast" not in ops
        y.backward(minigrad.linspace(-1, 1, y.numel()).reshape(y.shape).bfloat16().to(device))
        results[device] = [t.float().cpu().numpy() for t in (y.detach(), x.grad, w.grad) if t is not None]
        assert {dt.of(t.array).name for t in (y, x.grad)} == {"bfloat16"}
    for expected, actual in zip(results["cpu"], results["strict"], strict=True):
        np.testing.assert_allclose(actual, expected, 2e-2, 2e-2)
