"""The lessons on positions and on the order of words, against definitions in NumPy."""

from __future__ import annotations

import math

import numpy as np
import pytest

from examples.lectures import counting, permutation


def test_three_kinds_of_positions() -> None:
    assert counting.counted(3).tolist() == [[0] * 6, [1] * 6, [2] * 6]
    assert counting.fractions(5)[:, 0].tolist() == [0, 0.25, 0.5, 0.75, 1]
    wanted = [[f(t / 10000 ** (i / 3)) for i in range(3) for f in (math.sin, math.cos)] for t in range(5)]
    np.testing.assert_allclose(counting.sines(5).numpy(), wanted, atol=1e-12)


@pytest.mark.parametrize("order", permutation.SHOWN)
def test_permuted_words(order: tuple[int, ...]) -> None:
    model = permutation.layers()
    first, moved = permutation.run(model, range(4)).numpy(), permutation.run(model, order).numpy()
    np.testing.assert_allclose(moved, first[list(order)], atol=1e-12)
    assert permutation.largest(model, order) < 1e-12 < 1e-2 < permutation.largest(model, order, positions=True)
    assert (permutation.matrix(order).numpy() @ np.arange(4)).tolist() == list(order)


def test_a_causal_mask_knows_the_order() -> None:
    model = permutation.layers()
    first, moved = (permutation.run(model, o, causal=True).numpy() for o in (range(4), (0, 1, 3, 2)))
    np.testing.assert_allclose(moved[:2], first[:2], atol=1e-12)  # what stands before the change
    assert np.abs(moved[2] - first[3]).max() > 0.01
