"""The settings of a training run, its position, and the random number generators of minigrad, Python and NumPy: all of
a run's state except the weights and the optimiser state."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from minigrad.autograd import no_grad
from minigrad.autograd.mode import at_end, kept
from minigrad.backend.random import default_generator, manual_seed
from minigrad.nn.module import Module

from ..schema import check_like

COUNTS = ("steps", "accumulate", "evaluate_every", "save_every", "snapshot_every", "patience", "log_every")
FIXED = ("seed", "accumulate", "clip", "ema_decay")  # a new value makes it a different run
METRIC = ("metric", "mode")  # a new value invalidates all earlier evaluations


@dataclass(frozen=True)
class Settings:
    """The settings of ``Trainer``. A step is an update of the weights. Raises ValueError if a number is out of range.

    Args:
        steps: the total number of updates.
        minutes: stop earlier, after this many minutes of training, counting all runs in the folder.
        accumulate: the number of batches per update, which the ranks share. If there are several, each batch has its
            own random numbers, which depend only on ``seed``, the step and the batch number.
        clip: the maximum norm of all gradients together; None for no limit.
        evaluate_every: steps between evaluations; there is always one after the last step.
        save_every: steps between checkpoints; None to save only by time.
        save_seconds: seconds between checkpoints; None to save only by steps. A checkpoint is also saved at each
            evaluation and snapshot, and at the end of training.
        patience: stop after this many evaluations in a row without improvement; None for never.
        metric: the name of the evaluation result that should improve. A run that resumes with another metric or
            ``mode`` forgets the best result so far.
        mode: whether a smaller ("min") or larger ("max") metric is better.
        keep_snapshots: the number of recent snapshots of the weights to keep, for ``averaged_state``.
        snapshot_every: steps between snapshots; None means ``evaluate_every``.
        ema_decay: keep an exponential moving average of the weights with this decay, for evaluations.
        log_every: steps between log lines.
        seed: the seed for dropout, and for Python's and NumPy's random numbers.
        progress: show progress on stderr: a bar (with tqdm, in a terminal), or a line every ten seconds.
        unit: the unit of the loss weights, such as "tokens" or "pictures", for showing progress.
    """

    steps: int
    minutes: float | None = None
    accumulate: int = 1
    clip: float | None = 1.0
    evaluate_every: int = 1000
    save_every: int | None = None
    save_seconds: float | None = 60.0
    patience: int | None = None
    metric: str = "loss"
    mode: Literal["min", "max"] = "min"
    keep_snapshots: int = 0
    snapshot_every: int | None = None
    ema_decay: float | None = None
    log_every: int = 50
    seed: int = 0
    progress: bool = True
    unit: str = "tokens"

    def __post_init__(self) -> None:
        for name in COUNTS:
            self._check(name, "be a positive integer", lambda x: is_whole(x) and x > 0)
        for name in ("minutes", "clip", "save_seconds"):
            self._check(name, "be positive", lambda x: x > 0)
        self._check("ema_decay", "be in [0, 1)", lambda x: 0 <= x < 1)
        self._check("mode", 'be "min" or "max"', lambda x: x in ("min", "max"), optional=False)
        self._check("keep_snapshots", "be a non-negative integer", lambda x: is_whole(x) and x >= 0, optional=False)

    def _check(self, name: str, rule: str, holds: Callable[[Any], bool], optional: bool = True) -> None:
        value = getattr(self, name)
        if not (optional and value is None) and not holds(value):
            raise ValueError(f"{name} must {rule}, not {value!r}")


def is_whole(value: Any) -> bool:
    """Whether a value is an int, but not a bool."""
    return isinstance(value, int) and not isinstance(value, bool)


@dataclass
class Window:
    """The sums over the updates since the last log line."""

    updates: int = 0
    loss: float = 0.0  # weighted by tokens
    tokens: float = 0.0
    norm: float = 0.0


@dataclass
class State:
    """The position of a training run in a checkpoint."""

    step: int = 0  # updates so far
    epoch: int = 0
    batch: int = 0  # in the epoch
    tokens: float = 0.0  # so far
    seconds: float = 0.0  # of training, in all runs in the folder together
    best: float | None = None  # the best metric
    best_step: int = 0
    bad: int = 0  # evaluations since the best
    evaluated: int = 0  # the step of the last evaluation
    snapshots: list[int] = field(default_factory=list)  # the steps of the snapshots to keep
    lines: int = 0  # in the log
    window: Window = field(default_factory=Window)  # for the next line


def seed(number: int) -> None:
    """Seed all generators of random numbers."""
    manual_seed(number)
    random.seed(number)
    np.random.seed(number % 2**32)


def positions() -> dict[str, Any]:
    """The states of all generators, as plain data."""
    return {
        "minigrad": default_generator.get_state(),
        "python": random.getstate(),
        "numpy": np.random.get_state(legacy=False),
    }


def go_to(state: dict[str, Any]) -> None:
    """Restore the states from ``positions``. Raises ValueError if they are invalid."""
    check_like(state, positions(), "random")
    if not 0 <= state["numpy"]["state"]["pos"] <= 624:  # NumPy would read beyond its words
        raise ValueError("random['numpy'] has a position past the end of its words")
    default_generator.set_state(state["minigrad"])
    random.setstate(state["python"])
    np.random.set_state(state["numpy"])


@contextmanager
def undisturbed(model: Module) -> Iterator[None]:
    """A context for evaluation without gradients and with the model in eval mode. On exit, the modes of all modules and
    all random number generators are restored."""
    modes = [(module, module.training) for module in model.modules()]
    before = positions()

    def put_back() -> None:
        for module, mode in modes:
            module.training = mode
        go_to(before)

    with at_end(put_back) as end, end, kept() as mode, mode, no_grad():
        model.eval()
        yield
