"""Masks made by ``vmap`` over places, which index with tensors of one element: inside PyTorch's mode for that."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import minigrad as mg
from tests.support.parity import torch


def masks(library: Any) -> list[Any]:
    """A causal mask with padding, batch by query by key, and elements at an index of both kinds."""
    mode = import_module(f"{library.__name__}._dynamo._trace_wrapped_higher_order_op").TransformGetItemToIndex
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
    assert masks(mg) == masks(torch)
