"""Batches of sentence pairs of about equal length and about equal numbers of tokens."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

Encoded = tuple[list[int], list[int]]


def batches(pairs: Sequence[Encoded], tokens: int, seed: int | None = None) -> Iterator[list[int]]:
    """Indices of pairs, batch by batch: each pair once.

    Args:
        pairs: (source ids, target ids).
        tokens: no side of a batch holds more tokens than this, padding included (a longer pair goes alone).
        seed: the order of batches, and of pairs of equal length; None goes from short to long.
    """
    order = list(range(len(pairs)))
    if seed is not None:
        random.Random(seed).shuffle(order)
    order.sort(key=lambda i: (len(pairs[i][1]), len(pairs[i][0])))
    found: list[list[int]] = []
    batch: list[int] = []
    longest = 0
    for i in order:
        longest_with = max(longest, len(pairs[i][0]), len(pairs[i][1]))
        if batch and longest_with * (len(batch) + 1) > tokens:
            found.append(batch)
            batch, longest_with = [], max(len(pairs[i][0]), len(pairs[i][1]))
        batch.append(i)
        longest = longest_with
    if batch:
        found.append(batch)
    if seed is not None:
        random.Random(seed + 1).shuffle(found)
    yield from found
