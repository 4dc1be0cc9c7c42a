"""Internal functions of PyTorch's core."""

from typing import Any

import numpy as np
import pytest

import minigrad
from tests.support.cases import cases
from tests.support.expressions import evaluate, split
from tests.support.parity import assert_close, listed, ours, theirs, torch

X, ROW = np.random.default_rng(0).standard_normal((2, 4, 6)), np.linspace(0.5, 2, 6)
ROWS, EXPERTS = (np.random.default_rng(1).standard_normal(size).astype(np.float32) for size in ((8, 8), (3, 8, 8)))


def ends(library: Any, *places: int) -> Any:
    """The ends of groups."""
    return library.tensor(places, dtype=library.int32)


CALLS = """
t.constant_pad_nd(x, [1, -2, 0, 3], 1.5) ; t.native_layer_norm(x, [6], row, row - 1, 1e-5)
t.native_group_norm(x, row[:4], None, 2, 4, 6, 2, 1e-5)
t.native_batch_norm(x, row[:4], None, None, None, True, 0.1, 1e-5)
t.native_batch_norm(x, None, None, row[:4], row[:4], False, 0.1, 1e-5) ; t._chunk_cat([x, x[:, :1]], 1, 3)
t._grouped_mm(rows, experts, offs=ends(t, 2, 2, 8)) ; t._grouped_mm(experts, rows, offs=ends(t, 0, 4, 8))
t._grouped_mm(rows, rows, offs=ends(t, 4, 4, 8)) ; t.nn.functional.grouped_mm(experts, experts, out_dtype=t.float32)
t.native_channel_shuffle(x, 2)
t.grid_sampler(x[None], x[None, :1, :2, :2] / 3, 1, 2, False)
t.grid_sampler_2d(x[None], x[None, :1, :2, :2] / 3, 2, 1, True)
t.affine_grid_generator(x[:, :2, :3], [2, 1, 3, 2], False)
"""


@cases("expression", split(CALLS))
def test_results(expression: str) -> None:
    arrays = {"x": X, "row": ROW, "rows": ROWS, "experts": EXPERTS}
    both = ((t, {name: make(a) for name, a in arrays.items()}) for t, make in ((minigrad, ours), (torch, theirs)))
    for a, b in zip(*(listed(evaluate(expression, t=t, ends=ends, **names)) for t, names in both), strict=True):
        assert_close(a, b, 1e-5 if "grouped_mm" in expression else 1e-10)  # PyTorch computes it in float32


@cases("library", [minigrad, torch])
def test_mismatched_offsets_are_rejected(library: Any) -> None:
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
