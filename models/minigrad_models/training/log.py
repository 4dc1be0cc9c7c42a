"""The log: a file of JSON lines that can be plotted, and continues where a checkpoint left it.

A line of training is {"step", "epoch", "loss", "lr", "grad_norm", "tokens", "seconds"}: loss (per token) and
norm are means over the updates since the previous line, tokens and seconds are totals. A line of an evaluation
is {"step", "epoch", "evaluation": {metric: value, ...}, "best", "tokens", "seconds"}.
"""

from __future__ import annotations

import errno
import json
import math
import os
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from ..schema import content

_MOST_BYTES = 1 << 30


class Log(AbstractContextManager["Log"]):
    """Cuts a file off after the first ``keep`` lines, and appends others; ``lines`` counts them. Raises OSError: it
    cannot be opened."""

    def __init__(self, path: str | os.PathLike[str], keep: int = 0) -> None:
        self.path = path
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        with os.fdopen(os.dup(self._file), "rb") as file:
            kept = [line for line in file.readlines()[:keep] if line.endswith(b"\n")]
        self._size, self.lines = sum(map(len, kept)), len(kept)
        if os.fstat(self._file).st_size > self._size:
            os.ftruncate(self._file, self._size)

    def add(self, entry: dict[str, Any]) -> None:
        """Append a line, in which numbers that are not finite are null. Raises OSError: the disk refuses it."""
        line = json.dumps(_finite(entry), ensure_ascii=False, allow_nan=False).encode() + b"\n"
        os.lseek(self._file, self._size, os.SEEK_SET)
        try:
            if os.write(self._file, line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            raise OSError(error.errno, f"cannot write {self.path}: {error.strerror}") from error
        self._size, self.lines = self._size + len(line), self.lines + 1

    def flush(self) -> None:
        """Bring all lines to the disk. Raises OSError."""
        os.fsync(self._file)

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
