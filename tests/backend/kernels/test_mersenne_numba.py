"""Masks from PyTorch's stream by compiled loops: they are the definition's, and leave the stream where it does."""

from __future__ import annotations

import math

import numpy as np
import pytest

from minigrad.backend.random import Generator
from tests.support.compiled_checks import needs_numba

pytestmark = needs_numba


@pytest.mark.parametrize("before", [0, 1, 2, 311, 623, 624, 625, 1000])
@pytest.mark.parametrize("count", [313, 624, 2048, 12_345])
def test_it_draws_what_the_definition_draws(before: int, count: int) -> None:
    from minigrad.backend.kernels import mersenne_numba

    ours, plain = Generator().manual_seed(9), Generator().manual_seed(9)
    np.testing.assert_array_equal(ours.words(before), plain.words(before))
    for p in (0.1, 0.5, 1e-9):
        bound = math.ceil((1 - p) * 2**53)
        expected = plain.words64(count) % np.uint64(1 << 53) * 2.0**-53 < 1 - p
        np.testing.assert_array_equal(mersenne_numba.draw(ours._streams.bits, count, bound), expected)
    np.testing.assert_array_equal(ours.words(700), plain.words(700))
    assert ours.get_state().equal(plain.get_state())


def test_many_and_few_elements_are_one_stream() -> None:
    ours, plain = Generator().manual_seed(3), Generator().manual_seed(3)
    for count in (5, 2048, 7, 100_000, 1):
        expected = plain.words64(count) % np.uint64(1 << 53) < np.uint64(1 << 52)
        np.testing.assert_array_equal(ours.below(count, 1 << 52), expected)
