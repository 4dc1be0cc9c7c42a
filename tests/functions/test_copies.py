"""Copies of views: the view's values and gradients, in new memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import minigrad
from tests.support.parity import assert_close, listed, ours, theirs, torch
from tests.support.tables import in_one_test

COPIES: dict[str, Callable[[Any, Any], Any]] = {
    "alias": lambda t, x: t.alias_copy(x),
    "as_strided": lambda t, x: t.as_strided_copy(x, (2, 2), (1, 2), 3),
    "diagonal": lambda t, x: t.diagonal_copy(x, 1, 0, 2),
    "expand": lambda t, x: t.expand_copy(x, (5, 2, 3, 4)),
    "permute": lambda t, x: t.permute_copy(x, (2, 0, 1)),
    "select": lambda t, x: t.select_copy(x, 1, -1),
    "split": lambda t, x: t.split_copy(x, 2, 1),
    "split_with_sizes": lambda t, x: t.split_with_sizes_copy(x, [1, 2], 1),
    "squeeze": lambda t, x: t.squeeze_copy(x[:1]),
    "t": lambda t, x: t.t_copy(x[0]),
    "transpose": lambda t, x: t.transpose_copy(x, 0, 1),
    "unbind": lambda t, x: t.unbind_copy(x, 2),
    "unfold": lambda t, x: t.unfold_copy(x, 2, 2, 1),
    "unsqueeze": lambda t, x: t.unsqueeze_copy(x, 1),
    "view": lambda t, x: t.view_copy(x, (4, 6)),
    "view_as_complex": lambda t, x: t.view_as_complex_copy(x.detach().reshape(-1, 2)).real + x.sum(),
}


@in_one_test("name", COPIES)
def test_copies(name: str, device: str) -> None:
    values = np.arange(24.0).reshape(2, 3, 4)
    x, y = ours(values, requires_grad=True, device=device), theirs(values, requires_grad=True)
    found, expected = (listed(COPIES[name](t, v)) for t, v in ((minigrad, x), (torch, y)))
    for a, b in zip(found, expected, strict=True):
        assert_close(a, b)
        assert not np.shares_memory(a.numpy(force=True), x.numpy(force=True))
    for parts in (found, expected):
        sum((part * part).sum() for part in parts).backward()
    assert_close(x.grad, y.grad)
