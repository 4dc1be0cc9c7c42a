"""OneCycleLR: up to a high rate, and down far below the first one (Smith and Topin 2018)."""

from __future__ import annotations

import math
from typing import Any

from ..optimizer import Group, Optimizer
from .scheduler import GroupScheduler, check_momentum, check_optimizer, for_each_group, put, put_momentum


def cosine(start: float, end: float, part: float) -> float:
    """Along half a cosine from ``start`` to ``end``."""
    return end + (start - end) / 2.0 * (1 + math.cos(math.pi * part))


def line(start: float, end: float, part: float) -> float:
    """Along a line from ``start`` to ``end``."""
    return (end - start) * part + start


def check_strategy(strategy: str) -> None:
    """Refuse another strategy than "cos" and "linear"."""
    if strategy not in ("cos", "linear"):
        raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {strategy}")


class OneCycleLR(GroupScheduler):
    """From max_lr / div_factor up to max_lr, and down to the first rate / final_div_factor.

    Args:
        optimizer, last_epoch: see LRScheduler.
        max_lr: a number, or one for each group.
        total_steps: calls in all; or ``epochs`` times ``steps_per_epoch``.
        pct_start: which part of them goes up.
        anneal_strategy: "cos" or "linear".
        cycle_momentum, base_momentum, max_momentum: see CyclicLR.
        three_phase: back to the first rate in as many calls as up, and only then further down.

    Raises:
        ValueError: no number of calls, or one that is not positive; pct_start outside [0, 1]; an unknown
            strategy; no momentum to cycle; a call too many.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: Any,
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.85,
        max_momentum: Any = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.total_steps = _total(total_steps, epochs, steps_per_epoch)
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        check_strategy(anneal_strategy)
        self._anneal_func_type = anneal_strategy
        self._schedule_phases = _phases(self.total_steps, pct_start, three_phase)
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = check_momentum(optimizer)
        bounds = {"max_lr": max_lr, "max_momentum": max_momentum, "base_momentum": base_momentum}
        values = [for_each_group(name, optimizer, value) for name, value in bounds.items()]
        for high, most, least, group in zip(*values, optimizer.param_groups, strict=True):
            if last_epoch == -1:
                first = high / div_factor
                group.update(initial_lr=first, max_lr=high, min_lr=first / final_div_factor)
                put(group, "lr", first)
                if cycle_momentum:
                    put_momentum(group, most)
                    group.update(max_momentum=most, base_momentum=least)
        super().__init__(optimizer, last_epoch)

    def _rate(self, i: int, lr: float) -> float:
        e = self.last_epoch
        if e > self.total_steps:
            raise ValueError(f"Tried to step {e} times. The specified number of total steps is {self.total_steps}")
        group = self.optimizer.param_groups[i]
        begin, phases = 0.0, list(self._schedule_phases)
        while e > phases[0]["end_step"] and len(phases) > 1:
            begin = phases.pop(0)["end_step"]
        part = (e - begin) / (phases[0]["end_step"] - begin)
        if self.cycle_momentum:
            put_momentum(group, self._between(group, phases[0], "momentum", part))
        return self._between(group, phases[0], "lr", part)

    def _between(self, group: Group, phase: dict[str, Any], name: str, part: float) -> float:
        along = cosine if self._anneal_func_type == "cos" else line
        return along(group[phase[f"start_{name}"]], group[phase[f"end_{name}"]], part)


def _total(total_steps: int | None, epochs: int | None, steps_per_epoch: int | None) -> int:
    """How many calls there will be."""
    if total_steps is None and (epochs is None or steps_per_epoch is None):
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    factors: dict[str, Any] = {"epochs": epochs, "steps_per_epoch": steps_per_epoch}
    if total_steps is not None:
        factors = {"total_steps": total_steps}
    for name, value in factors.items():
        if not isinstance(value, int) or value <= 0:
            raise ValueError(f"Expected positive integer {name}, but got {value}")
    return math.prod(factors.values())


def _phases(total: int, up: float, three: bool) -> list[dict[str, Any]]:
    """Where each phase ends, and between which of a group's options it goes; PyTorch's layout."""
    rise = (float(up * total) - 1, "initial_lr", "max_lr", "max_momentum", "base_momentum")
    fall = (total - 1, "max_lr", "min_lr", "base_momentum", "max_momentum")
    back = (float(2 * up * total) - 2, "max_lr", "initial_lr", "base_momentum", "max_momentum")
    on = (total - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum")
    names = ("end_step", "start_lr", "end_lr", "start_momentum", "end_momentum")
    return [dict(zip(names, phase, strict=True)) for phase in ((rise, back, on) if three else (rise, fall))]
