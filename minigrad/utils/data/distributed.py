"""A dataset shared out among processes, each of which trains on its part."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ...backend.random import Generator
from .sampler import Sampler

__all__ = ["DistributedSampler"]


class DistributedSampler(Sampler[int]):
    """Every ``num_replicas``-th number of an order that all processes agree on, from ``rank`` on.

    Call ``set_epoch`` before each epoch: else every epoch has the same order.

    Args:
        dataset: it needs ``__len__``.
        num_replicas: among how many processes. None is 1: minigrad has no process groups, and asks none.
        rank: which of them this is; None is the first.
        shuffle: a random order, by ``seed`` and epoch; else 0, 1, 2, ...
        seed: the same in all processes.
        drop_last: leave out the last numbers, so that all processes have equally many; else the first
            numbers come again at the end.

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
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        share = len(dataset) / num_replicas
        self.num_samples = math.floor(share) if drop_last else math.ceil(share)
        self.total_size = self.num_samples * num_replicas
        self.shuffle = shuffle
        self.seed = seed

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
        """Say which epoch begins, for an order of its own."""
        self.epoch = epoch
