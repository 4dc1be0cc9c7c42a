"""Trainer: the training loop."""

from __future__ import annotations

import hashlib
import math
import os
import pickle
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from typing import Any, Literal

from minigrad import Tensor
from minigrad.backend.compiled import store
from minigrad.nn.module import Module
from minigrad.optim.lr_scheduler import LambdaLR, LRScheduler, ReduceLROnPlateau
from minigrad.optim.optimizer import Optimizer
from minigrad.optim.swa_utils import AveragedModel, move_means
from minigrad.optim.zero_redundancy import ZeroRedundancyOptimizer

from ..schema import check_like
from .batches import Batches, Stream
from .checkpoints import ADVICE, DAMAGE, Log, RunFolder, check_optimizer, check_same, read_checkpoint, write_checkpoint
from .progress import LOST, Interrupt, Progress
from .trainer_settings import FIXED, METRIC, Settings, State, Window, go_to, positions, seed, undisturbed
from .update import Loss, Ranks, Updated, update

Reason = Literal["steps", "minutes", "patience", "interrupted"]
Evaluate = Callable[[Any], Mapping[str, float]]


@dataclass(frozen=True)
class Outcome:
    """The result of ``fit``."""

    reason: Reason  # steps, minutes or patience have run out, or the run was interrupted
    step: int  # updates so far
    seconds: float  # of training
    best: float | None  # the best metric
    best_step: int

    @property
    def finished(self) -> bool:
        """Whether the training is complete."""
        return self.reason != "interrupted"


