"""Functions of PyTorch's core by their own names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad
from tests.support.cases import cases
from tests.support.parity import assert_close, listed, ours, theirs, torch

X, ROW = np.random.default_rng(0).standard_normal((2, 4, 6)), np.linspace(0.5, 2, 6)
ROWS, EXPERTS = (np.random.default_rng(1).standard_normal(size).astype(np.float32) for size in ((8, 8), (3, 8, 8)))


def ends(library: Any, *places: int) -> Any:
    """Where groups end."""
    return library.tensor(places, dtype=library.int32)


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
    "groups of rows": lambda t, make: t._grouped_mm(make(ROWS), make(EXPERTS), offs=ends(t, 2, 2, 8)),
    "groups of columns": lambda t, make: t._grouped_mm(make(EXPERTS), make(ROWS), offs=ends(t, 0, 4, 8)),
    "groups within": lambda t, make: t._grouped_mm(make(ROWS), make(ROWS), offs=ends(t, 4, 4, 8)),
    "pairs": lambda t, make: t.nn.functional.grouped_mm(make(EXPERTS), make(EXPERTS), out_dtype=t.float32),
    "statistics": lambda t, make: t.batch_norm_update_stats(make(X), None, None, 0.1),
    "channels": lambda t, make: t.native_channel_shuffle(make(X), 2),
    "grid": lambda t, make: t.grid_sampler(make(X[None]), make(X[None, 0, :2, :2] / 3)[None], 1, 2, False),
    "grid of planes": lambda t, make: t.grid_sampler_2d(make(X[None]), make(X[None, 0, :2, :2] / 3)[None], 2, 1, True),
    "places": lambda t, make: t.affine_grid_generator(make(X[:, :2, :3]), [2, 1, 3, 2], False),
    "softmax": lambda t, make: [t._softmax(make(X), 1, False), t._log_softmax(make(X), -1, False)],
    "chunk_cat": lambda t, make: t._chunk_cat([make(X), make(X[:, :1])], 1, 3),
}


def test_running_statistics_move() -> None:
    results = []
    for t, make in ((minigrad, ours), (torch, theirs)):
        mean, var = make(ROW[:4]), make(ROW[1:5])
        t.batch_norm_update_stats(make(X), mean, var, 0.3)
        results.append((mean, var))
    for a, b in zip(*results, strict=True):
        assert_close(a, b)


@cases("name", CALLS)
def test_results(name: str) -> None:
    found, expected = (listed(CALLS[name](t, make)) for t, make in ((minigrad, ours), (torch, theirs)))
    for a, b in zip(found, expected, strict=True):
        assert_close(a, b, 1e-5 if name.startswith(("groups", "pairs")) else 1e-10)  # which PyTorch has in float32


@cases("library", [minigrad, torch])
def test_offsets_that_do_not_fit_are_refused(library: Any) -> None:
    rows, experts = library.ones(8, 8), library.ones(3, 8, 8)
    for arguments in ((rows, experts), (experts, experts, ends(library, 2, 2, 8))):
        with pytest.raises(RuntimeError, match="Have to provide offsets if there is a 2d matrix"):
            library._grouped_mm(*arguments)


def test_the_gradients_of_groups() -> None:
    rows, experts = ours(ROWS, requires_grad=True), ours(EXPERTS, requires_grad=True)
    library: Any = minigrad
    library._grouped_mm(rows, experts, ends(library, 2, 2, 5)).sin().sum().backward()
    a, b = theirs(ROWS, requires_grad=True), theirs(EXPERTS, requires_grad=True)
    (((a[:2] @ b[0]).sin().sum()) + (a[2:5] @ b[2]).sin().sum()).backward()
    assert_close(rows.grad, a.grad, 1e-5)
    assert_close(experts.grad, b.grad, 1e-5)
