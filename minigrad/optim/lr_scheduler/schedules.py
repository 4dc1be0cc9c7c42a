"""Schedules that follow a formula or a metric, and combinations of schedules."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

from ...autograd.mode import at_end
from ...autograd.tracebacks import border_methods, warn
from ...tensor import Tensor
from ..optimizer import Group, Optimizer

__all__ = ["ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts"]
__all__ += ["ExponentialLR", "InverseSquareRootLR", "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR"]
__all__ += ["MultiplicativeLR", "NoamLR", "PolynomialLR", "ReduceLROnPlateau", "SequentialLR", "StepLR"]

_EARLY = "Detected call of `lr_scheduler.step()` before `optimizer.step()`: the schedule's first value is skipped"
_EPOCH = "The epoch parameter in `scheduler.step()` is deprecated: call `scheduler.step()`, or load a state_dict"
_LAST = "To get the last learning rate computed by the scheduler, please use `get_last_lr()`."
_OTHER_LENGTH = (
    "{name} must have the same length as optimizer.param_groups. {name} has {length} values, param_groups has {count}."
)


class LRScheduler:
    """Changes the groups' "lr" at each ``step()``. A subclass defines ``get_lr()``, which returns one rate per group,
    and optionally ``_get_closed_form_lr()``, which ``step(epoch)`` calls instead.

    Args:
        optimizer: the optimiser whose groups' "lr" changes.
        last_epoch: -1 to start a schedule. To resume one, pass its last e; all groups must then have an "initial_lr".
        verbose: ignored; accepted because older programs pass it.

    The attribute ``base_lrs`` contains lr₀ of each group; ``last_epoch`` is e. Raises TypeError if ``optimizer`` is not
    an Optimizer, and KeyError if a group lacks "initial_lr"."""

    _functions: ClassVar[tuple[str, ...]] = ()  # attributes that are functions, lists of functions, or None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        border_methods(cls, "__init__", "step", "load_state_dict")

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1, verbose: Any = None) -> None:
        check_optimizer(optimizer)
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", snapshot(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(f"'initial_lr' is not specified in param_groups[{i}]: load the optimizer's state first")
        self.optimizer, self.last_epoch = optimizer, last_epoch
        self.base_lrs: list[Any] = [snapshot(group["initial_lr"]) for group in optimizer.param_groups]
        self._step_count, self._is_initial, self._get_lr_called_within_step = 0, False, False
        optimizer.__dict__.setdefault("_opt_called", False)  # the optimiser's step sets it
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count, self._is_initial = 0, True
        self.step()
        self._is_initial = False

    def get_lr(self) -> list[Any]:
        """The rate of each group at e = ``last_epoch``."""
        raise NotImplementedError

    def get_last_lr(self) -> list[Any]:
        """The rate of each group after the last step."""
        return list(self._last_lr)

    def step(self, epoch: int | None = None) -> None:
        """Advance to the next e (or to ``epoch``, using the closed form) and set the rates."""
        if self._step_count == 1 and not self.optimizer.__dict__.get("_opt_called", True):
            warn(f"{_EARLY}. Call them the other way round")
        self._step_count += 1
        if epoch is not None:
            warn(_EPOCH)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        closed: Callable[[], list[Any]] | None = getattr(self, "_get_closed_form_lr", None)
        with at_end(setattr, self, "_get_lr_called_within_step", False) as end, end:
            self._get_lr_called_within_step = True
            rates = self.get_lr() if epoch is None or closed is None else closed()
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            put(group, "lr", rate)
        self._note_rates()

    def _note_rates(self) -> None:
        self._last_lr: list[Any] = [snapshot(group["lr"]) for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """All state needed to resume, except the optimiser's. Only the attributes of callable objects are saved."""
        state = {k: v for k, v in self.__dict__.items() if k != "optimizer"}
        for name in self._functions:
            value = state[name]
            state[name] = [_attributes(f) for f in value] if isinstance(value, list) else _attributes(value)
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Resume from a saved state. Functions stay unchanged, and callable objects receive their saved attributes."""
        state = dict(state_dict)
        for name in self._functions:
            value, saved = getattr(self, name), state.pop(name, None)
            pairs = zip(value, saved or (), strict=False) if isinstance(value, list) else [(value, saved)]
            for function, attributes in pairs:
                if function is not None and attributes:
                    vars(function).update(attributes)
        self.__dict__.update(state)


border_methods(LRScheduler, "__init__", "step", "load_state_dict")


class GroupScheduler(LRScheduler):
    """A schedule defined by a formula. Subclasses define ``_rate(i, lr)``, ``_closed_form(i, base)`` or both."""

    def _rate(self, i: int, lr: float) -> float:
        """The rate of group ``i`` at e = ``last_epoch``; ``lr`` is the rate at e - 1."""
        return self._closed_form(i, float(self.base_lrs[i]))

    def _closed_form(self, i: int, base: float) -> float:
        """The rate of group ``i`` at e = ``last_epoch``, computed from lr₀ only."""
        return self._rate(i, float(self.optimizer.param_groups[i]["lr"]))

    def get_lr(self) -> list[Any]:
        """The rate of each group at e = ``last_epoch``, for ``step``; ``get_last_lr`` returns the current rates."""
        if not self._get_lr_called_within_step:
            warn(_LAST)
        return [self._rate(i, float(group["lr"])) for i, group in enumerate(self.optimizer.param_groups)]

    def _get_closed_form_lr(self) -> list[Any]:
        return [self._closed_form(i, float(base)) for i, base in enumerate(self.base_lrs)]


class FactorScheduler(GroupScheduler):
    """The rate is floor + (lr₀ - floor) · f(e). Each step multiplies the current rate minus the floor by f(e) / f(e -
    1), so several schedules can act on one optimiser. A subclass defines ``_factor``."""

    _resumes = False  # whether to multiply the rate immediately when starting at ``last_epoch``, as in PyTorch

    def _factor(self, e: int) -> float:
        raise NotImplementedError

    def _ratio(self, e: int) -> float:
        """f(e) / f(e - 1), rounded as in PyTorch. Raises ZeroDivisionError if f(e - 1) is 0."""
        return self._factor(e) / self._factor(e - 1)

    def _floor(self, i: int) -> float:
        return 0.0

    def _rate(self, i: int, lr: float) -> float:
        e, floor = self.last_epoch, self._floor(i)
        if self._is_initial and e > 0 and not self._resumes:
            return lr
        try:
            ratio = self._ratio(e) if e > 0 else self._factor(0)
        except ZeroDivisionError:  # lr₀ cannot be derived from the current rate
            return self._closed_form(i, float(self.base_lrs[i]))
        return ratio * (lr - floor) + floor

    def _closed_form(self, i: int, base: float) -> float:
        floor = self._floor(i)
        return floor + (base - floor) * self._factor(self.last_epoch)


def snapshot(value: Any) -> Any:
    """A copy of a rate, which may be a tensor that later changes with its group."""
    return value.detach().clone() if isinstance(value, Tensor) else value


def put(group: Group, name: str, value: Any) -> None:
    """Set a group option. A tensor is filled in place."""
    if isinstance(group[name], Tensor):
        group[name].detach().fill_(float(value))
    else:
        group[name] = value


def for_each_group(name: str, optimizer: Optimizer, value: Any, refusal: str = _OTHER_LENGTH) -> list[Any]:
    """One value per group, from a single value or a list. Raises ValueError if the list has the wrong length."""
    count = len(optimizer.param_groups)
    values = list(value) if isinstance(value, (list, tuple)) else [value] * count
    if len(values) != count:
        raise ValueError(refusal.format(name=name, count=count, length=len(values)))
    return values


def check_optimizer(optimizer: Any) -> None:
    """Raise TypeError unless ``optimizer`` is an Optimizer."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def _attributes(function: Any) -> dict[str, Any] | None:
    plain = function is None or type(function).__name__ in ("function", "builtin_function_or_method", "method")
    return None if plain else dict(vars(function))


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
    """lr₀ · factor before e = total_iters, then lr₀. Raises ValueError for a factor outside [0, 1]."""

    _resumes = True

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if not 0 <= factor <= 1:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self, e: int) -> float:
        return 1.0 if e >= self.total_iters > 0 else self.factor  # as in PyTorch, total_iters = 0 keeps the factor


