"""The ranks that share the batches of an update: this process alone, or those of ``minigrad.distributed``.

Of N ranks, rank r takes the batches r, r + N, ... of an update. Gradients are added up over all ranks, and every rank
changes its weights by the same sum, so that weights stay equal. What an update computes depends on the seed, the step
and the batches' numbers, not on how many ranks there are (up to rounding): a training can go on with another number.

Threads wait for each other after every operation. If operations are small, ranks that meet once per update are faster
(docs/performance.md has figures).
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from typing import Any, TypeVar

from minigrad import Tensor, distributed
from minigrad.autograd.tape import wrap
from minigrad.backend.host import host
from minigrad.distributed import objects
from minigrad.distributed.group import the_group
from minigrad.nn.module import Module
from minigrad.nn.parallel.buckets import Buckets

from .update import Loss, Part, add_gradients

T = TypeVar("T")
PATIENT = timedelta(days=365)  # how long ranks wait while the first evaluates or saves


class Ranks:
    """The ranks of ``init_process_group``, which has to come before; without it, this process alone, one of ``count``.
    Rank 0, ``is_first``, alone evaluates, writes files, and shows progress."""

    def __init__(self) -> None:
        there = distributed.is_initialized()
        self.rank: int = distributed.get_rank() if there else 0
        self.count: int = distributed.get_world_size() if there else 1
        self.is_first = self.rank == 0
        self._group: Any = None
        self._buckets: Buckets | None = None

    def of_first(self, make: Callable[[], T]) -> T:
        """What a function returns on rank 0, which alone calls it; its exception on all ranks."""
        if self.count == 1:
            return make()
        if self._group is None:
            self._group = distributed.new_group(timeout=PATIENT)
        return objects.of_first(make, self._group)

    def close(self) -> None:
        """Free what the ranks have for each other, at the end of a training."""
        if self._group is not None:
            distributed.destroy_process_group(self._group)
        self._group = self._buckets = None

    def send(self, tensors: Iterable[Tensor]) -> None:
        """Give all ranks the tensors of rank 0."""
        if self.count > 1:
            for tensor in tensors:
                distributed.broadcast(tensor.detach(), src=0)

    def add_gradients(self, model: Module, loss: Loss, batches: Iterable[Any], step: int) -> list[Part]:
        """Add up the gradients of all batches of an update, over all ranks. Returns all parts, in order. Raises
        ValueError: a weight is not positive."""
        parts = add_gradients(model, loss, batches, step, self.rank, self.count)
        if self.count == 1:
            return parts
        parameters = [p for p in model.parameters() if p.requires_grad]
        own = [part._replace(loss=float(part.loss)) for part in parts]
        gathered: list[Any] = [None] * self.count
        objects.all_gather_object(gathered, (own, [p.grad is not None for p in parameters]))
        together = sorted((part for theirs, _ in gathered for part in theirs), key=lambda part: part.number)
        used = [any(present) for present in zip(*(present for _, present in gathered), strict=True)]
        self._reduce(parameters, used, own[0].weight / together[0].weight)
        return together

    def _reduce(self, parameters: Sequence[Tensor], used: Sequence[bool], factor: float) -> None:
        """Add up gradients, times each rank's factor, where any rank has one."""
        if self._buckets is None or [*map(id, self._buckets.parameters)] != [*map(id, parameters)]:
            self._buckets = Buckets(parameters, the_group())
        buckets = self._buckets
        buckets.begin()
        for number in reversed(range(len(parameters))):
            grad = parameters[number].grad
            if grad is not None:
                buckets.add(number, grad.array)
            buckets.complete(number, factor)
        buckets.wait()
        for number, parameter in enumerate(parameters):
            parameter.grad = wrap(buckets.view(number)) if used[number] else None

    def check_equal(self, model: Module) -> None:
        """Raise RuntimeError on all ranks if their weights are not equal to the bit, as they have to be."""
        if self.count == 1:
            return
        sums: list[Any] = [None] * self.count
        own = 0
        for p in model.parameters():
            own = zlib.crc32(host(p.detach()).tobytes(), own)
        objects.all_gather_object(sums, own)
        if others := [rank for rank, each in enumerate(sums) if each != sums[0]]:
            reason = "its machine, or what the model or the loss do besides, is not that of the others"
            raise RuntimeError(f"the weights of rank {others[0]} differ from those of rank 0: {reason}")
