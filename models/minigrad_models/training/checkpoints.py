"""Run folders, and how a training run that is killed at any moment resumes as if nothing had happened.

    last.safetensors             the complete state, which is all that a run needs to resume
    best.safetensors             the weights with the best evaluation
    snapshots/STEP.safetensors   the weights at some steps, for averaging
    log.jsonl                    the log, as JSON lines that can be plotted

Each checkpoint is written to a file in a temporary folder, flushed to disk, and renamed, so that the old file remains
complete until the new one replaces it. ``last`` describes the other files: the best metric and its step, the snapshots
to keep, and the number of log lines. A step's log line, snapshot and best weights are flushed before its ``last`` is
written, and older snapshots are deleted afterwards, so that everything that ``last`` mentions exists.

A run that is killed before ``last`` is renamed resumes from the previous ``last``. It truncates the log to the number
of lines in ``last``, deletes other snapshots, and repeats the steps since then with the same weights, random numbers
and batches, so it writes the same files. A new run starts by writing ``last``, so that a full disk is noticed early.

If a file cannot be written, the run ends with an error and keeps the old file, so the same program can resume it. With
``minutes``, the number of steps depends on their speed, and the seconds between ``last`` and a kill are not counted.

A training line is {"step", "epoch", "loss", "lr", "grad_norm", "tokens", "seconds"}. Its loss (per token) and grad_norm
are means over the updates since the previous line; tokens and seconds are totals. An evaluation line is {"step",
"epoch", "evaluation": {metric: value, ...}, "best", "tokens", "seconds"}.
"""

from __future__ import annotations

import errno
import json
import math
import os
import pickle
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Required, TypedDict

from minigrad import Tensor
from minigrad.optim.optimizer import ZEROS, Optimizer
from minigrad.serialization import load, save, source

from ..schema import check, check_like, check_size, content, short
from .trainer_settings import Settings, State

PATIENCE = 5.0  # seconds: a killed run may take a moment to end
PROGRAM, VERSION = "minigrad.training", 1  # the name of the format
_MOST_BYTES = 1 << 30  # of a log
MOST = 2**53  # for every count: a step, a line, an epoch
LENGTH = ("steps", "epochs")  # settings that may be larger when a run resumes
_TRAINING = ("training", "settings", "optimizer", "schedule", "averaged", "random", "extra")
_SNAPSHOT = re.compile(r"\d+\.safetensors")
DAMAGE = (*source.DAMAGE, RuntimeError, pickle.UnpicklingError, MemoryError)
ADVICE = "What to do: restore it from a copy, or train in another folder; nothing has been changed"


class Content(TypedDict, total=False):
    """The schema of a checkpoint. A file with only weights lacks the entries that a run needs to resume."""

    program: Required[str]
    version: Required[int]
    model: Required[dict[str, Any]]
    step: int
    extra: dict[str, Any]
    metrics: dict[str, Any]
    optimizer: dict[str, Any]
    schedule: dict[str, Any] | None
    averaged: dict[str, Any] | None
    random: dict[str, Any]
    training: State
    settings: Settings
    carried: dict[str, Any]


class RunFolder:
    """The files of a run, in a folder that ``held`` creates if necessary."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.last, self.best = self.path / "last.safetensors", self.path / "best.safetensors"
        self.log = self.path / "log.jsonl"
        self._snapshots = self.path / "snapshots"

    @contextmanager
    def held(self) -> Iterator[None]:
        """Create the folder, and lock it so that no other process can train in it."""
        try:
            self._snapshots.mkdir(parents=True, exist_ok=True)
            for folder in (self.path, self._snapshots):
                with tempfile.TemporaryFile(dir=folder):
                    pass
        except OSError as error:
            raise OSError(error.errno, f"cannot write checkpoints to {self.path}: {error.strerror}") from error
        with locked(self.path):
            yield

    def read_last(self, mmap: bool = False) -> dict[str, Any] | None:
        """The checkpoint to resume from, or None if the folder is new."""
        if not self.last.exists():
            if present := [path for path in (self.best, self.log, *self._files()) if path.exists()]:
                there = f"{self.path} has the {present[0].name} of a run, but no {self.last.name} to resume from"
                advice = "What to do: restore it, or train in another folder; nothing has been changed"
                raise FileExistsError(f"{there}. {advice}")
            return None
        checkpoint = read_checkpoint(self.last, mmap)
        if any(type(count) is int and not 0 <= count < MOST for count in checkpoint.get("training", {}).values()):
            raise RuntimeError(f"{self.last} is damaged: a training counter is out of range")
        if missing := [name for name in _TRAINING if name not in checkpoint]:
            fault = "holds only weights" if "training" in missing else f"lacks {', '.join(missing)}"
            raise RuntimeError(f"{self.last} {fault}, so training cannot resume from it")
        return checkpoint

    def snapshots(self) -> list[Path]:
        """The snapshots that ``last`` mentions, or all snapshots if there is no ``last``, oldest first."""
        last = self.read_last(mmap=True) if self.last.exists() else None
        return [path for path in self._files() if last is None or int(path.stem) in last["training"]["snapshots"]]

    def _files(self) -> list[Path]:
        return sorted(path for path in self._snapshots.glob("*") if _SNAPSHOT.fullmatch(path.name))

    def put_snapshot(self, step: int, content: dict[str, Any]) -> None:
        write_checkpoint(self._snapshots / f"{step:09d}.safetensors", content)

    def put_last(self, content: dict[str, Any]) -> None:
        """Write ``last``, then delete snapshots that it does not mention. On failure, the old ``last`` remains."""
        write_checkpoint(self.last, content)
        self.clean(content["training"]["snapshots"])

    def clean(self, steps: list[int]) -> None:
        """Delete the unfinished files of killed processes, and all snapshots except those at ``steps``."""
        for folder in (self.path, self._snapshots):
            for path in folder.glob(".*.safetensors.*.tmp"):
                shutil.rmtree(path, ignore_errors=True)
        for path in self._files():
            if int(path.stem) not in steps:
                path.unlink(missing_ok=True)


def write_checkpoint(path: Path, content: dict[str, Any]) -> None:
    """Replace a checkpoint atomically. Raises OSError if it cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        save({"program": PROGRAM, "version": VERSION, **content}, path)
    except OSError as error:
        message = f"cannot save {path}: {error.strerror or error}. Earlier checkpoints are unharmed"
        if error.errno == errno.ENOSPC:
            needed, free = (n / 1e6 for n in (_bytes(content), shutil.disk_usage(path.parent).free))
            message += f". It needs {needed:,.1f} MB, but only {free:,.1f} MB are free: free more, and train again"
        raise OSError(error.errno, message) from error


