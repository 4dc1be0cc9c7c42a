"""A dataset split among processes, each of which trains on its part."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ...backend.random import Generator
from .sampler import Sampler


class DistributedSampler(Sampler[int]):
    """Every ``num_replicas``-th number, from ``rank`` on, of an order that all processes share.

    Without a call of ``set_epoch`` before each epoch, every epoch has the same order.

    Args:
        dataset: one with ``__len__``.
        num_replicas: the number of processes. None is 1: minigrad has no process groups to ask.
        rank: of this process; None is 0.
        shuffle: a random order, by ``seed`` and epoch; else 0, 1, 2, ...
        seed: the same in all processes.
        drop_last: leave out the last numbers to give all processes equally many; else the first numbers
            come again at the end.

    Raises:
        ValueError: there is no such rank.
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        num_replicas, rank = 1 if num_replicas is None else num_replicas, rank or 0
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
        """Begin an epoch, which has an order of its own."""
        self.epoch = epoch
