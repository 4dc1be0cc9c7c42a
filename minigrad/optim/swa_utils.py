"""Averages of model weights over training: the mean (SWA, Izmailov et al. 2018) or exponential moving average (EMA)."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..autograd import no_grad
from ..autograd.origin import note_change
from ..functions.creation import tensor
from ..nn.module import Module
from ..tensor import Tensor
from .optimizer import together

if TYPE_CHECKING:  # PyTorch's other names are in ``compat``
    from ..compat.optim.schedules import SWALR, update_bn

__all__ = ["SWALR", "AveragedModel", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn"]
__all__ += ["get_swa_multi_avg_fn", "update_bn"]

Average = Callable[[Tensor, Tensor, Any], Tensor]
Averages = Callable[[Sequence[Tensor], Sequence[Tensor], Any], None]


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """Return a function for decay · mean + (1 - decay) · new. Raises ValueError if ``decay`` is outside [0, 1]."""
    if not 0 <= decay <= 1:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")
    return no_grad()(lambda mean, new, count: decay * mean + (1 - decay) * new)


def get_swa_avg_fn() -> Average:
    """Return a function for the mean of all values so far, mean + (new - mean) / (count + 1)."""
    return no_grad()(lambda mean, new, count: mean + (new - mean) / (count + 1))


def get_ema_multi_avg_fn(decay: float = 0.999) -> Averages:
    """Like ``get_ema_avg_fn``, but the function updates lists of tensors in place."""
    get_ema_avg_fn(decay)  # checks the decay
    return lambda averaged, current, num_averaged: move_means(averaged, current, 1 - decay)


def get_swa_multi_avg_fn() -> Averages:
    """Like ``get_swa_avg_fn``, but the function updates lists of tensors in place."""
    return lambda averaged, current, num_averaged: move_means(averaged, current, 1 / (float(num_averaged) + 1))


@no_grad()
def move_means(means: Sequence[Tensor], new: Sequence[Tensor], weight: float) -> None:
    """mean ← mean + weight · (new - mean), in place, for floating-point tensors; other tensors are copied. This is a
    gradient descent step on ½ |mean - new|², so SGD's kernel can update many tensors at once."""
    changed = [False] * len(means)
    if weight < 0.5 and (kernel := together("sgd", means)):
        many = kernel.Many([(m.array, n.array) for m, n in zip(means, new, strict=True)])
        kernel.step_all(many, -1.0, 1.0, 0.0, 1.0, False, weight)
        changed = many.fits
    for m, n, is_changed in zip(means, new, changed, strict=True):
        if is_changed:
            note_change(m._changes, "lerp_", "move_means()")
        else:
            m.copy_(m.lerp(n, weight) if m.is_floating_point() else n)


def _for_each(average: Average) -> Averages:
    @no_grad()
    def update(averaged: Sequence[Tensor], current: Sequence[Tensor], num_averaged: Any) -> None:
        for mean, new in zip(averaged, current, strict=True):
            if mean.is_floating_point():
                mean.copy_(average(mean, new, num_averaged))
            else:
                mean.copy_(new)

    return update


class AveragedModel(Module):
    """A copy of a model whose parameters are averaged over all calls of ``update_parameters``.

    Args:
        model: the model to copy. device: the device for the copy; None means the model's device.
        avg_fn: computes the next mean from (mean, new, count so far); None means the plain mean.
        multi_avg_fn: updates lists of tensors in place; raises AssertionError if ``avg_fn`` is also passed.
        use_buffers: average the buffers as well instead of copying them."""

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Average | None = None,
        multi_avg_fn: Averages | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0, device=device))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    @no_grad()
    def update_parameters(self, model: Module) -> None:
        """Update the means with the parameters of ``model``. The first call copies them."""
        means, new = (
            [*(p.detach() for p in m.parameters()), *(m.buffers() if self.use_buffers else ())]
            for m in (self.module, model)
        )
        new = [n.to(device=mean.device) for n, mean in zip(new, means, strict=True)]
        update = self.multi_avg_fn or (_for_each(self.avg_fn) if self.avg_fn else get_swa_multi_avg_fn())
        if self.n_averaged.item() == 0:
            update = _for_each(lambda mean, first, count: first)
        update(means, new, self.n_averaged)
        if not self.use_buffers:
            for b, n in zip(self.module.buffers(), model.buffers(), strict=True):
                b.copy_(n.to(device=b.device))
        self.n_averaged += 1
