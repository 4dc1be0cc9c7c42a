"""Schedules that the program writes as a function of e."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..optimizer import Optimizer
from .scheduler import GroupScheduler, for_each_group

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
