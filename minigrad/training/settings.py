"""Settings: how long a training is, and what happens how often."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

COUNTS = ("steps", "accumulate", "processes", "evaluate_every", "save_every", "snapshot_every", "patience", "log_every")
MATTER = ("seed", "accumulate", "processes", "clip", "ema_decay")  # another value is another training
METRIC = ("metric", "mode")  # with another value no evaluation so far was the best


@dataclass(frozen=True)
class Settings:
    """What ``Trainer`` does when. A step is one update of the weights.

    Args:
        steps: updates in all.
        minutes: stop earlier, after so many minutes of training (all runs in the folder together).
        accumulate: batches whose gradients make one update.
        processes: how many processes share these batches, on the CPU; ``accumulate`` is at least as large.
        clip: the largest norm of all gradients together; None for any.
        evaluate_every: steps between evaluations; there is one at the end, too.
        save_every: steps between checkpoints; None for by time alone.
        save_seconds: seconds between checkpoints; None for by steps alone. There is also one after every
            evaluation and snapshot, and at the end.
        patience: stop after so many evaluations in a row without improvement; None for never.
        metric: the name, among the evaluation's results, of what is to improve. A run that goes on with
            another one, or another ``mode``, looks for the best anew.
        mode: whether a better metric is smaller ("min") or larger ("max").
        keep_snapshots: how many of the newest snapshots of the weights to keep, for ``averaged_state``.
        snapshot_every: steps between snapshots; None for ``evaluate_every``.
        ema_decay: keep an exponential moving average of the weights, which is then what evaluations see.
        log_every: steps between lines of the log.
        seed: of dropout, and of Python's and NumPy's own random numbers.
        tensorboard: write the log for TensorBoard, too, which must be installed.
        progress: show a bar (with tqdm, in a terminal), or a line every ten seconds, on stderr.
        retry_seconds: how long the save at the end waits for a full disk to be freed, before it fails.

    Raises:
        ValueError: a number that makes no sense.
    """

    steps: int
    minutes: float | None = None
    accumulate: int = 1
    processes: int = 1
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
    tensorboard: bool = False
    progress: bool = True
    retry_seconds: float = 300.0

    def __post_init__(self) -> None:
        for name in COUNTS:
            value = getattr(self, name)
            if value is not None and (not _whole(value) or value < 1):
                raise ValueError(f"{name} must be a positive whole number, not {value!r}")
        if self.processes > self.accumulate:
            raise ValueError(
                f"{self.processes} processes share the batches of an update, of which there are "
                f"{self.accumulate}: set accumulate to {self.processes} or a multiple of it"
            )
        for name in ("minutes", "clip", "save_seconds"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ValueError(f"{name} must be positive, not {value!r}")
        if self.ema_decay is not None and not 0 <= self.ema_decay < 1:
            raise ValueError(f"ema_decay must lie in [0, 1), not {self.ema_decay!r}")
        if self.mode not in ("min", "max"):
            raise ValueError(f'mode must be "min" or "max", not {self.mode!r}')
        if not _whole(self.keep_snapshots) or self.keep_snapshots < 0:
            raise ValueError(f"keep_snapshots must be a whole number from 0 on, not {self.keep_snapshots!r}")
        if not self.retry_seconds >= 0:
            raise ValueError(f"retry_seconds must not be negative, but is {self.retry_seconds!r}")

    def as_dict(self) -> dict[str, Any]:
        """All settings by name."""
        return asdict(self)

    def better(self, value: float, than: float | None) -> bool:
        """Whether an evaluation's metric is the best so far; one that is not a number never is."""
        if value != value:
            return False
        return than is None or (value < than if self.mode == "min" else value > than)


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
