"""Trainer: the loop."""

from __future__ import annotations

import math
import os
import pickle
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from typing import Any, Literal

from ..nn.module import Module
from ..optim.lr_scheduler import LRScheduler, ReduceLROnPlateau
from ..optim.optimizer import Optimizer
from . import randomness
from .averaging import moving_average
from .batches import Batches, Stream
from .checkpoints import RunFolder, check_same, read_checkpoint
from .interrupt import Interrupt
from .log import Log
from .progress import LOST, Progress
from .replicas import Replicas, check
from .schedules import go_on
from .settings import MATTER, METRIC, Settings
from .state import State, Window
from .tensorboard import Board
from .update import Loss, update

Reason = Literal["steps", "minutes", "patience", "interrupted"]
Evaluate = Callable[[Any], Mapping[str, float]]


@dataclass(frozen=True)
class Outcome:
    """How ``fit`` ended.

    Attributes:
        reason: all "steps" or "minutes" are over, "patience" is at its end, or it was "interrupted".
        step: updates made. seconds: of training. best: the best metric. best_step: when that was.
    """

    reason: Reason
    step: int
    seconds: float
    best: float | None
    best_step: int

    @property
    def finished(self) -> bool:
        """Whether there is nothing more to do."""
        return self.reason != "interrupted"


