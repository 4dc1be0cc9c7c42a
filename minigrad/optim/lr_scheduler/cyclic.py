"""CyclicLR: up and down between two rates (Smith 2017)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..optimizer import Optimizer
from .scheduler import GroupScheduler, check_momentum, check_optimizer, for_each_group, put, put_momentum

Scale = Callable[[float], float]


class CyclicLR(GroupScheduler):
    """From base_lr up to max_lr in ``step_size_up`` calls, and down again in ``step_size_down``.

    Args:
        optimizer, last_epoch: see LRScheduler.
        base_lr, max_lr: a number, or one for each group.
        step_size_up, step_size_down: calls; down as many as up if None.
        mode: "triangular"; "triangular2", each cycle half as high; "exp_range", the height times gammaᵉ.
        scale_fn, scale_mode: in place of ``mode``: the height as a function of the cycle's number (from 1:
            "cycle") or of e ("iterations").
        cycle_momentum: let the momentum (or the first beta) go the other way, between
            ``base_momentum`` and ``max_momentum``.

    Raises:
        ValueError: an unknown mode; lists of another length than the groups; no momentum to cycle.
    """

    _functions = ("_scale_fn_custom",)

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: Any,
        max_lr: Any,
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Scale | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.8,
        max_momentum: Any = 0.9,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        base_lrs = for_each_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for rate, group in zip(base_lrs, optimizer.param_groups, strict=True):
                put(group, "lr", rate)
        self.max_lrs = for_each_group("max_lr", optimizer, max_lr)
        up, down = float(step_size_up), float(step_size_up if step_size_down is None else step_size_down)
        self.total_size, self.step_ratio = up + down, up / (up + down)
        self.mode, self.gamma, self._scale_fn_custom = mode, gamma, scale_fn
        self.scale_mode = scale_mode if scale_fn else "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._set_momentum(optimizer, base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def _set_momentum(self, optimizer: Optimizer, base: Any, most: Any, last_epoch: int) -> None:
        self.use_beta1 = check_momentum(optimizer)
        self.base_momentums = for_each_group("base_momentum", optimizer, base)
        self.max_momentums = for_each_group("max_momentum", optimizer, most)
        if last_epoch == -1:
            for low, high, group in zip(self.base_momentums, self.max_momentums, optimizer.param_groups, strict=True):
                put_momentum(group, high)
                group["max_momentum"], group["base_momentum"] = high, low

    def scale_fn(self, x: float) -> float:
        """The height of cycle ``x``, or at e = ``x``."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        return {"triangular": 1.0, "triangular2": 1 / 2.0 ** (x - 1)}.get(self.mode, self.gamma**x)

    def _closed_form(self, i: int, base: float) -> float:
        e = self.last_epoch
        cycle = math.floor(1 + e / self.total_size)
        x = 1 + e / self.total_size - cycle
        ratio = self.step_ratio
        part = x / ratio if x <= ratio else (x - 1) / (ratio - 1)
        part *= self.scale_fn(cycle if self.scale_mode == "cycle" else e)
        if self.cycle_momentum:
            low, high = self.base_momentums[i], self.max_momentums[i]
            put_momentum(self.optimizer.param_groups[i], high - (high - low) * part)
        return base + (self.max_lrs[i] - base) * part