def _bytes(value: Any) -> int:
    """The total bytes of all tensors in a checkpoint."""
    if isinstance(value, Tensor):
        return value.numel() * value.element_size()
    return sum(map(_bytes, value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()))


def read_checkpoint(path: str | os.PathLike[str], mmap: bool = False) -> dict[str, Any]:
    """Read any checkpoint of a run into the CPU's memory. It contains "model" (a state dict), "step" and "extra". With
    ``mmap``, tensors are read from the file when they are used. Raises FileNotFoundError if the file does not exist,
    and RuntimeError if it is damaged or not a run's checkpoint."""
    file = Path(path)
    if not file.exists():
        raise FileNotFoundError(f"there is no checkpoint {file}")
    if file.is_char_device():
        raise RuntimeError(f"{file} is a device, not a checkpoint")
    try:
        checkpoint = load(file, map_location="cpu", mmap=mmap)
        check_size(checkpoint)
    except DAMAGE as error:
        reason = str(error).removeprefix(f"cannot load {file}: ").partition(" What to do:")[0].rstrip(".")
        raise RuntimeError(f"the checkpoint {file} is damaged: {reason}. {ADVICE}") from error
    if not isinstance(checkpoint, dict) or checkpoint.get("program") != PROGRAM or "model" not in checkpoint:
        raise RuntimeError(f"{file} is not a checkpoint of {PROGRAM}. {ADVICE}")
    if (version := checkpoint.get("version")) != VERSION:
        other = "unknown" if version is None else short(version)
        raise RuntimeError(f"{file} has version {other}, but this program reads version {VERSION}")
    try:
        check(checkpoint, Content, "the checkpoint")
    except ValueError as error:
        raise RuntimeError(f"the checkpoint {file} is damaged: {error}. {ADVICE}") from None
    return checkpoint


def averaged_state(folder: str | os.PathLike[str]) -> dict[str, Tensor]:
    """Average the snapshots of a run. Returns a state dict on the CPU. Sums are computed in float64 and rounded once.
    Integers and bools come from the last snapshot. The mean is a better model than any single snapshot (Izmailov et al.
    2018, arXiv 1803.05407; Vaswani et al. 2017, section 6.1). Raises FileNotFoundError if the run has no snapshots (see
    ``keep_snapshots`` in Settings)."""
    if not (paths := RunFolder(folder).snapshots()):
        raise FileNotFoundError(f"{folder} has no snapshots to average: set keep_snapshots in Settings")
    sums: dict[str, Tensor] = {}
    for path in paths:
        state: dict[str, Tensor] = read_checkpoint(path)["model"]
        real = {name: value.double() for name, value in state.items() if value.is_floating_point()}
        sums = {name: sums[name] + value if sums else value for name, value in real.items()}
    return {**state, **{name: (total / len(paths)).to(state[name].dtype) for name, total in sums.items()}}


def check_optimizer(optimizer: Optimizer, saved: Any) -> None:
    """Raise ValueError if an optimiser cannot load a state, because options or states have wrong types or shapes."""
    check(saved, dict[str, Any], "optimizer")
    check(saved.get("state"), dict[int, dict[str, Any]], "optimizer.state")
    check_like(saved.get("param_groups"), optimizer._numbered()[1], "optimizer.param_groups", False)
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    starts = optimizer._state
    for number, values in saved["state"].items():
        where = f"optimizer.state[{number}]"
        if not 0 <= number < len(parameters):
            raise ValueError(f"{where} belongs to none of the {len(parameters)} parameters")
        required = [name for name, start in starts.items() if start == ZEROS or not isinstance(start, str)]
        missing = [name for name in required if name not in values]
        if 0 < len(missing) < len(required):  # if all are missing, it is the state for another rule, such as Muon
            raise ValueError(f"{where} lacks {', '.join(missing)}")
        for name in starts.keys() & values.keys():
            like = parameters[number].detach() if isinstance(starts[name], str) else 0
            check_like(values[name], like, f"{where}.{name}")


