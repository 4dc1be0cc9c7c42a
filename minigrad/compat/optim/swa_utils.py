"""Tools for averaged weights: a learning-rate schedule, and new statistics for batch norms."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from ...autograd import no_grad
from ...autograd.mode import at_end
from ...nn.module import Module
from ...optim.lr_scheduler.schedules import FactorScheduler, for_each_group
from ...optim.optimizer import Optimizer
from .cyclic import check_strategy


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Recompute the running statistics of all BatchNorm layers in one pass over the data.

    Args:
        loader: batches, or tuples and lists that begin with one.
        model: its layers with a ``running_mean`` and ``momentum`` are meant.
        device: where to put the batches; where they are if None.
    """
    layers: list[Any] = [m for m in model.modules() if getattr(m, "running_mean", None) is not None]
    if not layers:
        return
    momenta = [layer.momentum for layer in layers]

    def put_back(was_training: bool) -> None:
        for layer, momentum in zip(layers, momenta, strict=True):
            layer.momentum = momentum
        model.train(was_training)

    with at_end(put_back, model.training) as end, end:
        model.train()
        for layer in layers:
            layer.reset_running_stats()
            layer.momentum = None  # the equal mean of all batches
        for batch in loader:
            x = batch[0] if isinstance(batch, (list, tuple)) else batch
            model(x if device is None else x.to(device))


class SWALR(FactorScheduler):
    """From the present rate to ``swa_lr`` in ``anneal_epochs`` calls, and constant from there on.

    Args:
        swa_lr: a number, or one for each group.
        anneal_epochs: how many calls it takes, not negative. anneal_strategy: "cos" or "linear".
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: Any,
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        for rate, group in zip(for_each_group("swa_lr", optimizer, swa_lr), optimizer.param_groups, strict=True):
            group["swa_lr"] = rate
        check_strategy(anneal_strategy)
        if anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self._anneal_strategy, self.anneal_epochs = anneal_strategy, anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _floor(self, i: int) -> float:
        return float(self.optimizer.param_groups[i]["swa_lr"])

    def _factor(self, e: int) -> float:
        calls = e + self._step_count - 1 - self.last_epoch  # its own, wherever ``last_epoch`` began, as in PyTorch
        part = min(1.0, calls / self.anneal_epochs) if self.anneal_epochs else 1.0
        return 1 - part if self._anneal_strategy == "linear" else (1 + math.cos(math.pi * part)) / 2