class Trainer:
    """Trains a model, and keeps all that is needed to go on in a folder.

    A run that is killed at any moment and started again by the same program, on the same machine, ends with
    the same weights to the bit as one that was not; ``checkpoints.py`` tells why.

    Args:
        model, optimizer: as PyTorch's loops have them. A part of the model that is in eval mode stays so; a
            model that is so itself is put into training mode.
        batches: an object with ``epoch(number, start)``, such as LoaderBatches.
        loss: (model, batch) to its mean loss, a tensor of one element, and its weight (target tokens), by
            which batches of one update are weighed, and losses of several averaged.
        folder: of the run; made if need be.
        settings: how long, and what how often.
        schedule: of the learning rate; it steps after each update. When the run goes on, a LambdaLR may have
            another function; any other schedule goes on as it was.
        evaluate: (model) to metrics by name. It is called in eval mode, without gradients, and whatever
            random numbers it draws, training goes on as if it had not been called.
        extra: plain data (``minigrad.save``) to keep in the checkpoints, such as tokenizers. Its "config", if
            it has one, must be the same when the run goes on.

    Attributes:
        state: where the training stands. averaged: the moving average of the model, or None.

    Raises:
        TypeError: ``schedule`` is something else, or waits for a metric. ValueError: patience, and no
            evaluation.
    """

    def __init__(
        self,
        model: Module,
        optimizer: Optimizer,
        batches: Batches[Any],
        loss: Loss,
        *,
        folder: str | os.PathLike[str],
        settings: Settings,
        schedule: LRScheduler | None = None,
        evaluate: Evaluate | None = None,
        extra: dict[str, Any] | None = None,
    ) -> None:
        if not isinstance(schedule, LRScheduler | None):
            raise TypeError("schedule must be an LRScheduler; of a function, LambdaLR(optimizer, function)")
        if isinstance(schedule, ReduceLROnPlateau):
            raise TypeError(
                "a ReduceLROnPlateau cannot be the schedule: it steps with a metric, and the "
                "schedule after each update, without one"
            )
        if settings.patience is not None and evaluate is None:
            raise ValueError("patience counts evaluations, and there are none: give evaluate")
        self.model, self.optimizer, self.batches, self.loss = model, optimizer, batches, loss
        self.folder, self.settings, self.schedule = RunFolder(folder), settings, schedule
        self.evaluate, self.extra = evaluate, extra or {}
        self.state = State()
        self.averaged = None if settings.ema_decay is None else moving_average(model, settings.ema_decay)
        self._saved_step = -1
        self._clock = self._saved_at = time.monotonic()

    def fit(self) -> Outcome:
        """Train to the end, from where an earlier call was stopped. The model then has the last weights.

        Ctrl-C and SIGTERM let the update at hand end, save, and return; a second one interrupts at once.

        Raises:
            OSError: the folder cannot be written to, or the last save failed for ``retry_seconds``.
            ValueError: the folder's run is of another configuration; or the processes cannot share the model.
            RuntimeError: its checkpoint is damaged; or a loss or a gradient is not finite.
        """
        check(self.model, self.settings.processes)
        with self.folder.held():
            self._restore()
            state, settings = self.state, self.settings
            over = self._over() or self._impatient()
            if over and not self._evaluation_due(True):
                told = f"{self.folder.path} holds a finished training of {state.step:,} steps"
                with suppress(*LOST):
                    print(f"{told}; to begin another, give another folder", file=sys.stderr)
                return self._outcome(over)
            limit = math.inf if settings.minutes is None else 60 * settings.minutes
            with (
                Progress(settings.steps, limit, state.step, state.seconds, settings.progress) as self._bar,
                Interrupt(self._bar.note) as self._stop,
                Log(self.folder.log, state.lines) as self._log,
                Board(self.folder.path, state.step, settings.tensorboard, self._bar.note) as self._board,
            ):
                return self._run()

    # The loop -----------------------------------------------------------------------------------------------

    def _run(self) -> Outcome:
        self.state.lines = self._log.lines  # fewer, if somebody has deleted it
        self._stream = Stream(self.batches, self.state.epoch, self.state.batch)
        self._others: Replicas | None = None
        try:
            self._others = self._replicas()
            while True:
                if self._stop.asked:
                    return self._end("interrupted")
                over = self._over()
                self._do_what_is_due(last=over is not None)
                over = over or self._impatient()
                if over:
                    return self._end(over)
                self._update()
        finally:
            self._stream.close()
            if self._others is not None:
                self._others.close()

    def _replicas(self) -> Replicas | None:
        """The processes that take a part of each update's batches."""
        settings, state = self.settings, self.state
        if settings.processes == 1:
            return None
        return Replicas(
            self.model,
            self.loss,
            self.batches,
            state.epoch,
            state.batch,
            count=settings.processes,
            accumulate=settings.accumulate,
            seed=settings.seed,
        )

    def _over(self) -> Reason | None:
        if self.state.step >= self.settings.steps:
            return "steps"
        minutes = self.settings.minutes
        return "minutes" if minutes is not None and self._seconds() >= 60 * minutes else None

    def _impatient(self) -> Reason | None:
        patience = self.settings.patience
        return "patience" if patience is not None and self.state.bad >= patience else None

    def _end(self, reason: Reason) -> Outcome:
        self._save_surely()
        return self._outcome(reason)

    def _outcome(self, reason: Reason) -> Outcome:
        state = self.state
        return Outcome(reason, state.step, state.seconds, state.best, state.best_step)

    def _seconds(self) -> float:
        """Bring the state's seconds up to the present."""
        now = time.monotonic()
        self.state.seconds += now - self._clock
        self._clock = now
        return self.state.seconds

    # A step -------------------------------------------------------------------------------------------------

    def _update(self) -> None:
        """One update, and all that must follow each."""
        state, settings, stream = self.state, self.settings, self._stream
        rate = float(self.optimizer.param_groups[0]["lr"])
        taken = (stream.take() for _ in range(settings.accumulate))
        done = update(self.model, self.optimizer, self.loss, taken, settings.clip, state.step + 1, self._others)
        if self.schedule is not None:
            self.schedule.step()
        if self.averaged is not None:
            self.averaged.update_parameters(self.model)
        state.step += 1
        state.epoch, state.batch = stream.epoch, stream.batch
        state.tokens += done.weight
        state.window.add(done.loss, done.weight, done.norm)
        self._bar.advance(done.loss, done.weight, self._seconds())
        if state.step % settings.log_every == 0:
            self._write({**state.window.means(), "lr": rate})
            state.window = Window()

    def _write(self, told: dict[str, Any]) -> None:
        """A line of the log: where the training stands, and what is told."""
        state = self.state
        start = {"step": state.step, "epoch": state.epoch}
        times = {"tokens": round(state.tokens), "seconds": round(self._seconds(), 3)}
        self._warn(self._log.add({**start, **told, **times}))
        state.lines = self._log.lines
        self._board.add(told, state.step)

    def _do_what_is_due(self, last: bool) -> None:
        """The snapshot, the evaluation and the checkpoint of this step, unless they have been made."""
        state, settings = self.state, self.settings
        wrote = False
        if self._snapshot_due():
            state.snapshots = [*state.snapshots, state.step][-settings.keep_snapshots :]
            self._warn(self.folder.put_snapshot(state.step, self._weights(self.model)))
            wrote = True
        if self._evaluation_due(last):
            self._evaluate()
            wrote = True
        if wrote or self._save_due():
            self._save()

    def _snapshot_due(self) -> bool:
        state, settings = self.state, self.settings
        every = settings.snapshot_every or settings.evaluate_every
        due = settings.keep_snapshots > 0 and state.step > 0 and state.step % every == 0
        return due and state.step not in state.snapshots

    def _evaluation_due(self, last: bool) -> bool:
        state, every = self.state, self.settings.evaluate_every
        due = self.evaluate is not None and (last or state.step % every == 0)
        return due and state.evaluated != state.step

    def _evaluate(self) -> None:
        """Evaluate, and keep the weights if they are the best."""
        assert self.evaluate is not None
        state, settings = self.state, self.settings
        model = self.model if self.averaged is None else self.averaged.module
        with randomness.undisturbed(model), nullcontext() if self._others is None else self._others.resting():
            found = {name: float(value) for name, value in self.evaluate(model).items()}
        if settings.metric not in found:
            raise ValueError(
                f"the evaluation gives {', '.join(found) or 'nothing'}, but not "
                f"{settings.metric!r}, which the settings name as their metric"
            )
        value = found[settings.metric]
        best = settings.better(value, state.best)
        state.evaluated, state.bad = state.step, 0 if best else state.bad + 1
        if best:
            state.best, state.best_step = value, state.step
            self._warn(self.folder.put_best({**self._weights(model), "metrics": found}))
        self._write({"evaluation": found, "best": best})
        self._bar.evaluated(settings.metric, value)
        if settings.progress:
            told = ", ".join(f"{name} {number:.4g}" for name, number in found.items())
            self._bar.note(f"step {state.step:,}: {told}{' (best)' if best else ''}")

    # Checkpoints --------------------------------------------------------------------------------------------

    def _weights(self, model: Module) -> dict[str, Any]:
        return {"model": model.state_dict(), "step": self.state.step, "extra": self.extra}

    def _everything(self) -> dict[str, Any]:
        self._seconds()
        return {
            **self._weights(self.model),
            "optimizer": self.optimizer.state_dict(),
            "schedule": None if self.schedule is None else self.schedule.state_dict(),
            "averaged": None if self.averaged is None else self.averaged.state_dict(),
            "random": randomness.positions(),
            "training": self.state.as_dict(),
            "settings": self.settings.as_dict(),
        }

    def _restore(self) -> None:
        """Go to where the folder's run stands, or begin it there.

        The checkpoint is looked at first, and nothing is changed before it is known to fit.
        """
        found = self.folder.read_last()
        if found is None:
            self._begin()
            return
        settings = self.settings.as_dict()
        saved = {"processes": 1, **found["settings"]}  # there was a time before several
        check_same(
            self.folder.last,
            _identity(found["extra"], saved, found["schedule"]),
            _identity(self.extra, settings, self.schedule),
        )
        self._train_mode()
        self.model.load_state_dict(found["model"])
        self.optimizer.load_state_dict(found["optimizer"])
        if self.schedule is not None:
            go_on(self.schedule, found["schedule"])
        if self.averaged is not None:
            self.averaged.load_state_dict(found["averaged"])
        self.state = State.from_dict(found["training"])
        if any(saved[name] != settings[name] for name in METRIC):
            self.state.best, self.state.best_step, self.state.bad = None, 0, 0
        self.folder.clean(self.state.snapshots)
        randomness.go_to(found["random"])
        self._saved_step = self.state.step
        self._clock = self._saved_at = time.monotonic()

    def _begin(self) -> None:
        """Start a run: its first checkpoint shows that there is room for one, and that it can be read."""
        self.state = State()
        randomness.seed(self.settings.seed)
        self._train_mode()
        self._clock = time.monotonic()
        self.folder.put_last(self._everything())
        try:
            read_checkpoint(self.folder.last, mmap=True)
        except RuntimeError as error:
            self.folder.last.unlink()
            if not isinstance(error.__cause__, pickle.UnpicklingError):
                raise
            raise TypeError(
                "a part of the training is not plain data, and could not be loaded again: look "
                "at extra, and at the states of the optimizer and the schedule "
                f"({error.__cause__})"
            ) from error
        self._saved_step, self._saved_at = 0, time.monotonic()

    def _train_mode(self) -> None:
        """Training mode; if that is the model's already, its parts keep the modes that they were given."""
        if not self.model.training:
            self.model.train()

    def _save_due(self) -> bool:
        settings, step = self.settings, self.state.step
        if step == self._saved_step:
            return False
        if settings.save_every is not None and step % settings.save_every == 0:
            return True
        passed = time.monotonic() - self._saved_at
        return settings.save_seconds is not None and passed >= settings.save_seconds

    def _save(self) -> None:
        """Save; if that fails, warn and train on: the next save tries again."""
        try:
            self._put_last()
        except OSError as error:
            self._warn(error)
            self._saved_step, self._saved_at = -1, time.monotonic()

    def _put_last(self) -> None:
        self._log.flush()
        self.folder.put_last(self._everything())
        self._saved_step, self._saved_at = self.state.step, time.monotonic()

    def _save_surely(self) -> None:
        """Save at the end: where that fails, wait for room until patience is over.

        Raises:
            OSError: there was none.
        """
        patience = time.monotonic() + self.settings.retry_seconds
        while self._saved_step != self.state.step or self.folder.waiting or self._log.waiting:
            try:
                self._put_last()
            except OSError as error:
                left = patience - time.monotonic()
                if left <= 0:
                    raise
                self._bar.note(f"warning: {error}. Make room: trying again for {left:.0f} s")
                time.sleep(min(5.0, left))

    def _warn(self, error: OSError | None) -> None:
        if error is not None:
            self._bar.note(f"warning: {error}. Training goes on, and tries again later")


def _identity(extra: dict[str, Any], settings: dict[str, Any], schedule: Any) -> dict[str, Any]:
    """What must be the same for a run to go on."""
    values = {name: settings[name] for name in MATTER}
    return {"config": extra.get("config"), "schedule": None if schedule is None else "given", **values}