class LinearLR(FactorScheduler):
    """lr₀ · (start + (end - start) · min(e, total_iters) / total_iters), where start and end are the factors. Raises
    ValueError if start_factor is outside (0, 1] or end_factor outside [0, 1]."""

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
        rise = (1 - math.cos(math.pi / self.T_max)) / 2  # the first step up from the floor
        return lr + (float(self.base_lrs[i]) - self.eta_min) * rise


class CosineAnnealingWarmRestarts(GroupScheduler):
    """The rate falls from lr₀ to eta_min along half a cosine in T_0 epochs, and restarts. Each cycle is T_mult times as
    long as the last. ``step(epoch)`` accepts fractions (``epoch + i / batches``). T_0 and T_mult are positive ints."""

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
        """Advance to the next epoch, or to ``epoch``. The epoch's position in its cycle determines the rate."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur, self.T_i = self.T_cur % self.T_i, self.T_i * self.T_mult
        elif epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        elif epoch < self.T_0:
            self.T_cur, self.T_i = epoch, self.T_0
        elif self.T_mult == 1:
            self.T_cur, self.T_i = epoch % self.T_0, self.T_0
        else:
            n = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            start = self.T_0 * (self.T_mult**n - 1) / (self.T_mult - 1)
            self.T_cur, self.T_i = epoch - start, self.T_0 * self.T_mult**n
        self._update_lr(math.floor(epoch))


class NoamLR(GroupScheduler):
    """lr₀ · d_model^-½ · min(s^-½, s · warmup_steps^-³⁄²), where s = e + 1 (Vaswani et al. 2017, equation 3). The rate
    rises over ``warmup_steps`` steps, to (d_model · warmup_steps)^-½ with the paper's lr₀ = 1, then falls as 1 / √s."""

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
    """lr₀ · min(s / warmup_steps, √(warmup_steps / s)), where s = e + 1. The rate rises to lr₀ and then falls."""

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
    """lr₀ · f(e), where f is ``lr_lambda`` (a function, or a list with one per group).

    >>> sgd = mg.optim.SGD([mg.ones(1, requires_grad=True)], lr=1.0)
    >>> schedule = mg.optim.lr_scheduler.LambdaLR(sgd, lambda epoch: 0.5**epoch)
    >>> sgd.step(); schedule.step()
    >>> schedule.get_last_lr()
    [0.5]
    """

    def _closed_form(self, i: int, base: float) -> float:
        return base * self.lr_lambdas[i](self.last_epoch)


