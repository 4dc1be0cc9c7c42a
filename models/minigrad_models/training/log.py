"""The log: a file of JSON lines that can be plotted, and continues where a checkpoint left it.

A line of training is {"step", "epoch", "loss", "lr", "grad_norm", "tokens", "seconds"}: loss (per token) and
norm are means over the updates since the previous line, tokens and seconds are totals. A line of an evaluation
is {"step", "epoch", "evaluation": {metric: value, ...}, "best", "tokens", "seconds"}. ``Board`` writes the same numbers
for TensorBoard.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

from ..text.schema import content

_MOST_BYTES = 1 << 30


class Log(AbstractContextManager["Log"]):
    """Cuts a file off after the first ``keep`` lines, and appends others. Those that a full disk refuses wait in
    memory for the next line, or for ``flush``; ``lines`` counts them, too. Raises OSError: it cannot be opened."""

    def __init__(self, path: str | os.PathLike[str], keep: int = 0) -> None:
        self.path = path
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        with os.fdopen(os.dup(self._file), "rb") as file:
            kept = [line for line in file.readlines()[:keep] if line.endswith(b"\n")]
        self._size, self.lines = sum(map(len, kept)), len(kept)
        self.waiting = b""  # lines that could not be written
        if os.fstat(self._file).st_size > self._size:
            os.ftruncate(self._file, self._size)

    def add(self, entry: dict[str, Any]) -> OSError | None:
        """Append a line, in which numbers that are not finite are null. Returns the error if it has to wait."""
        text = json.dumps(_finite(entry), ensure_ascii=False, allow_nan=False)
        self.waiting += text.encode() + b"\n"
        self.lines += 1
        try:
            self.flush(sync=False)
        except OSError as error:
            return error
        return None

    def flush(self, sync: bool = True) -> None:
        """Write the lines that wait, and bring all to the disk. Raises OSError: it refuses them; they keep waiting."""
        try:
            os.lseek(self._file, self._size, os.SEEK_SET)
            sent = 0
            while sent < len(self.waiting):
                sent += os.write(self._file, self.waiting[sent:])
            if sync:
                os.fsync(self._file)
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self._file, self._size)  # no half lines
            raise OSError(error.errno, f"cannot write {self.path}: {error.strerror}") from error
        self._size, self.waiting = self._size + sent, b""

    def __exit__(self, *raised: object) -> None:
        os.close(self._file)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


def read_log(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """The lines of a log, or of the log in a run's folder, without an unfinished last one. Raises FileNotFoundError:
    there is no log; ValueError: a line is not JSON, or it is a device or over 1 GiB."""
    file = Path(path) / "log.jsonl" if Path(path).is_dir() else Path(path)
    entries: list[dict[str, Any]] = []
    for number, line in enumerate(content(file, _MOST_BYTES).splitlines(keepends=True), 1):
        if line.endswith(b"\n"):
            try:
                entries.append(json.loads(line))
            except (ValueError, RecursionError) as error:
                raise ValueError(f"{file}, line {number}, is not JSON: {error}") from None
    return entries


class Board(AbstractContextManager["Board"]):
    """Writes numbers to the folder "tensorboard" of a run, if that is ``enabled``. Numbers after ``step``, of a run
    that was killed, are discarded; if a disk refuses numbers, they are lost, and ``warn`` is called with a text. Raises
    ImportError: TensorBoard is not installed."""

    def __init__(self, folder: Path, step: int, enabled: bool, warn: Callable[[str], None]) -> None:
        self._writer: Any = None
        self._warn = warn
        if enabled:
            from minigrad.utils.tensorboard import SummaryWriter

            self._writer = SummaryWriter(folder / "tensorboard", purge_step=step + 1)

    def add(self, numbers: dict[str, Any], step: int) -> None:
        """Write the numbers of a line: as "training/NAME", and those of an evaluation as "evaluation/NAME"."""
        with self._writing():
            for name, value in numbers.items() if self._writer else ():
                group, entries = (name, value) if isinstance(value, dict) else ("training", {name: value})
                for metric, number in entries.items():
                    if isinstance(number, float):
                        self._writer.add_scalar(f"{group}/{metric}", number, step)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self._warn(f"warning: TensorBoard's log cannot be written: {error}")

    def __exit__(self, *raised: object) -> None:
        if self._writer is not None:
            with self._writing():
                self._writer.close()
