"""Schedules that rise, and then fall as 1 / √steps. PyTorch has none of them."""

from __future__ import annotations

import math

from ..optimizer import Optimizer
from .scheduler import GroupScheduler


class NoamLR(GroupScheduler):
    """lr₀ · d_model^-½ · min(s^-½, s · warmup_steps^-³⁄²), s = e + 1 (Vaswani et al. 2017, equation 3).

    It rises linearly over ``warmup_steps`` steps, and then falls as 1 / √s. With the paper's lr₀ = 1 its
    summit is (d_model · warmup_steps)^-½.
    """

    def __init__(self, optimizer: Optimizer, d_model: int, warmup_steps: int = 4000, last_epoch: int = -1) -> None:
        if d_model <= 0 or warmup_steps <= 0:
            raise ValueError(f"NoamLR: d_model and warmup_steps must be positive, not {d_model} and {warmup_steps}")
        self.d_model, self.warmup_steps = d_model, warmup_steps
        super().__init__(optimizer, last_epoch)

    def _closed_form(self, i: int, base: float) -> float:
        s = self.last_epoch + 1
        rise = s / (self.warmup_steps * math.sqrt(self.warmup_steps))
        return base / math.sqrt(self.d_model) * min(1 / math.sqrt(s), rise)


class InverseSquareRootLR(GroupScheduler):
    """lr₀ · min(s / warmup_steps, √(warmup_steps / s)), s = e + 1: up to lr₀ and then down."""

    def __init__(self, optimizer: Optimizer, warmup_steps: int = 4000, last_epoch: int = -1) -> None:
        if warmup_steps <= 0:
            raise ValueError(f"InverseSquareRootLR: warmup_steps must be positive, not {warmup_steps}")
        self.warmup_steps = warmup_steps
        super().__init__(optimizer, last_epoch)

    def _closed_form(self, i: int, base: float) -> float:
        s = self.last_epoch + 1
        return base * min(s / self.warmup_steps, math.sqrt(self.warmup_steps / s))
