"""Schedules by a factor: in steps, along a line, exponential, along a polynomial, or by a function of the program's."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from ..optimizer import Optimizer
from .scheduler import GroupScheduler, for_each_group


class StepLR(GroupScheduler):
    """lr₀ · gamma^⌊e / step_size⌋."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def _rate(self, i: int, lr: float) -> float:
        return lr * self.gamma if self.last_epoch and self.last_epoch % self.step_size == 0 else lr

    def _closed_form(self, i: int, base: float) -> float:
        return base * self.gamma ** (self.last_epoch // self.step_size)


class MultiStepLR(GroupScheduler):
    """lr₀ · gamma^(number of ``milestones`` up to e)."""

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def _rate(self, i: int, lr: float) -> float:
        return lr * self.gamma ** self.milestones[self.last_epoch]

    def _closed_form(self, i: int, base: float) -> float:
        return base * self.gamma ** bisect_right(sorted(self.milestones.elements()), self.last_epoch)


class ConstantLR(GroupScheduler):
    """lr₀ · factor before e = total_iters, lr₀ from there on.

    Raises:
        ValueError: factor outside [0, 1].
    """

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if not 0 <= factor <= 1:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _rate(self, i: int, lr: float) -> float:
        if self.last_epoch == 0:
            return lr * self.factor
        return lr / self.factor if self.last_epoch == self.total_iters else lr

    def _closed_form(self, i: int, base: float) -> float:
        return base if self.last_epoch >= self.total_iters else base * self.factor


class LinearLR(GroupScheduler):
    """lr₀ · (start + (end - start) · min(e, total_iters) / total_iters), the factors being the arguments.

    Raises:
        ValueError: start_factor outside (0, 1], end_factor outside [0, 1].
    """

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
        return self.start_factor + (self.end_factor - self.start_factor) * min(e, self.total_iters) / self.total_iters

    def _rate(self, i: int, lr: float) -> float:
        e = self.last_epoch
        if e == 0:
            return lr * self.start_factor
        return lr if self._is_initial or e > self.total_iters else lr * self._factor(e) / self._factor(e - 1)

    def _closed_form(self, i: int, base: float) -> float:
        return base * self._factor(self.last_epoch)


class ExponentialLR(GroupScheduler):
    """lr₀ · gammaᵉ."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _rate(self, i: int, lr: float) -> float:
        return lr if self._is_initial else lr * self.gamma

    def _closed_form(self, i: int, base: float) -> float:
        return base * self.gamma**self.last_epoch


class PolynomialLR(GroupScheduler):
    """lr₀ · (1 - min(e, total_iters) / total_iters)^power."""

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def _rate(self, i: int, lr: float) -> float:
        e, n = self.last_epoch, self.total_iters
        return lr if self._is_initial or e > n else lr * ((n - e) / (n - e + 1)) ** self.power

    def _closed_form(self, i: int, base: float) -> float:
        return base * (1 - min(self.last_epoch, self.total_iters) / self.total_iters) ** self.power


Function = Callable[[int], float]


class _ByFunction(GroupScheduler):
    _functions = ("lr_lambdas",)

    def __init__(self, optimizer: Optimizer, lr_lambda: Function | Sequence[Function], last_epoch: int = -1) -> None:
        refusal = "Expected {count} {name}, but got {length}"
        self.lr_lambdas = for_each_group("lr_lambdas", optimizer, lr_lambda, refusal)
        super().__init__(optimizer, last_epoch)


class LambdaLR(_ByFunction):
    """lr₀ · f(e), f being ``lr_lambda`` (one, or a list of one for each group)."""

    def _closed_form(self, i: int, base: float) -> float:
        return base * self.lr_lambdas[i](self.last_epoch)


class MultiplicativeLR(_ByFunction):
    """The present rate times f(e), f being ``lr_lambda`` (one, or a list of one for each group)."""

    def _rate(self, i: int, lr: float) -> float:
        return lr if self._is_initial else lr * self.lr_lambdas[i](self.last_epoch)
