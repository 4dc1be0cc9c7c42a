"""Gradients packed into flat arrays (buckets). Each is reduced while the backward pass computes the next gradients.

Li et al. 2020, "PyTorch Distributed: Experiences on Accelerating Data Parallel Training": many small reductions add
latency, while a single large one could only begin after the last gradient. Buckets are in reverse parameter order,
which is roughly the order in which gradients are computed. All ranks reduce them in this order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

from ...backend import of, xp
from ...distributed import collectives
from ...distributed.group import ProcessGroup
from ...distributed.work import Work
from ...tensor import Tensor, wrap

MiB = 2**20


class GradBucket:
    """The gradients of the parameters whose indices are ``numbers``. They share a dtype and a device. ``flat`` contains
    all gradients, and ``views`` have the parameters' shapes. Communication hooks receive a bucket."""

    def __init__(self, place: int, count: int, numbers: list[int], parameters: Sequence[Tensor]) -> None:
        self._place, self._count, self.numbers = place, count, numbers
        self._parameters = [parameters[number] for number in numbers]
        arrays = [parameter.array for parameter in self._parameters]
        first = arrays[0]
        flat = xp(first).empty(sum(array.size for array in arrays), first.dtype)
        self.flat: Tensor = wrap(of(first).asarray(flat, of(first).device_of(first)))
        ends = list(accumulate(array.size for array in arrays))
        self.views = [self.flat.array[end - a.size : end].reshape(a.shape) for end, a in zip(ends, arrays, strict=True)]
        self.waiting = 0
        self.work: Work | None = None

    def index(self) -> int:
        """The index of this bucket. Bucket 0 is reduced first."""
        return self._place

    def is_last(self) -> bool:
        """Whether this is the last bucket."""
        return self._place == self._count - 1

    def buffer(self) -> Tensor:
        """All gradients in one 1-D tensor."""
        return self.flat

    def set_buffer(self, buffer: Tensor) -> None:
        """Replace the gradients with those in ``buffer``."""
        self.flat.array[...] = buffer.array.reshape(-1)

    def gradients(self) -> list[Tensor]:
        """The gradients in the parameters' shapes, as views of the buffer."""
        return [wrap(view) for view in self.views]

    def parameters(self) -> list[Tensor]:
        """The parameters whose gradients are in this bucket."""
        return self._parameters


class Buckets:
    """The buckets of all ``parameters`` (in model order), which a group of ranks reduces. ``first_bytes``: the size of
    the first bucket, which is small so that its reduction begins early. ``most_bytes``: the size of the others."""

    def __init__(
        self, parameters: Sequence[Tensor], group: ProcessGroup, first_bytes: float = MiB, most_bytes: float = 25 * MiB
    ) -> None:
        self.parameters, self.group, self._sizes = list(parameters), group, (first_bytes, most_bytes)
        self.reduce: Callable[[GradBucket], Work | None]
        self.reduce = lambda bucket: collectives.all_reduce(bucket.flat, group=group, async_op=True)
        self._written: set[int] = set()
        self._next = 0
        self._make()

    def _make(self) -> None:
        first_bytes, most_bytes = self._sizes
        shares: list[list[int]] = []  # the parameter indices in each bucket, in reduction order
        open_ones: dict[Any, list[int]] = {}
        limits: dict[Any, float] = {}
        for number in reversed(range(len(self.parameters))):
            array = self.parameters[number].array
            kind = array.dtype, of(array).device_of(array)
            share = open_ones.setdefault(kind, [])
            share.append(number)
            size = sum(math.prod(self.parameters[n].array.shape) * array.dtype.itemsize for n in share)
            if size >= limits.get(kind, first_bytes):  # the bucket is full; one parameter may exceed the limit
                shares.append(open_ones.pop(kind))
                limits[kind] = most_bytes
        shares += open_ones.values()
        self.buckets = [GradBucket(i, len(shares), share, self.parameters) for i, share in enumerate(shares)]
        places = ((number, bucket, i) for bucket in self.buckets for i, number in enumerate(bucket.numbers))
        self._places = {number: (bucket, i) for number, bucket, i in places}

    def begin(self) -> None:
        """Clear the gradients. Rebuild the buckets if parameters have been moved or converted."""
        for number, parameter in enumerate(self.parameters):
            kinds = [(x.dtype, x.shape, of(x).device_of(x)) for x in (self.view(number), parameter.array)]
            if kinds[0] != kinds[1]:
                self._make()
                break
        self._written, self._next = set(), 0
        for bucket in self.buckets:
            bucket.waiting, bucket.work = len(bucket.numbers), None

    def view(self, number: int) -> Any:
        bucket, place = self._places[number]
        return bucket.views[place]

    def add(self, number: int, gradient: Any) -> None:
        if number in self._written:
            view = self.view(number)
            view += gradient
        else:
            self.view(number)[...] = gradient
            self._written.add(number)

    def complete(self, number: int, factor: float = 1.0) -> None:
        """Multiply a gradient (zero if none was added) by ``factor``, and reduce the buckets that it completes."""
        bucket, place = self._places[number]
        if number not in self._written:
            bucket.views[place][...] = 0
        elif factor != 1.0:
            view = bucket.views[place]
            view *= view.dtype.type(factor)
        bucket.waiting -= 1
        while self._next < len(self.buckets) and self.buckets[self._next].waiting == 0:
            following = self.buckets[self._next]
            self._next += 1
            following.work = self.reduce(following)

    def move(self) -> None:
        for bucket in self.buckets[: self._next]:
            if bucket.work is not None and bucket.work.is_completed():
                bucket.work = None

    def wait(self) -> None:
        """Wait until all buckets are reduced. All gradients must be complete."""
        for bucket in self.buckets:
            if bucket.work is not None:
                bucket.work.wait()
                bucket.work = None
