"""What all schedules share: LRScheduler, and two bases for those that have a formula for each group."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from ...autograd.mode import at_end
from ...autograd.tracebacks import border_methods, warn
from ...tensor import Tensor
from ..optimizer import Group, Optimizer

_EARLY = "Detected call of `lr_scheduler.step()` before `optimizer.step()`: the schedule's first value is skipped"
_EPOCH = "The epoch parameter in `scheduler.step()` is deprecated: call `scheduler.step()`, or load a state_dict"
_LAST = "To get the last learning rate computed by the scheduler, please use `get_last_lr()`."
_OTHER_LENGTH = (
    "{name} must have the same length as optimizer.param_groups. {name} has {length} values, param_groups has {count}."
)


class LRScheduler:
    """Changes the groups' "lr" at each ``step()``. A subclass writes ``get_lr()``, a list for the groups.

    If a subclass also has ``_get_closed_form_lr()``, ``step(epoch)`` calls that instead.

    Args:
        optimizer: the one whose groups' "lr" changes.
        last_epoch: e of the last call, -1 to start; else the groups must have an "initial_lr".
        verbose: of older programs, without effect.

    Attributes:
        base_lrs: lr₀ of each group. last_epoch: e.

    Raises TypeError: not an Optimizer; KeyError: a group without "initial_lr".
    """

    _functions: ClassVar[tuple[str, ...]] = ()  # attributes that hold a function, a list of these, or None

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
        optimizer.__dict__.setdefault("_opt_called", False)  # a step of the optimiser sets it
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count, self._is_initial = 0, True
        self.step()
        self._is_initial = False

    def get_lr(self) -> list[Any]:
        """The rate of each group at e = ``last_epoch``."""
        raise NotImplementedError

    def get_last_lr(self) -> list[Any]:
        """The rate that the last step gave each group."""
        return list(self._last_lr)

    def step(self, epoch: int | None = None) -> None:
        """Go on to the next e (or to ``epoch``, by the closed form), and set the rates."""
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
        """All that is needed to go on, but the optimiser; of functions that are objects, their attributes."""
        state = {k: v for k, v in self.__dict__.items() if k != "optimizer"}
        for name in self._functions:
            value = state[name]
            state[name] = [_attributes(f) for f in value] if isinstance(value, list) else _attributes(value)
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on where the schedule of ``state_dict`` was. Functions stay, with the attributes of those saved."""
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
    """A schedule with a formula: a subclass writes ``_rate(i, lr)``, or ``_closed_form(i, base)``, or both."""

    def _rate(self, i: int, lr: float) -> float:
        """The rate of group ``i`` at e = ``last_epoch``; ``lr`` is still the one at e - 1."""
        return self._closed_form(i, float(self.base_lrs[i]))

    def _closed_form(self, i: int, base: float) -> float:
        """The rate of group ``i`` at e = ``last_epoch``, from lr₀ alone."""
        return self._rate(i, float(self.optimizer.param_groups[i]["lr"]))

    def get_lr(self) -> list[Any]:
        """The rate of each group at e = ``last_epoch``, for ``step``; ``get_last_lr`` has the present ones."""
        if not self._get_lr_called_within_step:
            warn(_LAST)
        return [self._rate(i, float(group["lr"])) for i, group in enumerate(self.optimizer.param_groups)]

    def _get_closed_form_lr(self) -> list[Any]:
        return [self._closed_form(i, float(base)) for i, base in enumerate(self.base_lrs)]


class FactorScheduler(GroupScheduler):
    """floor + (lr₀ - floor) · f(e). Each step multiplies the present rate, less the floor, by f(e) / f(e - 1), so that
    several schedules can act on one optimiser. A subclass writes ``_factor``."""

    _resumes = False  # whether one that begins at ``last_epoch`` multiplies the present rate at once, as in PyTorch

    def _factor(self, e: int) -> float:
        raise NotImplementedError

    def _ratio(self, e: int) -> float:
        """f(e) / f(e - 1), rounded as in PyTorch. Raises ZeroDivisionError: f(e - 1) is 0."""
        return self._factor(e) / self._factor(e - 1)

    def _floor(self, i: int) -> float:
        return 0.0

    def _rate(self, i: int, lr: float) -> float:
        e, floor = self.last_epoch, self._floor(i)
        if self._is_initial and e > 0 and not self._resumes:
            return lr
        try:
            ratio = self._ratio(e) if e > 0 else self._factor(0)
        except ZeroDivisionError:  # the present rate tells nothing of lr₀
            return self._closed_form(i, float(self.base_lrs[i]))
        return ratio * (lr - floor) + floor

    def _closed_form(self, i: int, base: float) -> float:
        floor = self._floor(i)
        return floor + (base - floor) * self._factor(self.last_epoch)


def snapshot(value: Any) -> Any:
    """A copy that a change of the group leaves alone: a rate may be a tensor."""
    return value.detach().clone() if isinstance(value, Tensor) else value


def put(group: Group, name: str, value: Any) -> None:
    """Set an option of a group; one that is a tensor stays that tensor."""
    if isinstance(group[name], Tensor):
        group[name].detach().fill_(float(value))
    else:
        group[name] = value


def for_each_group(name: str, optimizer: Optimizer, value: Any, refusal: str = _OTHER_LENGTH) -> list[Any]:
    """A value for each group, from one for all or from a list; one of another length is refused."""
    count = len(optimizer.param_groups)
    values = list(value) if isinstance(value, (list, tuple)) else [value] * count
    if len(values) != count:
        raise ValueError(refusal.format(name=name, count=count, length=len(values)))
    return values


def check_optimizer(optimizer: Any) -> None:
    """Refuse what is no optimiser."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def _attributes(function: Any) -> dict[str, Any] | None:
    plain = function is None or type(function).__name__ in ("function", "builtin_function_or_method", "method")
    return None if plain else dict(vars(function))
