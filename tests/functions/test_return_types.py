"""Tuples with named elements."""

from __future__ import annotations

import copy
import pickle

import pytest

import minigrad
from minigrad.functions import return_types


def test_elements_have_names() -> None:
    result = minigrad.tensor([[1.0, 3.0], [4.0, 2.0]]).max(1)
    values, indices = result
    assert isinstance(result, tuple) and result._fields == ("values", "indices")
    assert (result.values is values, result.indices is indices) == (True, True)
    assert (values.tolist(), indices.tolist()) == ([3.0, 4.0], [1, 0])
    with pytest.raises(AttributeError):
        result.values = values


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_copies_are_of_the_same_type(way: object) -> None:
    result = return_types.frexp(0.5, 3)
    twin = way(result)  # type: ignore[operator]
    assert type(twin) is return_types.frexp and twin == result and twin.exponent == 3


def test_a_missing_element_is_refused() -> None:
    with pytest.raises(TypeError, match=r"linalg_qr\(\) takes Q, R, not 1 values"):
        return_types.linalg_qr(1)