class MultiplicativeLR(_ByFunction):
    """The current rate times f(e), where f is ``lr_lambda`` (a function, or a list with one per group)."""

    def _rate(self, i: int, lr: float) -> float:
        return lr if self._is_initial else lr * self.lr_lambdas[i](self.last_epoch)


class ReduceLROnPlateau(LRScheduler):
    """Multiplies the rate by ``factor`` (below 1) when a metric has not improved for more than ``patience`` calls.

    Args:
        mode: "min" if lower is better, "max" if higher is better.
        threshold, threshold_mode: the least improvement that counts, relative to the best ("rel") or absolute ("abs").
        cooldown: how many calls to ignore after a change. min_lr: a lower bound for all groups, or one per group.
        eps: skip changes that are not larger than this.

    Raises TypeError for a non-Optimizer, and ValueError for a factor ≥ 1, unknown mode or wrong number of bounds."""

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float | Sequence[float] = 0,
        eps: float = 1e-8,
        verbose: Any = None,
    ) -> None:
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        check_optimizer(optimizer)
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown!")
        self.default_min_lr: Any = None if isinstance(min_lr, (list, tuple)) else min_lr
        self.min_lrs = for_each_group("min_lrs", optimizer, min_lr, "expected {count} {name}, got {length}")
        self.optimizer, self.mode, self.factor, self.patience = optimizer, mode, factor, patience
        self.threshold, self.threshold_mode = threshold, threshold_mode
        self.cooldown, self.eps = cooldown, eps
        self.best = self.mode_worse = math.inf if mode == "min" else -math.inf
        self.last_epoch = self.cooldown_counter = self.num_bad_epochs = 0
        self._note_rates()

    @property
    def in_cooldown(self) -> bool:
        """Whether calls are currently ignored."""
        return self.cooldown_counter > 0

    def is_better(self, a: float, best: float) -> bool:
        """Whether a metric is better than the best so far."""
        sign = 1 if self.mode == "max" else -1
        margin = best * self.threshold if self.threshold_mode == "rel" else self.threshold
        return a * sign > best * sign + margin if math.isfinite(best) else a * sign > best * sign

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Record a new metric value, and reduce the rate if necessary."""
        current = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        better = self.is_better(current, self.best)
        self.best = current if better else self.best
        self.num_bad_epochs = 0 if better else self.num_bad_epochs + 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            missing = len(self.optimizer.param_groups) - len(self.min_lrs)
            if missing and self.default_min_lr is None:
                raise RuntimeError(f"ReduceLROnPlateau: {missing} groups have no min_lr: pass one min_lr for all")
            self.min_lrs += [self.default_min_lr] * missing
            for group, floor in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
                lower = max(float(group["lr"]) * self.factor, floor)
                if float(group["lr"]) - lower > self.eps:
                    put(group, "lr", lower)
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._note_rates()


class _Combined(LRScheduler):
    """Base class of schedules that run others (without metrics) on one optimiser. Its state dict includes theirs."""

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
                raise ValueError(f"{kind} expects schedulers of one optimizer, but the one at index {i} has another")
        self._schedulers, self.optimizer = list(schedulers), optimizer

    def state_dict(self) -> dict[str, Any]:
        """See ``LRScheduler``. "_schedulers" contains the state dicts of the inner schedules."""
        return {**super().state_dict(), "_schedulers": [s.state_dict() for s in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "_schedulers"})
        for scheduler, state in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            scheduler.load_state_dict(state)


class SequentialLR(_Combined):
    """Runs schedules of ``optimizer`` one after another. At e = milestones[i], schedule i + 1 begins with its own e =
    0. There must be one fewer milestone than schedules."""

    def __init__(
        self, optimizer: Optimizer, schedulers: Sequence[Any], milestones: Sequence[int], last_epoch: int = -1
    ) -> None:
        self._take("SequentialLR", optimizer, schedulers)
        if len(milestones) != len(schedulers) - 1:
            expected = "number of schedulers provided to be one more than the number of milestone points"
            numbers = f"{len(schedulers)} and the number of milestones to be equal to {len(milestones)}"
            raise ValueError(f"Sequential Schedulers expects {expected}, but got number of schedulers {numbers}")
        self._milestones, self.last_epoch = list(milestones), last_epoch + 1
        for group in optimizer.param_groups:  # restore the rate from before the schedules' first steps
            put(group, "lr", snapshot(group["initial_lr"]))
        for scheduler in self._schedulers:
            _step_back(scheduler)
        self._schedulers[0]._initial_step()
        self._last_lr = self._schedulers[0].get_last_lr()

    def step(self) -> None:  # type: ignore[override]
        """Step the active schedule. A newly active schedule begins with its own e = 0."""
        self.last_epoch += 1
        turn = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[turn]
        begins = turn > 0 and self._milestones[turn - 1] == self.last_epoch
        if begins and not isinstance(scheduler, _Combined):
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_Combined):
    """Steps all schedules at each call. They share one ``optimizer``, by default that of the first schedule."""

    def __init__(self, schedulers: Sequence[Any], optimizer: Optimizer | None = None) -> None:
        self._take("ChainedScheduler", optimizer, schedulers)
        self._note_rates()

    def step(self) -> None:  # type: ignore[override]
        for scheduler in self._schedulers:
            scheduler.step()
        self._note_rates()


def _step_back(scheduler: Any) -> None:
    """Undo the first step. In a combined schedule, undo only the inner schedules' first steps, as in PyTorch."""
    if not isinstance(scheduler, _Combined):
        scheduler.last_epoch -= 1
        return
    for inner in scheduler._schedulers:
        _step_back(inner)
