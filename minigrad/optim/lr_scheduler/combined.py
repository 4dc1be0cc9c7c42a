"""Combinations of schedules: one after the other, or all at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from ..optimizer import Optimizer
from .plateau import ReduceLROnPlateau
from .scheduler import LRScheduler, put, snapshot


class _Combined(LRScheduler):
    """A schedule of others of one optimiser, which take no metric; their state dicts are part of its own."""

    _schedulers: list[Any]

    def _take(self, kind: str, optimizer: Optimizer | None, schedulers: Sequence[Any]) -> None:
        if not schedulers:
            raise ValueError(f"{kind} expects at least one scheduler to be chained, but got no scheduler.")
        optimizer = optimizer or schedulers[0].optimizer
        for i, scheduler in enumerate(schedulers):
            if not hasattr(scheduler, "optimizer"):
                raise TypeError(f"{kind} at index {i} should have `optimizer` as its attribute.")
            if isinstance(scheduler, ReduceLROnPlateau):
                reason = "it requires additional kwargs to be specified when calling `step`"
                where = f"but got one at index {i} in the given schedulers sequence"
                raise ValueError(f"{kind} does not support `ReduceLROnPlateau` scheduler as {reason}, {where}.")
            if scheduler.optimizer is not optimizer:
                raise ValueError(f"{kind} expects schedulers of one optimizer, but that at index {i} has another one")
        self._schedulers, self.optimizer = list(schedulers), optimizer

    def state_dict(self) -> dict[str, Any]:
        """As of every schedule; the state dicts of the inner ones are in "_schedulers"."""
        return {**super().state_dict(), "_schedulers": [s.state_dict() for s in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on where the schedule of ``state_dict`` was."""
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "_schedulers"})
        for scheduler, state in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            scheduler.load_state_dict(state)


class SequentialLR(_Combined):
    """One schedule after the other: at e = milestones[i] the schedule i + 1 begins, with its own e = 0. There is one
    milestone less than there are schedules, which are all of ``optimizer``."""

    def __init__(
        self, optimizer: Optimizer, schedulers: Sequence[Any], milestones: Sequence[int], last_epoch: int = -1
    ) -> None:
        self._take("SequentialLR", optimizer, schedulers)
        if len(milestones) != len(schedulers) - 1:
            expected = "number of schedulers provided to be one more than the number of milestone points"
            numbers = f"{len(schedulers)} and the number of milestones to be equal to {len(milestones)}"
            raise ValueError(f"Sequential Schedulers expects {expected}, but got number of schedulers {numbers}")
        self._milestones, self.last_epoch = list(milestones), last_epoch + 1
        for group in optimizer.param_groups:  # back to the rate before the first steps of the schedules
            put(group, "lr", snapshot(group["initial_lr"]))
        for scheduler in self._schedulers:
            _step_back(scheduler)
        self._schedulers[0]._initial_step()
        self._last_lr = self._schedulers[0].get_last_lr()

    def step(self) -> None:  # type: ignore[override]
        """A step of the schedule whose turn it is; a new one begins at its e = 0."""
        self.last_epoch += 1
        turn = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[turn]
        if turn > 0 and self._milestones[turn - 1] == self.last_epoch:
            _begin(scheduler)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_Combined):
    """All schedules make a step at each call. They are of one ``optimizer``, the first one's if None."""

    def __init__(self, schedulers: Sequence[Any], optimizer: Optimizer | None = None) -> None:
        self._take("ChainedScheduler", optimizer, schedulers)
        self._note_rates()

    def step(self) -> None:  # type: ignore[override]
        """A step of each schedule, in order."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._note_rates()


def _step_back(scheduler: Any) -> None:
    """Take back the first step: in a combined schedule that of the inner ones alone, as in PyTorch."""
    if not isinstance(scheduler, _Combined):
        scheduler.last_epoch -= 1
        return
    for inner in scheduler._schedulers:
        _step_back(inner)


def _begin(scheduler: Any) -> None:
    if isinstance(scheduler, _Combined):
        scheduler.step()
    else:
        scheduler._update_lr(0)
