"""The way back through slices: pieces that lie side by side are put together without a copy."""

from typing import Any

import numpy as np

import minigrad
from minigrad.ops import joining
from tests.support.cases import cases

WHOLE = np.arange(72.0).reshape(2, 3, 3, 4)
WIDE = np.arange(24.0).reshape(2, 12)


ORDERS, STARTS = ((0, 1, 2), (0, 2, 1), (2, 1, 0), (0, 0, 0)), ((0, 4, 8), (4, 8), (0, 8), (4, 4), (8, 4))
PIECES: list[Any] = [  # the pieces, the axis, whether it is a new one, whether the result needs no copy
    *((tuple(WHOLE[:, :, i] for i in order), 2, True, order == (0, 1, 2)) for order in ORDERS),
    *((tuple(WIDE[:, i : i + 4] for i in starts), 1, False, starts == (0, 4, 8)) for starts in STARTS),
    (tuple(WHOLE.copy()[:, :, i] for i in range(3)), 2, True, False),
    *((tuple(WIDE[:0, i : i + 4] for i in (0, 4, 8)), 1, is_new, False) for is_new in (True, False)),
]


@cases("pieces, axis, is_new, is_shared", PIECES)
def test_pieces_put_together(pieces: tuple[Any, ...], axis: int, is_new: bool, is_shared: bool) -> None:
    """Some columns alone are not contiguous, and so copied."""
    joined: Any = joining._rejoined(pieces, axis, is_new)
    np.testing.assert_array_equal(joined, (np.stack if is_new else np.concatenate)(pieces, axis))
    assert any(np.shares_memory(joined, piece) for piece in pieces) == is_shared


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