def check_same(path: Path, saved: dict[str, Any], present: dict[str, Any]) -> None:
    """Raise ValueError if the configurations differ in keys other than ``LENGTH``. The message lists these keys."""

    def shown(values: dict[str, Any], name: str) -> str:
        value = values.get(name)
        if isinstance(value, list) and len(value) <= 10 and all(isinstance(part, str) for part in value):
            return f"[{', '.join(map(short, value))}]"
        return short(value) if name in values else "missing"

    old, new = _flat(saved), _flat(present)
    different = (name for name in old.keys() | new.keys() if old.get(name, ...) != new.get(name, ...))
    if names := sorted(name for name in different if name.rpartition(".")[2] not in LENGTH):
        values = [f"{name} ({shown(old, name)} there, {shown(new, name)} now)" for name in names]
        advice = "Train in another folder, or with the configuration of this one; nothing has been changed"
        raise ValueError(f"{path} has a different configuration: {', '.join(values)}. {advice}")


def _flat(value: Any, name: str = "") -> dict[str, Any]:
    """Flatten nested dicts into one dict with dotted names. Tuples become lists."""
    if isinstance(value, dict):
        inner = (_flat(v, f"{name}.{k}" if name else str(k)) for k, v in value.items())
        return {k: v for flat in inner for k, v in flat.items()}
    return {name: list(value) if isinstance(value, tuple) else value}


# One process at a time in a folder -------------------------------------------------------------------------

_handles: set[int] = set()  # opened by this process to lock them


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock a folder, if its file system supports it (some network drives do not). The operating system releases the
    lock when the process ends, even if it is killed. Raises BlockingIOError if another process or trainer holds it."""
    windows = sys.platform == "win32"  # Windows cannot lock folders
    handle = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT) if windows else os.open(folder, os.O_RDONLY)
    _handles.add(handle)
    try:
        deadline = time.monotonic() + PATIENCE
        while not _lock(handle):
            if time.monotonic() >= deadline:
                advice = "wait for it, or use another folder"
                raise BlockingIOError(errno.EWOULDBLOCK, f"another process is training in {folder}: {advice}")
            time.sleep(0.1)
        yield
    finally:
        if handle in _handles:  # otherwise, this is a forked process
            _handles.remove(handle)
            os.close(handle)


def _lock(handle: int) -> bool:
    """Try to take the lock. Returns False if another process holds it. A browser tab is one process without locks."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        elif sys.platform != "emscripten":
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        pass  # a file system without locks
    return True


def _release() -> None:
    """Release the parent's locks in a forked process."""
    while _handles:
        os.close(_handles.pop())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_release)


class Log(AbstractContextManager["Log"]):
    """Truncates a file to its first ``keep`` lines, and appends new lines. ``lines`` is the number of all lines. Raises
    OSError if the file cannot be opened."""

    def __init__(self, path: str | os.PathLike[str], keep: int = 0) -> None:
        self.path = path
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        with os.fdopen(os.dup(self._file), "rb") as file:
            lines = [line for line in file.readlines()[:keep] if line.endswith(b"\n")]
        self._size, self.lines = sum(map(len, lines)), len(lines)
        if os.fstat(self._file).st_size > self._size:
            os.ftruncate(self._file, self._size)

    def add(self, entry: dict[str, Any]) -> None:
        """Append a line, with null for numbers that are not finite. Raises OSError if writing fails."""
        line = json.dumps(_finite(entry), ensure_ascii=False, allow_nan=False).encode() + b"\n"
        os.lseek(self._file, self._size, os.SEEK_SET)
        try:
            if os.write(self._file, line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            raise OSError(error.errno, f"cannot write {self.path}: {error.strerror}") from error
        self._size, self.lines = self._size + len(line), self.lines + 1

    def flush(self) -> None:
        os.fsync(self._file)

    def __exit__(self, *raised: object) -> None:
        os.close(self._file)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


def read_log(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Read the entries of a log, or of a run folder's log, without an unfinished last line. Raises FileNotFoundError if
    the log does not exist, and ValueError if a line is not JSON, or the log is a device or larger than 1 GiB."""
    file = Path(path) / "log.jsonl" if Path(path).is_dir() else Path(path)
    entries: list[dict[str, Any]] = []
    for number, line in enumerate(content(file, _MOST_BYTES).splitlines(keepends=True), 1):
        if line.endswith(b"\n"):
            try:
                entries.append(json.loads(line))
            except (ValueError, RecursionError) as error:
                raise ValueError(f"{file}, line {number}, is not JSON: {error}") from None
    return entries
