"""Mappings from tensors that do not keep them."""

from __future__ import annotations

import gc
from typing import Any

import pytest

import minigrad
from minigrad.compat.weak import WeakIdKeyDictionary
from tests.support.parity import torch


@pytest.mark.parametrize("side", ["minigrad", pytest.param("torch", marks=pytest.mark.parity)])
def test_items_go_with_their_keys(side: str) -> None:
    lib: Any = minigrad if side == "minigrad" else torch
    kind: Any = WeakIdKeyDictionary
    if side == "torch":
        from torch.utils.weak import WeakIdKeyDictionary as kind
    first, second = lib.ones(2), lib.ones(2)
    mapping = kind({first: 1})
    mapping[second] = 2
    mapping[first] += 2
    assert (mapping[first], mapping[second], len(mapping)) == (3, 2, 2)
    assert lib.ones(2) not in mapping
    assert {id(key) for key in mapping} == {id(first), id(second)}
    del second, mapping[first]
    gc.collect()
    assert len(mapping) == 0
    with pytest.raises(KeyError):
        mapping[first]
