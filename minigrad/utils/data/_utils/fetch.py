"""Fetchers: from the indices of a sampler to a collated batch."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

Collate = Callable[[Any], Any]


class MapFetcher:
    """Examples by number.

    Args:
        dataset: the examples.
        auto_collation: whether an index is a list of numbers, else a single one.
        collate_fn: makes the batch.
        drop_last: without effect: the sampler drops the last batch.
    """

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Collate, drop_last: bool) -> None:
        self.dataset, self.auto_collation, self.collate_fn = dataset, auto_collation, collate_fn

    def fetch(self, index: Any) -> Any:
        """The batch of a list of numbers, or the example of one."""
        if not self.auto_collation:
            return self.collate_fn(self.dataset[index])
        many = getattr(self.dataset, "__getitems__", None)
        return self.collate_fn(many(index) if many else [self.dataset[i] for i in index])


class IterableFetcher:
    """The next examples of an iterable, as many as an index has numbers.

    Args:
        dataset: the iterable.
        auto_collation, collate_fn: as in MapFetcher.
        drop_last: leave out the last batch if it is shorter.
    """

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Collate, drop_last: bool) -> None:
        self.auto_collation, self.collate_fn, self.drop_last = auto_collation, collate_fn, drop_last
        self.iterator = iter(dataset)
        self.ended = False

    def fetch(self, index: Any) -> Any:
        """The next batch or example; raises StopIteration after the last."""
        if not self.auto_collation:
            return self.collate_fn(next(self.iterator))
        examples = [] if self.ended else list(islice(self.iterator, len(index)))
        self.ended = len(examples) < len(index)
        if not examples or (self.drop_last and self.ended):
            raise StopIteration
        return self.collate_fn(examples)


Fetcher = MapFetcher | IterableFetcher
