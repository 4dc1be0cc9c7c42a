"""Functions of PyTorch's core by their own names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad
from tests.support.parity import assert_close, listed, ours, theirs, torch

pytestmark = pytest.mark.parity
X, ROW = np.random.default_rng(0).standard_normal((2, 4, 6)), np.linspace(0.5, 2, 6)
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "pad": lambda t, make: t.constant_pad_nd(make(X), [1, -2, 0, 3], 1.5),
    "layer": lambda t, make: t.native_layer_norm(make(X), [6], make(ROW), make(ROW - 1), 1e-5),
    "group": lambda t, make: t.native_group_norm(make(X), make(ROW[:4]), None, 2, 4, 6, 2, 1e-5),
    "batch": lambda t, make: t.native_batch_norm(make(X), make(ROW[:4]), None, None, None, True, 0.1, 1e-5),
    "evaluation": lambda t, make: t.native_batch_norm(
        make(X), None, None, make(ROW[:4]), make(ROW[:4]), False, 0.1, 1e-5
    ),
    "chunk_cat": lambda t, make: t._chunk_cat([make(X), make(X[:, :1])], 1, 3),
}


@pytest.mark.parametrize("name", CALLS)
def test_results(name: str) -> None:
    found, expected = (listed(CALLS[name](t, make)) for t, make in ((minigrad, ours), (torch, theirs)))
    for a, b in zip(found, expected, strict=True):
        assert_close(a, b)
