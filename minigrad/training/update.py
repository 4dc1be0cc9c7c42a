"""One update of the weights, from one batch or from several."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ..autograd import no_grad
from ..nn.module import Module
from ..nn.utils.clip_grad import clip_grads_with_norm_, get_total_norm
from ..optim.optimizer import Optimizer
from ..tensor import Tensor

Loss = Callable[[Any, Any], tuple[Tensor, float]]


class Updated(NamedTuple):
    """What an update was made of: the mean loss, the weight of its batches, the norm of the gradient."""

    loss: float
    weight: float
    norm: float


def update(
    model: Module, optimizer: Optimizer, loss: Loss, batches: Iterable[Any], clip: float | None, step: int
) -> Updated:
    """Change the weights by the gradient of the mean loss of all batches.

    Each batch counts by its weight (target tokens), so that the gradient is that of all of them as one
    batch, up to rounding: ∑ᵢ wᵢ ∇Lᵢ / ∑ᵢ wᵢ. The gradients are added with weights relative to the first,
    which leaves that of a single batch as it is, to the bit.

    Args:
        loss: (model, batch) to the mean loss, a tensor of one element, and its weight.
        clip: the largest norm that the gradient may have; None for any. step: for messages.

    Raises:
        RuntimeError: the loss or the norm is not finite; the weights are as they were.
        ValueError: a weight is not positive.
    """
    optimizer.zero_grad()
    parts: list[tuple[Tensor, float]] = []
    for batch in batches:
        mean, weight = loss(model, batch)
        if not weight > 0:
            raise ValueError(f"in step {step} the loss has the weight {weight}, which must be positive")
        parts.append((mean.detach(), float(weight)))
        (mean if weight == parts[0][1] else mean * (weight / parts[0][1])).backward()
    total = sum(weight for _, weight in parts)
    parameters: list[Tensor] = [p for group in optimizer.param_groups for p in group["params"]]
    gradients = [p.grad for p in parameters if p.grad is not None]
    _scale(gradients, parts[0][1] / total)
    norm = get_total_norm(gradients)
    found = Updated(sum(float(mean) * weight for mean, weight in parts) / total, total, float(norm))
    _check(found, step)
    if clip is not None:
        clip_grads_with_norm_(parameters, clip, norm)
    optimizer.step()
    return found


@no_grad()
def _scale(gradients: list[Tensor], factor: float) -> None:
    if factor != 1:
        for gradient in gradients:
            gradient.mul_(factor)


def _check(found: Updated, step: int) -> None:
    for name, value in (("loss", found.loss), ("norm of the gradient", found.norm)):
        if not math.isfinite(value):
            raise RuntimeError(
                f"the {name} is {value} in step {step}; the weights and what was saved before are unharmed. "
                "Try a lower learning rate, a longer warmup, or a smaller clip; minigrad.autograd."
                "detect_anomaly() names the op that made the first such number"
            )
