"""One update of the weights, from one batch or from several."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from minigrad import Tensor
from minigrad.backend import of
from minigrad.nn.module import Module
from minigrad.nn.utils.clip_grad import clip_grads_with_norm_, get_total_norm, scale_
from minigrad.optim.optimizer import Optimizer

Loss = Callable[[Any, Any], tuple[Tensor, float]]


class Part(NamedTuple):
    """One batch of an update: its number, from 0, its mean loss and its weight."""

    number: int
    loss: Any  # a tensor of one element, perhaps still being computed; from another rank a float
    weight: float


class Updated:
    """An update: the weight of all its batches, their mean loss, and the norm of the gradient. A GPU has yet to compute
    the latter two. Reading them waits for it: after the next update has been launched, that costs nothing; nor does it
    where all is on the CPU, ``is_known``."""

    def __init__(self, parts: list[Part], norm: Tensor, step: int) -> None:
        self.weight, self.step = sum(part.weight for part in parts), step
        self.is_known = norm.device.type == "cpu"
        self._losses = [(_later(part.loss), part.weight) for part in parts]
        self._norm = _later(norm)

    @property
    def loss(self) -> float:
        """The mean loss. Raises as ``check``."""
        return self.check()[0]

    @property
    def norm(self) -> float:
        """The norm of the gradient before it was clipped. Raises as ``check``."""
        return self.check()[1]

    def check(self) -> tuple[float, float]:
        """The loss and the norm. Raises RuntimeError: one of them is not finite."""
        loss, norm = sum(read() * weight for read, weight in self._losses) / self.weight, self._norm()
        for name, value in (("loss", loss), ("norm of the gradient", norm)):
            if not math.isfinite(value):
                late = "the model in memory is damaged, since a GPU reports it after the update; earlier checkpoints"
                harm = "the weights and earlier checkpoints" if self.is_known else late
                advice = "Try a lower learning rate, a longer warmup, or a smaller clip"
                tool = "minigrad.autograd.detect_anomaly() names the op that made the first such number"
                raise RuntimeError(f"the {name} is {value} in step {self.step}; {harm} are unharmed. {advice}; {tool}")
        return loss, norm


def _later(value: Any) -> Callable[[], float]:
    """A number, or the only element of a tensor as soon as it is computed."""
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
    """Change the weights by the gradient of the mean loss of all batches. Each batch counts by its weight (target
    tokens): the gradient ∑ᵢ wᵢ ∇Lᵢ / ∑ᵢ wᵢ is that of one large batch, up to rounding. Gradients are added with weights
    relative to the first, which leaves the gradient of a single batch unchanged to the bit: by ``gradients``, which is
    ``add_gradients`` or that of several ranks. Raises RuntimeError: the loss or the norm is not finite in ``step``; the
    weights are unchanged (on a GPU, reading them raises); ValueError: a weight is not positive."""
    optimizer.zero_grad()
    parts = (gradients or add_gradients)(model, loss, batches, step)
    parameters: list[Tensor] = [p for group in optimizer.param_groups for p in group["params"]]
    present = [p.grad for p in parameters if p.grad is not None]
    factor = parts[0].weight / sum(part.weight for part in parts)
    if factor != 1:
        scale_(present, float(factor))
    norm = get_total_norm(present)
    done = Updated(parts, norm, step)
    if done.is_known:
        done.check()
    if clip is not None:
        clip_grads_with_norm_(parameters, clip, norm)
    optimizer.step()
    return done


def add_gradients(
    model: Module, loss: Loss, batches: Iterable[Any], step: int, rank: int = 0, ranks: int = 1
) -> list[Part]:
    """Add up the gradients of one rank's batches, with weights relative to the first of them: of each ``ranks`` batches
    it takes the one at ``rank``, and fetches all. Raises ValueError: a weight is not positive."""
    parts: list[Part] = []
    for number, batch in enumerate(batches):
        if number % ranks != rank:
            continue
        mean, weight = loss(model, batch)
        if not weight > 0:
            raise ValueError(f"in step {step} the loss has the weight {weight}, which must be positive")
        parts.append(Part(number, mean.detach(), float(weight)))
        (mean if weight == parts[0].weight else mean * (weight / parts[0].weight)).backward()
    return parts
