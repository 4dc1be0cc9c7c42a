"""Mappings from tensors that do not keep them."""

from __future__ import annotations

import gc
from typing import Any

import minigrad
from minigrad.compat.weak import WeakIdKeyDictionary
from tests.support.cases import raises


def test_items_go_with_their_keys(t: Any) -> None:
    kind: Any = WeakIdKeyDictionary
    if t is not minigrad:
        kind = t.utils.weak.WeakIdKeyDictionary
    first, second = t.ones(2), t.ones(2)
    mapping = kind({first: 1})
    mapping[second] = 2
    mapping[first] += 2
    assert (mapping[first], mapping[second], len(mapping)) == (3, 2, 2) and t.ones(2) not in mapping
    assert {id(key) for key in mapping} == {id(first), id(second)}
    del second, mapping[first]
    gc.collect()
    assert len(mapping) == 0
    raises(KeyError, None, lambda: mapping[first])
