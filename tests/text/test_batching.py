"""Batches: every pair once, no batch too large, little padding, an order that the seed alone decides."""

from __future__ import annotations

import random

import pytest

from minigrad.text import batches


@pytest.fixture
def pairs() -> list[tuple[list[int], list[int]]]:
    draw = random.Random(0)
    return [([0] * draw.randint(1, 30), [0] * draw.randint(1, 30)) for _ in range(500)]


def test_every_pair_once_and_no_batch_too_large(pairs: list[tuple[list[int], list[int]]]) -> None:
    found = list(batches(pairs, tokens=200, seed=1))
    assert sorted(i for batch in found for i in batch) == list(range(500))
    for batch in found:
        assert len(batch) * max(max(len(pairs[i][0]), len(pairs[i][1])) for i in batch) <= 200


def test_targets_of_a_batch_are_of_about_equal_length(pairs: list[tuple[list[int], list[int]]]) -> None:
    for batch in batches(pairs, tokens=200, seed=1):
        lengths = [len(pairs[i][1]) for i in batch]
        assert max(lengths) - min(lengths) <= 3


def test_the_seed_decides_the_order(pairs: list[tuple[list[int], list[int]]]) -> None:
    first, again, other = (list(batches(pairs, 200, seed)) for seed in (1, 1, 2))
    assert first == again != other


def test_a_pair_that_is_too_long_goes_alone() -> None:
    pairs = [([0] * 3, [0] * 3), ([0] * 50, [0] * 2), ([0] * 3, [0] * 3)]
    assert sorted(map(sorted, batches(pairs, tokens=10))) == [[0, 2], [1]]
    assert list(batches([], 10)) == []
