"""Cyclic (Smith 2017) and one-cycle (Smith and Topin 2018) learning rate schedules, and helpers for stochastic weight
averaging: a schedule that ends at a constant rate, and a function that recomputes batch norm statistics."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from ...autograd import no_grad
from ...autograd.mode import at_end
from ...nn.module import Module
from ...optim.lr_scheduler.schedules import FactorScheduler, GroupScheduler, check_optimizer, for_each_group, put
from ...optim.optimizer import Group, Optimizer

Scale = Callable[[float], float]


class CyclicLR(GroupScheduler):
    """In each cycle, the rate rises from base_lr to max_lr in ``step_size_up`` calls, and falls in ``step_size_down``.

    Args:
        base_lr, max_lr: a number, or a list with one per group.
        step_size_up, step_size_down: the numbers of calls; by default, the rate falls in as many calls as it rises.
        mode: "triangular" keeps the height, "triangular2" halves it each cycle, "exp_range" scales by gammaᵉ at call e.
        scale_fn, scale_mode: replace ``mode``. ``scale_fn`` returns the height. Its argument is the cycle's number,
            from 1 ("cycle"), or the call's number e ("iterations").
        cycle_momentum: move the momentum (or first beta) the opposite way, from ``max_momentum`` to ``base_momentum``.

    Raises ValueError if the mode is unknown, a list does not have one entry per group, or there is no momentum.
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
            self.use_beta1 = "betas" in optimizer.defaults
            bounds = momentum_bounds(optimizer, base_momentum, max_momentum, last_epoch)
            self.base_momentums, self.max_momentums = bounds
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """The height in cycle ``x`` or at call ``x``, depending on ``scale_mode``."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        return {"triangular": 1.0, "triangular2": 1 / 2.0 ** (x - 1)}.get(self.mode, self.gamma**x)

    def _closed_form(self, i: int, base: float) -> float:
        e = self.last_epoch
        cycle = math.floor(1 + e / self.total_size)
        x = 1 + e / self.total_size - cycle
        ratio = self.step_ratio
        part = x / ratio if x <= ratio else (x - 1) / (ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else e)
        if self.cycle_momentum:
            low, high = self.base_momentums[i], self.max_momentums[i]
            put_momentum(self.optimizer.param_groups[i], high - (high - low) * part * scale)
        return base + (self.max_lrs[i] - base) * part * scale


def check_strategy(strategy: str) -> None:
    """Raise ValueError if the strategy is unknown."""
    if strategy not in ("cos", "linear"):
        raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {strategy}")


class OneCycleLR(GroupScheduler):
    """The rate rises from max_lr / div_factor to max_lr, and falls to the first rate / final_div_factor.

    Args:
        max_lr: a number, or a list with one per group.
        total_steps: the total number of calls. Alternatively, pass ``epochs`` and ``steps_per_epoch``.
        pct_start: the fraction of calls with rising rates, from 0 to 1. anneal_strategy: "cos" or "linear".
        cycle_momentum, base_momentum, max_momentum: see CyclicLR.
        three_phase: fall to the first rate in as many calls as the rise took, and then fall further.

    Raises ValueError for too many calls or for arguments outside their range.
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
        factors: dict[str, Any] = {"total_steps": total_steps}
        if total_steps is None:
            factors = {"epochs": epochs, "steps_per_epoch": steps_per_epoch}
            if None in factors.values():
                raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
        for name, value in factors.items():
            if not isinstance(value, int) or value <= 0:
                raise ValueError(f"Expected positive integer {name}, but got {value}")
        self.total_steps = math.prod(factors.values())
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        check_strategy(anneal_strategy)
        self._anneal_func_type = anneal_strategy
        self._schedule_phases = _phases(self.total_steps, pct_start, three_phase)
        self.cycle_momentum = cycle_momentum
        for high, group in zip(for_each_group("max_lr", optimizer, max_lr), optimizer.param_groups, strict=True):
            if last_epoch == -1:
                first = high / div_factor
                group.update(initial_lr=first, max_lr=high, min_lr=first / final_div_factor)
                put(group, "lr", first)
        if cycle_momentum:
            self.use_beta1 = "betas" in optimizer.defaults
            momentum_bounds(optimizer, base_momentum, max_momentum, last_epoch)
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

        def between(name: str) -> float:
            start, end = (group[phases[0][f"{which}_{name}"]] for which in ("start", "end"))
            if self._anneal_func_type == "linear":
                return (end - start) * part + start
            return end + (start - end) / 2.0 * (1 + math.cos(math.pi * part))

        if self.cycle_momentum:
            put_momentum(group, between("momentum"))
        return between("lr")


