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
    "dropout": lambda t, make: t.dropout(make(X), 0.5, train=False),
    "batch_norm": lambda t, make: t.batch_norm(
        make(X), make(ROW[:4]), make(ROW[2:]), None, None, True, 0.1, 1e-5, cudnn_enabled=False
    ),
    "instance_norm": lambda t, make: t.instance_norm(
        make(X), make(ROW[:4]), make(ROW[2:]), None, None, True, 0.1, 1e-5, False
    ),
    "group_norm": lambda t, make: t.group_norm(make(X), 2, make(ROW[:4]), None, 1e-5, True),
    "layer_norm": lambda t, make: t.layer_norm(make(X), [6], make(ROW), None, cudnn_enable=False),
    "embedding": lambda t, make: t.embedding(make(X[0]), t.tensor([3, 0]), -1),
    "embedding by name": lambda t, make: t.embedding(weight=make(X[0]), indices=t.tensor([3, 0]), padding_idx=0),
    "kl_div": lambda t, make: t.kl_div(make(X), make(X + 1), reduction=2, log_target=True),
    "kl_div by default": lambda t, make: t.kl_div(make(X), make(X**2)),
    "cosine": lambda t, make: t.cosine_embedding_loss(make(X[0]), make(X[1]), make(np.array([1, -1, 1, 1])), 0.1, 0),
    "triplet": lambda t, make: t.triplet_margin_loss(make(X[0]), make(X[1]), make(X[1] + 1), 1.0, 2, 1e-6, True, 1),
    "entropy": lambda t, make: t.binary_cross_entropy_with_logits(make(X), make(abs(X)), None, make(ROW), 0),
    "chunk_cat": lambda t, make: t._chunk_cat([make(X), make(X[:, :1])], 1, 3),
}


@pytest.mark.parametrize("name", CALLS)
def test_results(name: str) -> None:
    found, expected = (listed(CALLS[name](t, make)) for t, make in ((minigrad, ours), (torch, theirs)))
    for a, b in zip(found, expected, strict=True):
        assert_close(a, b)
