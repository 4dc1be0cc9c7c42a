"""Samplers, which determine the order of examples. The same seed yields the same order as in PyTorch.

As in PyTorch, each sampler draws random numbers when the first index is requested, not when an iterator is created.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence, Sized
from itertools import islice
from typing import Any, Generic, TypeVar

from ...backend import dtype as dt
from ...backend.random import Generator, default_generator
from ...functions.creation import as_tensor
from ...functions.random import multinomial

__all__ = ["BatchSampler", "DistributedSampler", "RandomSampler", "Sampler", "SequentialSampler"]
__all__ += ["SubsetRandomSampler", "WeightedRandomSampler"]

T_co = TypeVar("T_co", covariant=True)
Source = Generator | None  # the source of random numbers


class Sampler(Generic[T_co]):
    """The base class of samplers. ``__iter__`` yields indices, or lists of indices. ``data_source`` is ignored."""

    def __init__(self, data_source: Sized | None = None) -> None:
        pass

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError("Subclasses of Sampler should implement __iter__.")


class SequentialSampler(Sampler[int]):
    """The indices of a dataset in order: 0, 1, 2, ..."""

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """The indices of a dataset in random order. With ``replacement``, each is drawn from all indices and may repeat. A
    pass yields ``num_samples`` indices, by default one per example. Without replacement, a longer pass consists of
    several permutations. If ``generator`` is None, each pass creates one, seeded from the default generator. Raises
    TypeError if ``replacement`` is not a bool, and ValueError if ``num_samples`` is not a positive int."""

    def __init__(
        self, data_source: Sized, replacement: bool = False, num_samples: int | None = None, generator: Source = None
    ) -> None:
        self.data_source, self.replacement, self.generator = data_source, replacement, generator
        self._num_samples = num_samples
        _check_bool("replacement", replacement, TypeError)
        _check_positive("num_samples", self.num_samples)

    @property
    def num_samples(self) -> int:
        """The length of a pass. The dataset may have grown since the last pass."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        generator, n = self.generator, len(self.data_source)
        if generator is None:
            generator = Generator().manual_seed(default_generator.random64())
        if self.replacement:
            for start in range(0, self.num_samples, 32):
                yield from generator.integers(0, n, (min(32, self.num_samples - start),)).tolist()
            return
        for _ in range(self.num_samples // n):
            yield from generator.permutation(n).tolist()
        yield from generator.permutation(n).tolist()[: self.num_samples % n]  # drawn even if no indices remain

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """The ``indices`` in random order, without replacement."""

    def __init__(self, indices: Sequence[int], generator: Source = None) -> None:
        self.indices, self.generator = indices, generator

    def __iter__(self) -> Iterator[int]:
        order = (self.generator or default_generator).permutation(len(self.indices))
        yield from (self.indices[i] for i in order.tolist())

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """``num_samples`` indices per pass, drawn in proportion to the examples' weights, which need not add up to 1.
    Without ``replacement``, indices do not repeat, and there must be at least as many weights as samples. If
    ``generator`` is None, the default generator draws them."""

    def __init__(
        self, weights: Sequence[float], num_samples: int, replacement: bool = True, generator: Source = None
    ) -> None:
        _check_positive("num_samples", num_samples)
        _check_bool("replacement", replacement)
        self.weights = as_tensor(weights, dtype=dt.float64)
        if self.weights.ndim != 1:
            raise ValueError(f"weights should be a 1d sequence but have shape {tuple(self.weights.shape)}")
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def __iter__(self) -> Iterator[int]:
        numbers = multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator)
        yield from numbers.tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Groups the indices of any iterable into lists of ``batch_size``. ``drop_last`` omits a shorter last list. Raises
    ValueError if ``batch_size`` is not a positive int, or ``drop_last`` is not a bool."""

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        _check_positive("batch_size", batch_size)
        _check_bool("drop_last", drop_last)
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Iterator[list[int]]:
        numbers = iter(self.sampler)
        while batch := list(islice(numbers, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        return batch_count(len(self.sampler), self.batch_size, self.drop_last)  # type: ignore[arg-type]


class DistributedSampler(Sampler[int]):
    """Yields every ``num_replicas``-th index, starting at ``rank``, from an order that all processes share. Unless
    ``set_epoch`` is called before each epoch, every epoch has the same order.

    Args:
        num_replicas: the number of processes; by default, that of the process group, or 1 if there is no group.
        rank: the rank of this process; by default, its rank in the group, or 0. Raises ValueError if out of range.
        shuffle: use a random order that depends only on the epoch and ``seed``. If False, use 0, 1, 2, ...
        drop_last: omit the last indices so that all processes get the same number; if False, repeat the first ones."""

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        from ...distributed import get_rank, get_world_size, is_initialized

        ranks, own = (get_world_size(), get_rank()) if is_initialized() else (1, 0)
        num_replicas, rank = ranks if num_replicas is None else num_replicas, own if rank is None else rank
        if not 0 <= rank < num_replicas:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset, self.num_replicas, self.rank = dataset, num_replicas, rank
        self.epoch, self.drop_last, self.shuffle, self.seed = 0, drop_last, shuffle, seed
        share = len(dataset) / num_replicas
        self.num_samples = math.floor(share) if drop_last else math.ceil(share)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[int]:
        order = list(range(len(self.dataset)))
        if self.shuffle:
            order = Generator().manual_seed(self.seed + self.epoch).permutation(len(order)).tolist()
        if order:
            order = (order * math.ceil(self.total_size / len(order)))[: self.total_size]
        return iter(order[self.rank :: self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch, which determines the order."""
        self.epoch = epoch


def batch_count(examples: int, batch_size: int, drop_last: bool) -> int:
    """The number of batches for a number of examples."""
    return examples // batch_size if drop_last else -(-examples // batch_size)


def _check_positive(name: str, value: Any) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise ValueError(f"{name} should be a positive integer value, but got {name}={value}")


def _check_bool(name: str, value: Any, error: type[Exception] = ValueError) -> None:
    if not isinstance(value, bool):
        raise error(f"{name} should be a boolean value, but got {name}={value}")