def _phases(total: int, up: float, three: bool) -> list[dict[str, Any]]:
    """Each phase's end, and the group options that hold its first and last values, in PyTorch's layout."""
    rise = (float(up * total) - 1, "initial_lr", "max_lr", "max_momentum", "base_momentum")
    fall = (total - 1, "max_lr", "min_lr", "base_momentum", "max_momentum")
    back = (float(2 * up * total) - 2, "max_lr", "initial_lr", "base_momentum", "max_momentum")
    on = (total - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum")
    names = ("end_step", "start_lr", "end_lr", "start_momentum", "end_momentum")
    return [dict(zip(names, phase, strict=True)) for phase in ((rise, back, on) if three else (rise, fall))]


def put_momentum(group: Group, value: float) -> None:
    """Set a group's "momentum" or, for optimisers like Adam, the first of "betas"."""
    if "betas" in group:
        group["betas"] = (value, *group["betas"][1:])
    else:
        group["momentum"] = value


def momentum_bounds(optimizer: Optimizer, least: Any, most: Any, last_epoch: int) -> tuple[list[Any], list[Any]]:
    """The momentum bounds of each group; a new schedule starts at the upper one. Raises ValueError without momentum."""
    if not {"momentum", "betas"} & set(optimizer.defaults):
        raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
    bounds = for_each_group("base_momentum", optimizer, least), for_each_group("max_momentum", optimizer, most)
    for low, high, group in zip(*bounds, optimizer.param_groups, strict=True) if last_epoch == -1 else ():
        put_momentum(group, high)
        group.update(base_momentum=low, max_momentum=high)
    return bounds


for _schedule in (CyclicLR, OneCycleLR):  # programs compare ``scheduler.__module__`` with the public module's name
    _schedule.__module__ = "minigrad.optim.lr_scheduler"


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Recompute the running statistics of all BatchNorm layers in one pass over the data.

    Args:
        loader: batches, or tuples and lists whose first item is a batch.
        model: the model whose layers with a ``running_mean`` and ``momentum`` are updated.
        device: the device to move batches to; None leaves them where they are.
    """
    layers: list[Any] = [m for m in model.modules() if getattr(m, "running_mean", None) is not None]
    if not layers:
        return
    momenta = [layer.momentum for layer in layers]

    def put_back(was_training: bool) -> None:
        for layer, momentum in zip(layers, momenta, strict=True):
            layer.momentum = momentum
        model.train(was_training)

    with at_end(put_back, model.training) as end, end:
        model.train()
        for layer in layers:
            layer.reset_running_stats()
            layer.momentum = None  # meaning the equally weighted mean of all batches
        for batch in loader:
            x = batch[0] if isinstance(batch, (list, tuple)) else batch
            model(x if device is None else x.to(device))


class SWALR(FactorScheduler):
    """The rate moves from its current value to ``swa_lr`` in ``anneal_epochs`` calls, and then stays constant.

    Args:
        swa_lr: a number, or a list with one per group.
        anneal_epochs: the number of calls, at least 0. anneal_strategy: "cos" or "linear".
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: Any,
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        for rate, group in zip(for_each_group("swa_lr", optimizer, swa_lr), optimizer.param_groups, strict=True):
            group["swa_lr"] = rate
        check_strategy(anneal_strategy)
        if anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self._anneal_strategy, self.anneal_epochs = anneal_strategy, anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _floor(self, i: int) -> float:
        return float(self.optimizer.param_groups[i]["swa_lr"])

    def _factor(self, e: int) -> float:
        calls = e + self._step_count - 1 - self.last_epoch  # whatever the initial ``last_epoch`` was, as in PyTorch
        part = min(1.0, calls / self.anneal_epochs) if self.anneal_epochs else 1.0
        return 1 - part if self._anneal_strategy == "linear" else (1 + math.cos(math.pi * part)) / 2
