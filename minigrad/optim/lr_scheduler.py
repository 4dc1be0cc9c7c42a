"""Learning rates over time. Call ``scheduler.step()`` after each ``optimizer.step()`` (or each epoch).

e counts these calls from 0, and lr₀ is a group's rate when the scheduler was made. StepLR, MultiStepLR,
ExponentialLR, LinearLR and CosineAnnealingLR change the present rate, so that several can act on one
optimiser; LambdaLR, NoamLR and InverseSquareRootLR set it.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Sequence
from typing import Any

from .optimizer import Group, Optimizer


class LRScheduler:
    """What all schedules share. A subclass writes ``_rate(group, base)``, and usually ``_closed_form(base)``.

    Args:
        optimizer: whose groups' "lr" is changed.
        last_epoch: e of the last call, -1 to start; else the groups must have an "initial_lr".

    Attributes:
        base_lrs: lr₀ of each group. last_epoch: e.

    Raises:
        TypeError: not an Optimizer. KeyError: a group without "initial_lr".
    """

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", group["lr"])
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming an optimizer"
                )
        self.optimizer, self.last_epoch = optimizer, last_epoch
        self.base_lrs: list[float] = [group["initial_lr"] for group in optimizer.param_groups]
        self._last_lr: list[float] = []
        self.step()

    def _rate(self, i: int, group: Group) -> float:
        """The rate of group ``i`` at e = ``last_epoch``; ``group["lr"]`` is still the one at e - 1."""
        return self._closed_form(i, self.base_lrs[i])

    def _closed_form(self, i: int, base: float) -> float:
        """The rate of group ``i`` at e = ``last_epoch``, from lr₀ alone."""
        raise NotImplementedError

    def get_lr(self) -> list[float]:
        """The rate that each group is to have at e = ``last_epoch``."""
        return [self._rate(i, group) for i, group in enumerate(self.optimizer.param_groups)]

    def get_last_lr(self) -> list[float]:
        """The rate that the last step gave each group."""
        return self._last_lr

    def step(self, epoch: int | None = None) -> None:
        """Go on to the next e (or to the one given, by the closed form), and set the rates."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else int(epoch)
        rates = (
            self.get_lr() if epoch is None else [self._closed_form(i, b) for i, b in enumerate(self.base_lrs)]
        )
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            group["lr"] = rate
        self._last_lr = rates

    def state_dict(self) -> dict[str, Any]:
        """All that is needed to go on, but the optimiser; functions are left out."""
        return {k: v for k, v in self.__dict__.items() if k != "optimizer" and not callable(v)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go to the place that ``state_dict`` told."""
        self.__dict__.update(state_dict)


_LRScheduler = LRScheduler  # its name in older programs


class LambdaLR(LRScheduler):
    """lr₀ · f(e), f being ``lr_lambda`` (one, or a list of one for each group)."""

    def __init__(self, optimizer: Optimizer,
                 lr_lambda: Callable[[int], float] | Sequence[Callable[[int], float]], last_epoch: int = -1
                 ) -> None:  # fmt: skip
        count = len(optimizer.param_groups)
        self.lr_lambdas = [lr_lambda] * count if callable(lr_lambda) else list(lr_lambda)
        if len(self.lr_lambdas) != count:
            raise ValueError(f"Expected {count} lr_lambdas, but got {len(self.lr_lambdas)}")
        super().__init__(optimizer, last_epoch)

    def _closed_form(self, i: int, base: float) -> float:
        return base * self.lr_lambdas[i](self.last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """As of every schedule; of the functions, those that are objects with attributes have these saved."""
        state = {k: v for k, v in super().state_dict().items() if k != "lr_lambdas"}
        functions = [None if type(f).__name__ in ("function", "builtin_function_or_method") else dict(vars(f))
                     for f in self.lr_lambdas]  # fmt: skip
        return {**state, "lr_lambdas": functions}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go to the place that ``state_dict`` told; the functions stay this scheduler's."""
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "lr_lambdas"})
        for function, attributes in zip(self.lr_lambdas, state_dict.get("lr_lambdas", ()), strict=False):
            if attributes:
                vars(function).update(attributes)


