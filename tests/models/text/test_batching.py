"""Batches by tokens: every pair once, none too large, little padding, a stable order."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from minigrad_models.text.batching import TokenBatches

Batches = list[list[int]]


@pytest.fixture
def lengths() -> Any:
    """500 pairs whose sides have about equal lengths, like translations."""
    draw = np.random.default_rng(0)
    source = draw.integers(1, 30, 500)
    return np.stack([source, np.maximum(1, source + draw.integers(-4, 5, 500))], axis=1).astype(np.int32)


def padding(batches: Batches, lengths: Any) -> float:
    """Padding tokens per token of text."""
    padded = sum(len(batch) * int(lengths[batch].max(axis=0).sum()) for batch in batches)
    return padded / int(lengths.sum()) - 1


@pytest.mark.parametrize("shuffle", [True, False])
def test_every_pair_once_and_no_batch_too_large(lengths: Any, shuffle: bool) -> None:
    batches = TokenBatches(lengths, 200, seed=1, shuffle=shuffle)
    for epoch in range(2):
        rows = list(batches.epoch(epoch))
        assert sorted(i for batch in rows for i in batch) == list(range(500))
        assert all(len(batch) * lengths[batch].max() <= 200 for batch in rows)
        assert list(batches.epoch(epoch, 3)) == rows[3:]


def test_sorted_batches_are_full(lengths: Any) -> None:
    """No batch has room for the next pair."""
    batches = TokenBatches(lengths, 200, shuffle=False)
    rows = list(batches.epoch(0))
    for batch, following in pairwise(rows):
        together = [*batch, following[0]]
        assert len(together) * lengths[together].max() > 200
    order = [(lengths[i, 1], lengths[i, 0], i) for batch in rows for i in batch]
    assert order == sorted(order) and list(batches.epoch(5)) == rows


def test_lengths_of_a_batch_are_about_equal(lengths: Any) -> None:
    many = np.tile(lengths, (40, 1))
    rows = list(TokenBatches(many, 400, seed=1).epoch(0))
    assert padding(rows, many) < 0.12
    shuffled = np.random.default_rng(0).permutation(len(many))
    at_random = [part.tolist() for part in np.array_split(shuffled, len(rows))]
    assert padding(at_random, many) > 0.5


def test_the_order_of_a_seed_is_stable() -> None:
    """Saved runs must mean the same under other versions of NumPy, so the expected orders are fixed here."""
    lengths = np.stack([np.arange(12) % 5 + 1, np.arange(12) % 4 + 1], axis=1)
    expected = [[6, 10, 11], [4, 8], [0, 5, 1], [7, 3], [9, 2]]
    assert list(TokenBatches(lengths, 12, seed=7).epoch(2)) == expected
    assert list(TokenBatches(lengths, 12, seed=7).epoch(3)) != expected != list(TokenBatches(lengths, 12).epoch(2))


def test_few_pairs_and_long_ones() -> None:
    for shuffle in (True, False):  # a pair that is too long gets its own batch
        rows = TokenBatches([(3, 3), (50, 2), (3, 3), (1, 11)], 10, shuffle=shuffle).epoch(0)
        assert sorted(map(sorted, rows)) == [[0, 2], [1], [3]]
    assert list(TokenBatches(np.zeros((0, 2), int), 10).epoch(0)) == []
    assert list(TokenBatches([(0, 0)], 10).epoch(0)) == [[0]]


def test_bad_arguments() -> None:
    wrong: list[tuple[Any, dict[str, Any], str]] = [
        ([1, 2, 3], {}, r"\(N, 2\), for source and target, not \(3,\)"),
        ([(1, 2, 3)], {}, r"not \(1, 3\)"),
        ([(1, 2)], {"tokens": 0}, r"tokens \(0\) must be at least 1"),
        ([(1, 2)], {"seed": -1}, r"seed \(-1\) at least 0"),
    ]
    for lengths, options, message in wrong:
        with pytest.raises(ValueError, match=message):
            TokenBatches(lengths, **options)