class Trainer:
    """Trains a model, and stores everything needed to resume in a folder.

    A run that is killed at any moment and started again by the same program, on the same machine, ends with weights
    bitwise identical to those of an uninterrupted run; ``checkpoints.py`` explains why.

    After ``distributed.init_process_group``, all ranks share the batches of each update, and must pass the same
    arguments. Rank 0 shows progress, evaluates, and writes to the folder, using its own running statistics. The losses
    equal those of a single process, up to rounding, and a run can resume with a different number of ranks.

    Args:
        model, optimizer: as in a PyTorch training loop. If the model is in eval mode, all modules are switched to
            training mode; otherwise, modules in eval mode stay in it.
        batches: an object with ``epoch(number, start)``, such as LoaderBatches.
        loss: a function of the model and a batch. It returns the mean loss, a one-element tensor, and its weight
            (target tokens), which is used to average the batches of an update and the losses of several updates.
        folder, settings: the run folder, which is created if it does not exist, and the run's settings.
        schedule: the learning-rate schedule, which steps after each update. A resumed run may pass a LambdaLR with a
            different function; any other schedule continues unchanged.
        evaluate: a function of the model that returns a mapping of metrics. It runs in eval mode without gradients, and
            its random numbers do not affect training.
        extra: plain data (see ``minigrad.save``) to store in checkpoints, such as tokenizers. If it has a "config", the
            run can resume only with the same one, except for "steps" and "epochs".
        carried: an object with ``state_dict`` and ``load_state_dict`` that holds state outside the model that updates
            pass on, such as the memory of a recurrent model. It requires a single rank.

    Attributes:
        state: the position of the training.
        averaged: the moving average of the model, or None.

    Raises TypeError if ``schedule`` is no LRScheduler or needs a metric, and ValueError for patience without evaluate.
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
        carried: Any = None,
    ) -> None:
        if not isinstance(schedule, LRScheduler | None):
            raise TypeError("schedule must be an LRScheduler; for a function, use LambdaLR(optimizer, function)")
        if isinstance(schedule, ReduceLROnPlateau):
            raise TypeError("the schedule cannot be a ReduceLROnPlateau: its steps need a metric")
        if settings.patience is not None and evaluate is None:
            raise ValueError("patience counts evaluations, so it needs evaluate")
        self.model, self.optimizer, self.batches, self.loss = model, optimizer, batches, loss
        self.folder, self.settings, self.schedule = RunFolder(folder), settings, schedule
        self.evaluate, self.extra, self.carried = evaluate, extra or {}, carried
        self.state = State()
        self.averaged = None if settings.ema_decay is None else moving_average(model, settings.ema_decay)
        self.ranks = Ranks()
        self._saved_step = -1
        self._clock = self._saved_at = time.monotonic()

    def check(self) -> None:
        """Raise the errors that ``fit`` raises before it touches the folder: ValueError if there are more ranks than
        batches in an update, or several ranks with a ``carried`` state."""
        ranks, accumulate = self.ranks.count, self.settings.accumulate
        if ranks > accumulate:
            there = f"{ranks} ranks share the batches of an update, but accumulate is {accumulate}"
            raise ValueError(f"{there}: set accumulate to {ranks} or a multiple of it")
        if ranks > 1 and self.carried is not None:
            raise ValueError("carried needs a single rank: each update passes its state to the next within one process")

    def fit(self, begun: Callable[[], None] | None = None) -> Outcome:
        """Train to the end, starting where an earlier call stopped. The model then has the last weights. On Ctrl-C or
        SIGTERM, ``fit`` finishes and saves the update before it returns; a second signal interrupts immediately.
        ``begun`` is called before the first step, after the folder is locked and its checkpoint is accepted. Raises the
        errors of ``check``, ValueError if the run in the folder has a different configuration, OSError if the folder is
        not writable, and RuntimeError if its checkpoint is damaged, or a loss or gradient is not finite."""
        self.check()
        first = self.ranks.is_first
        with ExitStack() as stack:
            self.ranks.of_first(lambda: stack.enter_context(self.folder.held()))
            status = self._restore()
            if begun is not None:
                self.ranks.of_first(begun)
            if not self.model.training:  # otherwise, its modules keep their modes
                self.model.train()
            state, settings = self.state, self.settings
            over = self.ranks.of_first(self._over) or self._impatient()
            if over and not self._evaluation_due(True):
                status = f"holds a finished run of {state.step:,} steps; to start another, use a different folder"
            if first and status:
                with suppress(*LOST):
                    print(f"{self.folder.path} {status}", file=sys.stderr)
            if over and not self._evaluation_due(True):
                return self._outcome(over)
            limit = math.inf if settings.minutes is None else 60 * settings.minutes
            store.library()  # compile kernels before the updates, whose speed determines the time left
            self._clock = time.monotonic()
            with_bar = settings.progress and first
            with (
                Progress(settings.steps, limit, state.step, state.seconds, with_bar, settings.unit) as self._bar,
                Interrupt(self._bar.note if first else lambda text: None) as self._stop,
                Log(self.folder.log if first else os.devnull, state.lines) as self._log,
                closing(Stream(self.batches, state.epoch, state.batch)) as self._stream,
            ):
                return self._run()

    # The loop -----------------------------------------------------------------------------------------------

    def _run(self) -> Outcome:
        state = self.state
        if self.ranks.is_first:
            state.lines = self._log.lines  # fewer, if the log was deleted
        self._pending: Updated | None = None
        reason: Reason | None = None
        while not reason:
            over, stop, snapshot, evaluation, save = self.ranks.of_first(self._due)
            if stop or over or snapshot or evaluation or save:
                self._count_pending()  # check that the last update is finite before saving or evaluating
            if stop:
                break
            if snapshot:
                state.snapshots = [*state.snapshots, state.step][-self.settings.keep_snapshots :]
                self.ranks.of_first(lambda: self.folder.put_snapshot(state.step, self._weights(self.model)))
            if evaluation:
                state.evaluated, state.best, state.best_step, state.bad = self.ranks.of_first(self._evaluate)
            if save:
                self._consolidate()
                self.ranks.of_first(self._put_last)
            reason = over or self._impatient()
            if not reason:
                self._update()
        self._consolidate()
        self.ranks.of_first(self._put_last)
        self.ranks.close()
        return self._outcome(reason or "interrupted")

    def _due(self) -> tuple[Reason | None, bool, bool, bool, bool]:
        """Rank 0's decision for all ranks before an update: whether training is over or was asked to stop, and whether
        it needs a snapshot, an evaluation, or a checkpoint."""
        state, settings, step = self.state, self.settings, self.state.step
        over = self._over()
        every = settings.snapshot_every or settings.evaluate_every
        snapshot = settings.keep_snapshots > 0 and step > 0 and step % every == 0 and step not in state.snapshots
        evaluation = self._evaluation_due(over is not None)
        by_step = settings.save_every is not None and step % settings.save_every == 0
        by_time = settings.save_seconds is not None and time.monotonic() - self._saved_at >= settings.save_seconds
        save = step != self._saved_step and (by_step or by_time)
        return over, self._stop.asked, snapshot, evaluation, snapshot or evaluation or save

    def _evaluation_due(self, last: bool) -> bool:
        due = last or self.state.step % self.settings.evaluate_every == 0
        return due and self.evaluate is not None and self.state.evaluated != self.state.step

    def _over(self) -> Reason | None:
        if self.state.step >= self.settings.steps:
            return "steps"
        minutes = self.settings.minutes
        return "minutes" if minutes is not None and self._seconds() >= 60 * minutes else None

    def _impatient(self) -> Reason | None:
        patience = self.settings.patience
        return "patience" if patience is not None and self.state.bad >= patience else None

    def _outcome(self, reason: Reason) -> Outcome:
        return Outcome(reason, self.state.step, self.state.seconds, self.state.best, self.state.best_step)

    def _seconds(self) -> float:
        """Update the seconds of training in the state, and return them."""
        now = time.monotonic()
        self.state.seconds += now - self._clock
        self._clock = now
        return self.state.seconds

    # A step -------------------------------------------------------------------------------------------------

    def _update(self) -> None:
        state, settings, stream = self.state, self.settings, self._stream
        rate = float(self.optimizer.param_groups[0]["lr"])
        step, add = state.step + 1, self.ranks.add_gradients
        updated = update(self.model, self.optimizer, self.loss, self._batches(step), settings.clip, step, add)
        if self.schedule is not None:
            self.schedule.step()
        if self.averaged is not None:
            self.averaged.update_parameters(self.model)
        state.step += 1
        state.epoch, state.batch = stream.epoch, stream.batch
        state.tokens += updated.weight
        self._count_pending()
        self._pending = updated
        is_logged = state.step % settings.log_every == 0
        if updated.is_known or is_logged:
            self._count_pending()
        if is_logged:
            sums, state.window = state.window, Window()
            self._write({"loss": sums.loss / sums.tokens, "grad_norm": sums.norm / sums.updates, "lr": rate})

    def _batches(self, step: int) -> Iterator[Any]:
        """The batches of an update. If there are several, each is fetched and used with random numbers that depend only
        on the seed, the step and the batch number, not on the rank that computes it."""
        for number in range(self.settings.accumulate):
            if self.settings.accumulate > 1:
                digest = hashlib.sha256(f"{self.settings.seed} {step} {number}".encode()).digest()
                seed(int.from_bytes(digest[:8], "little"))
            yield self._stream.take()

    def _count_pending(self) -> None:
        """Count the loss and norm of the last update. A GPU computes them while the next update is launched, so it
        never waits for this process."""
        if self._pending is not None:
            updated, self._pending = self._pending, None
            loss, norm = updated.check()
            window = self.state.window
            window.updates, window.tokens = window.updates + 1, window.tokens + updated.weight
            window.loss, window.norm = window.loss + loss * updated.weight, window.norm + norm
            self._bar.advance(loss, updated.weight, self._seconds())

    def _write(self, entries: dict[str, Any]) -> None:
        """Write a line to the log: the position of the training, and ``entries``."""
        state = self.state
        position = {"step": state.step, "epoch": state.epoch}
        totals = {"tokens": round(state.tokens), "seconds": round(self._seconds(), 3)}
        self._log.add({**position, **entries, **totals})
        state.lines = self._log.lines

    def _consolidate(self) -> None:
        """Prepare a checkpoint: check that all ranks have equal weights, and gather the optimiser's state on rank 0."""
        self.ranks.check_equal(self.model)
        if isinstance(self.optimizer, ZeroRedundancyOptimizer):
            self.optimizer.consolidate_state_dict()

    def _evaluate(self) -> tuple[int, float | None, int, int]:
        """Evaluate, and save the weights if they are the best. Returns the state's evaluation fields."""
        assert self.evaluate is not None
        state, settings = self.state, self.settings
        model = self.model if self.averaged is None else self.averaged.module
        with undisturbed(model):
            metrics = {name: float(value) for name, value in self.evaluate(model).items()}
        if settings.metric not in metrics:
            results = ", ".join(metrics) or "nothing"
            raise ValueError(f"the evaluation returned {results}, but not {settings.metric!r}, the settings' metric")
        value, sign = metrics[settings.metric], 1 if settings.mode == "max" else -1
        best = value == value and (state.best is None or sign * value > sign * state.best)  # NaN never is
        state.evaluated, state.bad = state.step, 0 if best else state.bad + 1
        if best:
            state.best, state.best_step = value, state.step
            write_checkpoint(self.folder.best, {**self._weights(model), "metrics": metrics})
        self._write({"evaluation": metrics, "best": best})
        self._bar.evaluated(settings.metric, value)
        if settings.progress:
            results = ", ".join(f"{name} {number:.4g}" for name, number in metrics.items())
            self._bar.note(f"step {state.step:,}: {results}{' (best)' if best else ''}")
        return state.evaluated, state.best, state.best_step, state.bad

    # Checkpoints --------------------------------------------------------------------------------------------

    def _weights(self, model: Module) -> dict[str, Any]:
        return {"model": model.state_dict(), "step": self.state.step, "extra": self.extra}

    def _everything(self) -> dict[str, Any]:
        self._seconds()
        parts = {"optimizer": self.optimizer, "schedule": self.schedule, "averaged": self.averaged}
        parts |= {} if self.carried is None else {"carried": self.carried}
        return {
            **self._weights(self.model),
            **{name: None if part is None else part.state_dict() for name, part in parts.items()},
            "random": positions(),
            "training": asdict(self.state),
            "settings": asdict(self.settings),
        }

    def _restore(self) -> str:
        """Resume the run in the folder, or start a new run. Nothing changes before the checkpoint has been checked.
        Returns a message about the position and changed settings, or "" at step 0."""
        checkpoint = self.ranks.of_first(self._read)
        if checkpoint is None:
            self._begin()
            return ""
        with self._blaming_checkpoint():
            self._take_over(checkpoint)
        old, new = checkpoint["settings"], asdict(self.settings)
        if any(old[name] != new[name] for name in METRIC):
            self.state.best, self.state.best_step, self.state.bad = None, 0, 0
        if self.ranks.is_first:
            self.folder.clean(self.state.snapshots)
        self._saved_step = self.state.step
        self._clock = self._saved_at = time.monotonic()
        text = f"resumes from step {self.state.step:,} of {new['steps']:,}"
        if old["steps"] != new["steps"]:
            before, now = checkpoint["optimizer"]["param_groups"][0]["lr"], self.optimizer.param_groups[0]["lr"]
            rate = f"; its learning rate changes from {before:.3g} to {now:.3g}" if before != now else ""
            text += f" (previously {old['steps']:,}){rate}"
        return text if self.state.step else ""

    def _read(self) -> dict[str, Any] | None:
        """The checkpoint to resume from, if it belongs to this training."""
        checkpoint = self.folder.read_last()
        if checkpoint is None:
            return None
        with self._blaming_checkpoint():
            saved = asdict(Settings(**checkpoint["settings"]))  # older checkpoints may lack settings with defaults
        there = _identity(checkpoint["extra"], saved, checkpoint["schedule"], checkpoint.get("carried"))
        here = _identity(self.extra, asdict(self.settings), self.schedule, self.carried)
        check_same(self.folder.last, there, here)
        if (step := checkpoint["step"]) > self.settings.steps:
            hint = "Set more steps, or start over in a different folder"
            raise ValueError(f"{self.folder.path} is at step {step:,}, but the last is {self.settings.steps:,}. {hint}")
        return {**checkpoint, "settings": saved}

    def _take_over(self, checkpoint: dict[str, Any]) -> None:
        """Load the weights, the optimiser's state, the schedule, the generators and the position from a checkpoint."""
        self.model.load_state_dict(checkpoint["model"])
        check_optimizer(self.optimizer, checkpoint["optimizer"])
        self.optimizer.load_state_dict(checkpoint["optimizer"])
        if self.schedule is not None:
            check_like(checkpoint["schedule"], self.schedule.state_dict(), "schedule", complete=False)
            self.schedule.load_state_dict(checkpoint["schedule"])
            if isinstance(self.schedule, LambdaLR):  # it may have a new function, for a different number of steps
                self.schedule._update_lr(self.schedule.last_epoch)  # the optimiser has the rate of the old function
        if self.averaged is not None:
            self.averaged.load_state_dict(checkpoint["averaged"])
        if self.carried is not None:
            self.carried.load_state_dict(checkpoint["carried"])
        position = checkpoint["training"]
        self.state = State(**{**position, "window": Window(**position.get("window", {}))})
        go_to(checkpoint["random"])

    @contextmanager
    def _blaming_checkpoint(self) -> Iterator[None]:
        """Turn errors into a RuntimeError that blames the checkpoint."""
        try:
            yield
        except DAMAGE as error:
            raise RuntimeError(f"{self.folder.last} does not match this training run: {error}. {ADVICE}") from error

    def _begin(self) -> None:
        """Start a run by saving a first checkpoint, which tests that it can be written and read."""
        self.state = State()
        seed(self.settings.seed)
        self._clock = time.monotonic()
        for model in filter(None, (self.model, self.averaged)):
            self.ranks.send([*model.parameters(), *model.buffers()])
        self._consolidate()

        def put() -> None:
            self.folder.put_last(self._everything())
            try:
                read_checkpoint(self.folder.last, mmap=True)
            except RuntimeError as error:
                self.folder.last.unlink()
                if not isinstance(error.__cause__, pickle.UnpicklingError):
                    raise
                fault = "a part of the training is not plain data, so it could not be loaded again"
                advice = "check extra, and the states of the optimizer and the schedule"
                raise TypeError(f"{fault}: {advice} ({error.__cause__})") from error

        self.ranks.of_first(put)
        self._saved_step, self._saved_at = 0, time.monotonic()

    def _put_last(self) -> None:
        self._log.flush()
        self.folder.put_last(self._everything())
        self._saved_step, self._saved_at = self.state.step, time.monotonic()


def moving_average(model: Module, decay: float) -> AveragedModel:
    """A copy of a model that holds the moving average of its weights w. It starts with the weights after the first
    update. Each later update sets m ← d · m + (1 - d) · w (Polyak and Juditsky 1992). After n updates, d = min(decay,
    (1 + n) / (10 + n)), so that the first weights fade quickly (as in TensorFlow's ExponentialMovingAverage with
    num_updates). Call ``update_parameters(model)`` after each update. Buffers are copied, not averaged."""

    def update(means: Sequence[Tensor], new: Sequence[Tensor], age: Any) -> None:
        n = int(age)
        move_means(means, new, 1 - min(decay, (1 + n) / (10 + n)))

    averaged = AveragedModel(model, multi_avg_fn=update)
    averaged.eval()
    return averaged


def _identity(extra: dict[str, Any], settings: dict[str, Any], schedule: Any, carried: Any) -> dict[str, Any]:
    """The values that must not change when a run resumes."""
    parts = {"schedule": schedule, "carried": carried}
    values = {name: settings[name] for name in FIXED}
    return {"config": extra.get("config"), **{n: None if p is None else "given" for n, p in parts.items()}, **values}
