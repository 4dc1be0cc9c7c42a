"""The batches of a training run, as pure functions of the epoch, so that a run can resume anywhere."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np

from minigrad.backend import random
from minigrad.utils.data import DataLoader
from minigrad.utils.data.sampler import batch_count

Item = TypeVar("Item")
Item_co = TypeVar("Item_co", covariant=True)


class Batches(Protocol[Item_co]):
    """An object whose ``epoch`` yields batches, for ``Trainer``."""

    def epoch(self, number: int, start: int = 0) -> Iterator[Item_co]:
        """The batches of an epoch from index ``start`` on. The same arguments produce the same batches."""
        ...


POOL = 50  # batches that are sorted by length together


class ShuffledOrder:
    """Splits the indices 0 .. size-1 into lists of ``batch_size``, in a random order that depends on the seed and
    epoch. ``drop_last`` drops an incomplete last list. If ``lengths`` has each example's length, the examples for
    ``POOL`` lists at a time are sorted, so that a list has similar lengths. Raises ValueError if a size is below 1."""

    def __init__(
        self,
        size: int,
        batch_size: int,
        *,
        seed: int = 0,
        drop_last: bool = False,
        lengths: Sequence[int] | None = None,
    ) -> None:
        if size < 1 or batch_size < 1:
            raise ValueError(f"a dataset of {size} examples cannot be split into batches of {batch_size}")
        self.size, self.batch_size, self.seed, self.drop_last = size, batch_size, seed, drop_last
        self.lengths = None if lengths is None else np.asarray(lengths)

    def __len__(self) -> int:
        """The number of lists in an epoch."""
        return batch_count(self.size, self.batch_size, self.drop_last)

    def epoch(self, number: int, start: int = 0) -> Iterator[list[int]]:
        """The lists of an epoch from index ``start`` on."""
        random = np.random.default_rng([self.seed % 2**64, number])
        order, lists = random.permutation(self.size), np.arange(len(self))
        if self.lengths is not None:
            for first in range(0, self.size, POOL * self.batch_size):
                pool = order[first : first + POOL * self.batch_size]  # a view, so that order itself is sorted
                pool[:] = pool[np.argsort(self.lengths[pool], kind="stable")]
            lists = random.permutation(lists)
        for i in lists[start:].tolist():
            yield order[i * self.batch_size : (i + 1) * self.batch_size].tolist()


class LoaderBatches:
    """Loads batches from a dataset, which is any object with ``__getitem__`` and ``__len__``. A run resumes exactly if
    an example depends only on its index and the default generator. ``order`` is a batch size, to reshuffle the examples
    in each epoch using the seed, or an object whose ``epoch(number, start)`` yields lists of indices, such as
    ShuffledOrder or TokenBatches. ``collate`` builds a batch from a list of examples, by default as in DataLoader."""

    def __init__(
        self,
        dataset: Any,
        order: int | Batches[Sequence[int]],
        collate: Callable[[list[Any]], Any] | None = None,
        *,
        seed: int = 0,
    ) -> None:
        self.dataset, self.collate, self.seed = dataset, collate, seed
        self.order = ShuffledOrder(len(dataset), order, seed=seed) if isinstance(order, int) else order

    def epoch(self, number: int, start: int = 0) -> Iterator[Any]:
        """The batches of an epoch from index ``start`` on."""
        loader: DataLoader[Any] = DataLoader(
            self.dataset,
            batch_sampler=self.order.epoch(number, start),  # type: ignore[arg-type]  # a sampler for one pass
            collate_fn=self.collate,
            generator=random.Generator().manual_seed((self.seed * 1_000_003 + number) % 2**64),  # not the model's
        )
        yield from loader


class Stream:
    """An endless stream of batches, epoch by epoch, from a given position. ``epoch`` and ``batch`` are the position of
    the next batch, or of the end of an epoch."""

    def __init__(self, batches: Batches[Any], epoch: int = 0, batch: int = 0) -> None:
        self.batches, self.epoch, self.batch = batches, epoch, batch
        self._all = self._epochs()

    def _epochs(self) -> Generator[Any, None, None]:
        while True:
            for item in self.batches.epoch(self.epoch, self.batch):
                self.batch += 1
                yield item
            if self.batch == 0:
                raise ValueError(f"epoch {self.epoch} has no batches: is the dataset empty?")
            self.epoch, self.batch = self.epoch + 1, 0

    def take(self) -> Any:
        """The next batch. Raises ValueError if an epoch is empty."""
        return next(self._all)

    def close(self) -> None:
        """Close the epoch's iterator, which may hold files open."""
        self._all.close()