class StepLR(LRScheduler):
    """lr₀ · gamma^⌊e / step_size⌋."""

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def _rate(self, i: int, group: Group) -> float:
        now = self.last_epoch and self.last_epoch % self.step_size == 0
        return float(group["lr"]) * (self.gamma if now else 1.0)

    def _closed_form(self, i: int, base: float) -> float:
        return base * self.gamma ** (self.last_epoch // self.step_size)


class MultiStepLR(LRScheduler):
    """lr₀ · gamma^(number of ``milestones`` up to e)."""

    def __init__(
        self, optimizer: Optimizer, milestones: Sequence[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones, self.gamma = sorted(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def _rate(self, i: int, group: Group) -> float:
        return float(group["lr"]) * self.gamma ** self.milestones.count(self.last_epoch)

    def _closed_form(self, i: int, base: float) -> float:
        return base * self.gamma ** bisect.bisect_right(self.milestones, self.last_epoch)


class ExponentialLR(LRScheduler):
    """lr₀ · gammaᵉ."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _rate(self, i: int, group: Group) -> float:
        return float(group["lr"]) * (self.gamma if self.last_epoch else 1.0)

    def _closed_form(self, i: int, base: float) -> float:
        return base * self.gamma**self.last_epoch


class LinearLR(LRScheduler):
    """lr₀ · (start + (end - start) · min(e, total_iters) / total_iters), the factors being the arguments.

    Raises:
        ValueError: start_factor outside (0, 1], end_factor outside [0, 1].
    """

    def __init__(self, optimizer: Optimizer, start_factor: float = 1.0 / 3, end_factor: float = 1.0,
                 total_iters: int = 5, last_epoch: int = -1) -> None:  # fmt: skip
        if not 0 < start_factor <= 1:
            raise ValueError(
                "Starting multiplicative factor expected to be greater than 0 and less or equal to 1."
            )
        if not 0 <= end_factor <= 1:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self, e: int) -> float:
        return (
            self.start_factor
            + (self.end_factor - self.start_factor) * min(e, self.total_iters) / self.total_iters
        )

    def _rate(self, i: int, group: Group) -> float:
        if self.last_epoch == 0:
            return float(group["lr"]) * self.start_factor
        if self.last_epoch > self.total_iters:
            return float(group["lr"])
        return float(group["lr"]) * self._factor(self.last_epoch) / self._factor(self.last_epoch - 1)

    def _closed_form(self, i: int, base: float) -> float:
        return base * self._factor(self.last_epoch)


class CosineAnnealingLR(LRScheduler):
    """eta_min + (lr₀ - eta_min) · (1 + cos(π e / T_max)) / 2 (Loshchilov and Hutter 2017, one cycle)."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def _height(self, e: int) -> float:
        return 1 + math.cos(math.pi * e / self.T_max)

    def _rate(self, i: int, group: Group) -> float:
        e = self.last_epoch
        lr: float = float(group["lr"])
        if e == 0:
            return lr
        if (e - 1 - self.T_max) % (
            2 * self.T_max
        ) == 0:  # up from the bottom, where a quotient would be 0 / 0
            return lr + (self.base_lrs[i] - self.eta_min) * (1 - math.cos(math.pi / self.T_max)) / 2
        return self.eta_min + (lr - self.eta_min) * self._height(e) / self._height(e - 1)

    def _closed_form(self, i: int, base: float) -> float:
        return self.eta_min + (base - self.eta_min) * self._height(self.last_epoch) / 2


class NoamLR(LRScheduler):
    """lr₀ · d_model^-½ · min(s^-½, s · warmup_steps^-³⁄²), s = e + 1 (Vaswani et al. 2017, equation 3).

    It rises linearly over ``warmup_steps`` steps, and then falls as 1 / √s. With the paper's lr₀ = 1 its
    summit is (d_model · warmup_steps)^-½.
    """

    def __init__(
        self, optimizer: Optimizer, d_model: int, warmup_steps: int = 4000, last_epoch: int = -1
    ) -> None:
        if d_model <= 0 or warmup_steps <= 0:
            raise ValueError(
                f"NoamLR: d_model and warmup_steps must be positive, not {d_model} and {warmup_steps}"
            )
        self.d_model, self.warmup_steps = d_model, warmup_steps
        super().__init__(optimizer, last_epoch)

    def _closed_form(self, i: int, base: float) -> float:
        s = self.last_epoch + 1
        rise = s / (self.warmup_steps * math.sqrt(self.warmup_steps))
        return base / math.sqrt(self.d_model) * min(1 / math.sqrt(s), rise)


class InverseSquareRootLR(LRScheduler):
    """lr₀ · min(s / warmup_steps, √(warmup_steps / s)), s = e + 1: up to lr₀ and then down."""

    def __init__(self, optimizer: Optimizer, warmup_steps: int = 4000, last_epoch: int = -1) -> None:
        if warmup_steps <= 0:
            raise ValueError(f"InverseSquareRootLR: warmup_steps must be positive, not {warmup_steps}")
        self.warmup_steps = warmup_steps
        super().__init__(optimizer, last_epoch)

    def _closed_form(self, i: int, base: float) -> float:
        s = self.last_epoch + 1
        return base * min(s / self.warmup_steps, math.sqrt(self.warmup_steps / s))


class ReduceLROnPlateau:
    """The present rate times ``factor`` whenever a metric has not improved for more than ``patience`` calls.

    Args:
        optimizer: whose groups' "lr" is changed.
        mode: "min" or "max": which way is better.
        threshold, threshold_mode: better means by more than this part of the best ("rel"), or by this much
            ("abs").
        cooldown: how many calls after a change do not count. min_lr: a floor, for all groups or for each.
        eps: a change smaller than this is not made. verbose: taken, without effect.

    Raises:
        ValueError: factor not below 1, or an unknown mode.
    """

    def __init__(
        self, optimizer: Optimizer, mode: str = "min", factor: float = 0.1, patience: int = 10,
        threshold: float = 1e-4, threshold_mode: str = "rel", cooldown: int = 0,
        min_lr: float | Sequence[float] = 0, eps: float = 1e-8, verbose: Any = None,
    ) -> None:  # fmt: skip
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown!")
        count = len(optimizer.param_groups)
        self.min_lrs = [float(min_lr)] * count if isinstance(min_lr, (int, float)) else list(min_lr)
        if len(self.min_lrs) != count:
            raise ValueError(f"expected {count} min_lrs, got {len(self.min_lrs)}")
        self.optimizer, self.mode, self.factor, self.patience = optimizer, mode, factor, patience
        self.threshold, self.threshold_mode, self.cooldown, self.eps = (
            threshold,
            threshold_mode,
            cooldown,
            eps,
        )
        self.best = math.inf if mode == "min" else -math.inf
        self.num_bad_epochs, self.cooldown_counter, self.last_epoch = 0, 0, 0
        self._last_lr = [float(group["lr"]) for group in optimizer.param_groups]

    def is_better(self, a: float, best: float) -> bool:
        """Whether a metric is better than the best so far."""
        sign = 1 if self.mode == "max" else -1
        margin = best * self.threshold if self.threshold_mode == "rel" else self.threshold
        return a * sign > best * sign + margin if math.isfinite(best) else a * sign > best * sign

    def step(self, metrics: Any, epoch: int | None = None) -> None:
        """Look at a new value of the metric."""
        current = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        better = self.is_better(current, self.best)
        self.best = current if better else self.best
        self.num_bad_epochs = 0 if better else self.num_bad_epochs + 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            for group, floor in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
                lower = max(float(group["lr"]) * self.factor, floor)
                if float(group["lr"]) - lower > self.eps:
                    group["lr"] = lower
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = [float(group["lr"]) for group in self.optimizer.param_groups]

    def get_last_lr(self) -> list[float]:
        """The rate of each group after the last step."""
        return self._last_lr

    def state_dict(self) -> dict[str, Any]:
        """All that is needed to go on, but the optimiser."""
        return {k: v for k, v in self.__dict__.items() if k != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go to the place that ``state_dict`` told."""
        self.__dict__.update(state_dict)
