"""Schedules by a formula: in steps, along a curve down to a floor, by a function of the program's, or up and down."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..optimizer import Optimizer
from .scheduler import FactorScheduler, GroupScheduler, for_each_group

__all__ = ["ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "ExponentialLR", "InverseSquareRootLR"]
__all__ += ["LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "NoamLR", "PolynomialLR", "StepLR"]


class StepLR(FactorScheduler):
    """lr₀ · gamma^⌊e / step_size⌋."""

    _resumes = True

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self, e: int) -> float:
        return self.gamma ** (e // self.step_size)

    def _ratio(self, e: int) -> float:
        return 1.0 if e % self.step_size else self.gamma


class MultiStepLR(FactorScheduler):
    """lr₀ · gamma^(number of ``milestones`` up to e)."""

    _resumes = True

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self, e: int) -> float:
        return self.gamma ** bisect_right(sorted(self.milestones.elements()), e)

    def _ratio(self, e: int) -> float:
        return self.gamma ** self.milestones[e]


class ConstantLR(FactorScheduler):
    """lr₀ · factor before e = total_iters, lr₀ from there on. Raises ValueError for a factor outside [0, 1]."""

    _resumes = True

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if not 0 <= factor <= 1:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self, e: int) -> float:
        return 1.0 if e >= self.total_iters > 0 else self.factor  # without iterations it stays, as in PyTorch


class LinearLR(FactorScheduler):
    """lr₀ · (start + (end - start) · min(e, total_iters) / total_iters), the factors being the arguments. Raises
    ValueError: start_factor outside (0, 1], end_factor outside [0, 1]."""

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 < start_factor <= 1:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if not 0 <= end_factor <= 1:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self, e: int) -> float:
        share = min(e, self.total_iters) / max(self.total_iters, 1)
        return self.start_factor + (self.end_factor - self.start_factor) * share

    def _ratio(self, e: int) -> float:
        rise = self.end_factor - self.start_factor
        return 1.0 + rise / (self.total_iters * self.start_factor + (e - 1) * rise) if e <= self.total_iters else 1.0


class ExponentialLR(FactorScheduler):
    """lr₀ · gammaᵉ."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self, e: int) -> float:
        return self.gamma**e

    def _ratio(self, e: int) -> float:
        return self.gamma


class PolynomialLR(FactorScheduler):
    """lr₀ · (1 - min(e, total_iters) / total_iters)^power."""

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def _factor(self, e: int) -> float:
        return (1 - min(e, self.total_iters) / max(self.total_iters, 1)) ** self.power

    def _ratio(self, e: int) -> float:
        n = self.total_iters
        return ((1.0 - e / n) / (1.0 - (e - 1) / n)) ** self.power if e <= n else 1.0


class CosineAnnealingLR(FactorScheduler):
    """eta_min + (lr₀ - eta_min) · (1 + cos(π e / T_max)) / 2 (Loshchilov and Hutter 2017)."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def _floor(self, i: int) -> float:
        return self.eta_min

    def _factor(self, e: int) -> float:
        return (1 + math.cos(math.pi * e / self.T_max)) / 2

    def _rate(self, i: int, lr: float) -> float:
        if self._is_initial or (self.last_epoch - 1 - self.T_max) % (2 * self.T_max):
            return super()._rate(i, lr)
        rise = (1 - math.cos(math.pi / self.T_max)) / 2  # of the first step up from the floor
        return lr + (float(self.base_lrs[i]) - self.eta_min) * rise


class CosineAnnealingWarmRestarts(GroupScheduler):
    """Half a cosine from lr₀ down to eta_min in T_0 epochs, then again from lr₀, each T_mult times as long.
    ``step(epoch)`` takes fractions, as ``epoch + i / batches``. T_0 and T_mult are positive ints."""

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0, self.T_i, self.T_mult, self.eta_min, self.T_cur = T_0, T_0, T_mult, eta_min, last_epoch
        super().__init__(optimizer, last_epoch)

    def _closed_form(self, i: int, base: float) -> float:
        return self.eta_min + (base - self.eta_min) * (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2

    def step(self, epoch: Any = None) -> None:
        """Go on to the next epoch, or to ``epoch``; its place in the cycle gives the rate."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur, self.T_i = self.T_cur % self.T_i, self.T_i * self.T_mult
        elif epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        else:
            self.T_cur, self.T_i = self._place(epoch)
        self._update_lr(math.floor(epoch))

    def _place(self, epoch: Any) -> tuple[Any, int]:
        """How far into its cycle an epoch is, and how long that is."""
        if epoch < self.T_0:
            return epoch, self.T_0
        if self.T_mult == 1:
            return epoch % self.T_0, self.T_0
        n = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
        begun = self.T_0 * (self.T_mult**n - 1) / (self.T_mult - 1)
        return epoch - begun, self.T_0 * self.T_mult**n


class NoamLR(GroupScheduler):
    """lr₀ · d_model^-½ · min(s^-½, s · warmup_steps^-³⁄²), s = e + 1 (Vaswani et al. 2017, equation 3): it rises over
    ``warmup_steps`` steps, with the paper's lr₀ = 1 to (d_model · warmup_steps)^-½, and then falls as 1 / √s."""

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


Function = Callable[[int], float]


class _ByFunction(GroupScheduler):
    _functions = ("lr_lambdas",)

    def __init__(self, optimizer: Optimizer, lr_lambda: Function | Sequence[Function], last_epoch: int = -1) -> None:
        refusal = "Expected {count} {name}, but got {length}"
        self.lr_lambdas = for_each_group("lr_lambdas", optimizer, lr_lambda, refusal)
        super().__init__(optimizer, last_epoch)


class LambdaLR(_ByFunction):
    """lr₀ · f(e), f being ``lr_lambda`` (one, or a list of one for each group).

    >>> sgd = mg.optim.SGD([mg.ones(1, requires_grad=True)], lr=1.0)
    >>> schedule = mg.optim.lr_scheduler.LambdaLR(sgd, lambda epoch: 0.5**epoch)
    >>> sgd.step(); schedule.step()
    >>> schedule.get_last_lr()
    [0.5]
    """

    def _closed_form(self, i: int, base: float) -> float:
        return base * self.lr_lambdas[i](self.last_epoch)


class MultiplicativeLR(_ByFunction):
    """The present rate times f(e), f being ``lr_lambda`` (one, or a list of one for each group)."""

    def _rate(self, i: int, lr: float) -> float:
        return lr if self._is_initial else lr * self.lr_lambdas[i](self.last_epoch)
