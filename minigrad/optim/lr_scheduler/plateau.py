"""ReduceLROnPlateau: down when a metric stands still."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..optimizer import Optimizer
from .scheduler import LRScheduler, check_optimizer, for_each_group, put


class ReduceLROnPlateau(LRScheduler):
    """The present rate times ``factor``, below 1, when a metric has not improved for more than ``patience`` calls.

    Args:
        mode: which way is better, "min" or "max".
        threshold, threshold_mode: better means by more than this part of the best ("rel"), or by this much ("abs").
        cooldown: how many calls after a change do not count. min_lr: a floor, for all groups or for each.
        eps: the smallest change.

    Raises ValueError: factor not below 1, an unknown mode, or another number of floors than groups; TypeError: not an
    Optimizer.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float | Sequence[float] = 0,
        eps: float = 1e-8,
        verbose: Any = None,
    ) -> None:
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        check_optimizer(optimizer)
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown!")
        self.default_min_lr: Any = None if isinstance(min_lr, (list, tuple)) else min_lr
        self.min_lrs = for_each_group("min_lrs", optimizer, min_lr, "expected {count} {name}, got {length}")
        self.optimizer, self.mode, self.factor, self.patience = optimizer, mode, factor, patience
        self.threshold, self.threshold_mode = threshold, threshold_mode
        self.cooldown, self.eps = cooldown, eps
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.last_epoch = 0
        self._reset()
        self._note_rates()

    def _reset(self) -> None:
        self.best, self.cooldown_counter, self.num_bad_epochs = self.mode_worse, 0, 0

    @property
    def in_cooldown(self) -> bool:
        """Whether calls do not count at present."""
        return self.cooldown_counter > 0

    def is_better(self, a: float, best: float) -> bool:
        """Whether a metric is better than the best so far."""
        sign = 1 if self.mode == "max" else -1
        margin = best * self.threshold if self.threshold_mode == "rel" else self.threshold
        return a * sign > best * sign + margin if math.isfinite(best) else a * sign > best * sign

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Take a new value of the metric into account."""
        current = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        better = self.is_better(current, self.best)
        self.best = current if better else self.best
        self.num_bad_epochs = 0 if better else self.num_bad_epochs + 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr(self.last_epoch)
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._note_rates()

    def _reduce_lr(self, epoch: int) -> None:
        missing = len(self.optimizer.param_groups) - len(self.min_lrs)
        if missing and self.default_min_lr is None:
            raise RuntimeError(f"ReduceLROnPlateau: {missing} groups have no floor: give one min_lr for all")
        self.min_lrs += [self.default_min_lr] * missing
        for group, floor in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
            lower = max(float(group["lr"]) * self.factor, floor)
            if float(group["lr"]) - lower > self.eps:
                put(group, "lr", lower)
