"""The way back through slices: pieces that lie side by side are put together without a copy."""

from __future__ import annotations

from typing import Any

import numpy as np

import minigrad
from minigrad.ops import joining
from tests.support.cases import cases

WHOLE = np.arange(72.0).reshape(2, 3, 3, 4)
WIDE = np.arange(24.0).reshape(2, 12)


@cases("order", [(0, 1, 2), (0, 2, 1), (2, 1, 0), (0, 0, 0)])
def test_slices_stacked_again(order: tuple[int, ...]) -> None:
    found: Any = joining._rejoined(tuple(WHOLE[:, :, i] for i in order), 2, True)
    np.testing.assert_array_equal(found, WHOLE[:, :, list(order)])
    assert np.shares_memory(found, WHOLE) == (order == (0, 1, 2))


@cases("starts", [(0, 4, 8), (4, 8), (0, 8), (4, 4), (8, 4)])
def test_parts_joined_again(starts: tuple[int, ...]) -> None:
    pieces = tuple(WIDE[:, i : i + 4] for i in starts)
    found: Any = joining._rejoined(pieces, 1, False)
    np.testing.assert_array_equal(found, np.concatenate(pieces, 1))
    assert np.shares_memory(found, WIDE) == (starts == (0, 4, 8))  # some columns alone are not contiguous


def test_pieces_of_different_arrays_are_copied() -> None:
    pieces = tuple(WHOLE.copy()[:, :, i] for i in range(3))
    np.testing.assert_array_equal(joining._rejoined(pieces, 2, True), WHOLE)


@cases("new_axis, expected", [(True, (0, 3, 4)), (False, (0, 12))])
def test_nothing_to_put_together(new_axis: bool, expected: tuple[int, ...]) -> None:
    empty = np.zeros((0, 12))
    pieces = tuple(empty[:, i : i + 4] for i in (0, 4, 8))
    assert joining._rejoined(pieces, 1, new_axis).shape == expected


def test_a_gradient_is_not_the_memory_of_another() -> None:
    """Two backward passes through one split: the second is not disturbed by what is done to the first."""
    x = minigrad.tensor(np.arange(12.0).reshape(2, 6), requires_grad=True)
    a, b = x.split(3, dim=1)
    weight = minigrad.tensor(np.arange(12.0).reshape(2, 6))
    w1, w2 = weight.split(3, dim=1)
    loss = (a * w1).sum() + (b * w2).sum()
    (first,) = minigrad.autograd.grad(loss, x, retain_graph=True)
    kept = first.numpy().copy()
    first.zero_()
    (second,) = minigrad.autograd.grad(loss, x)
    np.testing.assert_array_equal(second.numpy(), kept)
    np.testing.assert_array_equal(weight.numpy(), np.arange(12.0).reshape(2, 6))
