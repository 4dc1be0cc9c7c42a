"""An update of the weights from one or more batches, by this process or by the ranks of ``minigrad.distributed``.

With N ranks, rank r computes the batches r, r + N, ... of an update. Gradients are summed over all ranks, and every
rank updates its weights with the same sum. The sum depends on the seed, the step and the batch numbers, not on the
number of ranks (up to rounding), so a run can resume with a different number of ranks.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any, NamedTuple, TypeVar

from minigrad import Tensor, distributed
from minigrad.autograd.tape import wrap
from minigrad.backend import of
from minigrad.backend.host import host
from minigrad.distributed import objects
from minigrad.distributed.group import the_group
from minigrad.nn.module import Module
from minigrad.nn.parallel.buckets import Buckets
from minigrad.nn.utils.clip_grad import clip_grads_with_norm_, get_total_norm, scale_
from minigrad.optim.optimizer import Optimizer

T = TypeVar("T")
PATIENT = timedelta(days=365)  # the timeout of other ranks while the first rank evaluates or saves
Loss = Callable[[Any, Any], tuple[Tensor, float]]


class Part(NamedTuple):
    """A batch in an update: its number (from 0), mean loss and weight."""

    number: int
    loss: Any  # a one-element tensor, perhaps still being computed; a float from another rank
    weight: float


class Updated:
    """The results of an update: the total weight of its batches, their mean loss, and the gradient norm. On a GPU, loss
    and norm are still being computed. Reading them waits for the GPU, which costs nothing once the next update has been
    launched. On the CPU (``is_known``), reading never waits."""

    def __init__(self, parts: list[Part], norm: Tensor, step: int) -> None:
        self.weight, self.step = sum(part.weight for part in parts), step
        self.is_known = norm.device.type == "cpu"
        self._losses = [(_later(part.loss), part.weight) for part in parts]
        self._norm = _later(norm)

    @property
    def loss(self) -> float:
        """The mean loss. Raises the errors of ``check``."""
        return self.check()[0]

    def check(self) -> tuple[float, float]:
        """The mean loss, and the gradient norm before clipping. Raises RuntimeError if either is not finite."""
        loss, norm = sum(read() * weight for read, weight in self._losses) / self.weight, self._norm()
        for name, value in (("loss", loss), ("gradient norm", norm)):
            if not math.isfinite(value):
                late = "the model in memory is damaged, since a GPU reports it after the update; earlier checkpoints"
                harm = "the weights and earlier checkpoints" if self.is_known else late
                advice = "Try a lower learning rate, a longer warmup, or a smaller clip"
                tool = "minigrad.autograd.detect_anomaly() names the op that produced the first such number"
                raise RuntimeError(f"the {name} is {value} in step {self.step}; {harm} are unharmed. {advice}; {tool}")
        return loss, norm


def _later(value: Any) -> Callable[[], float]:
    """A function that returns a number, or the only element of a tensor once it is computed."""
    if not isinstance(value, Tensor):
        return lambda: float(value)
    read = of(value.array).later(value.array)
    return lambda: float(read().item())


def update(
    model: Module,
    optimizer: Optimizer,
    loss: Loss,
    batches: Iterable[Any],
    clip: float | None,
    step: int,
    gradients: Callable[[Module, Loss, Iterable[Any], int], list[Part]] | None = None,
) -> Updated:
    """Update the weights using the gradient of the mean loss of all batches. Each batch is weighted by its target
    tokens, so the gradient ∑ᵢ wᵢ ∇Lᵢ / ∑ᵢ wᵢ equals that of one large batch, up to rounding. ``gradients`` computes the
    sum; the default is ``add_gradients``. Raises ValueError if a weight is not positive, and RuntimeError before the
    weights change (on a GPU, only when the results are read) if the loss or norm of ``step`` is not finite."""
    optimizer.zero_grad()
    parts = (gradients or add_gradients)(model, loss, batches, step)
    parameters: list[Tensor] = [p for group in optimizer.param_groups for p in group["params"]]
    present = [p.grad for p in parameters if p.grad is not None]
    factor = parts[0].weight / sum(part.weight for part in parts)
    if factor != 1:
        scale_(present, float(factor))
    norm = get_total_norm(present)
    updated = Updated(parts, norm, step)
    if updated.is_known:
        updated.check()
    if clip is not None:
        clip_grads_with_norm_(parameters, clip, norm)
    optimizer.step()
    return updated


def add_gradients(
    model: Module, loss: Loss, batches: Iterable[Any], step: int, rank: int = 0, ranks: int = 1
) -> list[Part]:
    """Sum the gradients of one rank's batches, with weights relative to the first batch's, so the gradient of a single
    batch is bitwise unchanged. A rank fetches all batches, but computes only the one at ``rank`` in each group of
    ``ranks``. Raises ValueError if a weight is not positive."""
    parts: list[Part] = []
    for number, batch in enumerate(batches):
        if number % ranks != rank:
            continue
        mean, weight = loss(model, batch)
        if not weight > 0:
            raise ValueError(f"in step {step} the loss has weight {weight}, which must be positive")
        parts.append(Part(number, mean.detach(), float(weight)))
        (mean if weight == parts[0].weight else mean * (weight / parts[0].weight)).backward()
    return parts


class Ranks:
    """The ranks of the process group. Without ``init_process_group``, this process is the only rank (``count`` is 1).
    Only rank 0 (``is_first``) evaluates, writes files, and shows progress."""

    def __init__(self) -> None:
        there = distributed.is_initialized()
        self.rank: int = distributed.get_rank() if there else 0
        self.count: int = distributed.get_world_size() if there else 1
        self.is_first = self.rank == 0
        self._group: Any = None
        self._buckets: Buckets | None = None

    def of_first(self, make: Callable[[], T]) -> T:
        """Call a function on rank 0 only. All ranks return its result or raise its exception."""
        if self.count == 1:
            return make()
        if self._group is None:
            self._group = distributed.new_group(timeout=PATIENT)
        return objects.of_first(make, self._group)

    def close(self) -> None:
        """Destroy the process group at the end of training."""
        if self._group is not None:
            distributed.destroy_process_group(self._group)
        self._group = self._buckets = None

    def send(self, tensors: Iterable[Tensor]) -> None:
        """Broadcast the tensors of rank 0 to all ranks."""
        if self.count > 1:
            for tensor in tensors:
                distributed.broadcast(tensor.detach(), src=0)

    def add_gradients(self, model: Module, loss: Loss, batches: Iterable[Any], step: int) -> list[Part]:
        """Sum the gradients of all batches of an update, over all ranks. Returns all parts, in order."""
        parts = add_gradients(model, loss, batches, step, self.rank, self.count)
        if self.count == 1:
            return parts
        parameters = [p for p in model.parameters() if p.requires_grad]
        own = [part._replace(loss=float(part.loss)) for part in parts]
        gathered: list[Any] = [None] * self.count
        objects.all_gather_object(gathered, (own, [p.grad is not None for p in parameters]))
        together = sorted((part for theirs, _ in gathered for part in theirs), key=lambda part: part.number)
        is_used = [any(present) for present in zip(*(present for _, present in gathered), strict=True)]
        # Gradients times each rank's factor are summed for each parameter with a gradient on any rank.
        if self._buckets is None or [*map(id, self._buckets.parameters)] != [*map(id, parameters)]:
            self._buckets = Buckets(parameters, the_group())
        buckets, factor = self._buckets, own[0].weight / together[0].weight
        buckets.begin()
        for number in reversed(range(len(parameters))):
            if (grad := parameters[number].grad) is not None:
                buckets.add(number, grad.array)
            buckets.complete(number, factor)
        buckets.wait()
        for number, parameter in enumerate(parameters):
            parameter.grad = wrap(buckets.view(number)) if is_used[number] else None
        return together

    def check_equal(self, model: Module) -> None:
        """Raise RuntimeError on all ranks unless their weights are bitwise identical."""
        if self.count == 1:
            return
        sums: list[Any] = [None] * self.count
        own = 0
        for p in model.parameters():
            own = zlib.crc32(host(p.detach()).tobytes(), own)
        objects.all_gather_object(sums, own)
        if others := [rank for rank, each in enumerate(sums) if each != sums[0]]:
            reason = "its machine differs from the others, or the model or the loss has side effects that differ on it"
            raise RuntimeError(f"the weights of rank {others[0]} differ from those of rank 0: {reason}")
