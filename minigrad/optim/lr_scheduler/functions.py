"""Schedules that the program writes as a function of e."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..optimizer import Optimizer
from .scheduler import GroupScheduler

Function = Callable[[int], float]


class _ByFunction(GroupScheduler):
    _functions = ("lr_lambdas",)

    def __init__(self, optimizer: Optimizer, lr_lambda: Function | Sequence[Function], last_epoch: int = -1) -> None:
        count = len(optimizer.param_groups)
        several = isinstance(lr_lambda, (list, tuple))
        self.lr_lambdas: list[Any] = [*lr_lambda] if several else [lr_lambda] * count  # type: ignore[misc]
        if len(self.lr_lambdas) != count:
            raise ValueError(f"Expected {count} lr_lambdas, but got {len(self.lr_lambdas)}")
        super().__init__(optimizer, last_epoch)


class LambdaLR(_ByFunction):
    """lr₀ · f(e), f being ``lr_lambda`` (one, or a list of one for each group)."""

    def _closed_form(self, i: int, base: float) -> float:
        return base * self.lr_lambdas[i](self.last_epoch)


class MultiplicativeLR(_ByFunction):
    """The present rate times f(e), f being ``lr_lambda`` (one, or a list of one for each group)."""

    def _rate(self, i: int, lr: float) -> float:
        return lr if self._is_initial else lr * self.lr_lambdas[i](self.last_epoch)
