"""The folder of a run, and why a training that is killed at any moment goes on as if it had not been.

    last.safetensors         all of the training: the only file that it goes on from
    best.safetensors         the weights that evaluated best
    snapshots/STEP.safetensors   the weights at some steps, for averages
    log.jsonl                what happened

Each checkpoint is written to a temporary file, flushed to the disk, and renamed: under its name there is the
old one or the new one, whole. Between two files there is an order:

1. ``last`` alone is the truth. It tells what the others should hold: the best metric and its step, which
   snapshots count, how many lines of the log. Nothing else is read to go on.
2. What belongs to a step is written, and flushed, before the ``last`` of that step: its line of the log, its
   snapshot, the best weights if they are of that step. So all that ``last`` tells of is there.
3. What ``last`` does not need any more (older snapshots) is deleted after it.

Killed between 2 and the renaming of ``last``, the run starts from an older ``last``. The log is cut back to
the lines that this one counts, snapshots that it does not name are deleted, and the steps in between are made
again from the same weights, random numbers and batches: they are the same steps, and write the same files.
(Best weights that are newer than ``last`` stay until then; they are written again when the run comes to their
step.) At the start of a new run ``last`` is written first of all, so that a folder without one has nothing to
lose, and a disk without room is found out at once. Temporary files that a killed run left are deleted.

When a file cannot be written (a full disk), the old one is left as it is. In the middle of a training that is
a warning: hours of work are worth more than a checkpoint, and the disk may be freed. Best weights,
snapshots and lines that could not be written wait in memory, and are written, still in that order, before the
next ``last``. At the end the save waits some minutes for room, and then fails.

With ``minutes`` all this holds for each step, but not for their number, which depends on how fast they were
made: the run ends elsewhere, and evaluates there. A killed run forgets the seconds since its ``last``, too.
"""

from __future__ import annotations

import copy
import os
import pickle
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..serialization import load, save
from .lock import locked

PROGRAM, VERSION = "minigrad.training", 1
_TEMPORARY = re.compile(r"\..+\.safetensors\.[0-9a-f]+\.tmp")
_TRAINING = ("training", "settings", "optimizer", "schedule", "averaged", "random", "extra")
_SNAPSHOT = re.compile(r"\d+\.safetensors")
_DAMAGE = (RuntimeError, EOFError, pickle.UnpicklingError, ValueError, TypeError, LookupError, AttributeError)


class RunFolder:
    """The files of one run.

    Args:
        path: the folder, which ``held`` makes if need be.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.last, self.best = self.path / "last.safetensors", self.path / "best.safetensors"
        self.log = self.path / "log.jsonl"
        self._snapshots = self.path / "snapshots"
        self.waiting: dict[Path, dict[str, Any]] = {}

    @contextmanager
    def held(self) -> Iterator[None]:
        """Make the folder, and keep other processes from training in it.

        Raises:
            OSError: it cannot be made or written to, or another process trains in it.
        """
        try:
            self._snapshots.mkdir(parents=True, exist_ok=True)
            for folder in (self.path, self._snapshots):
                with tempfile.TemporaryFile(dir=folder):
                    pass
        except OSError as error:
            raise OSError(error.errno, f"cannot write checkpoints to {self.path}: {error}") from error
        with locked(self.path):
            yield

    # Reading ------------------------------------------------------------------------------------------------

    def read_last(self) -> dict[str, Any] | None:
        """The checkpoint to go on from; None if the folder is a new one.

        Raises:
            RuntimeError: it is damaged, or holds no training.
            FileExistsError: it is missing, but files of a run are there.
        """
        if self.last.exists():
            return self._read_last()
        present = [path for path in (self.best, self.log, *self._files()) if path.exists()]
        if present:
            raise FileExistsError(
                f"{self.path} holds a run's {present[0].name}, but no {self.last.name} to go on from. What "
                "to do: restore that, or train in another folder; nothing has been changed"
            )
        return None

    def _read_last(self, mmap: bool = False) -> dict[str, Any]:
        found = read_checkpoint(self.last, mmap)
        if "training" not in found:
            raise RuntimeError(f"{self.last} holds weights alone: a training cannot go on from it")
        missing = [name for name in _TRAINING if name not in found]
        if missing:
            raise RuntimeError(f"{self.last} lacks {', '.join(missing)}: a training cannot go on from it")
        return found

    def snapshots(self) -> list[Path]:
        """The snapshots that count, oldest first: those that ``last`` names, or without it, all.

        Raises:
            RuntimeError: ``last`` is damaged, or holds no training.
        """
        found = self._files()
        if self.last.exists():
            named = self._read_last(mmap=True)["training"]["snapshots"]
            found = [path for path in found if int(path.stem) in named]
        return found

    def _files(self) -> list[Path]:
        if not self._snapshots.is_dir():
            return []
        return sorted(p for p in self._snapshots.iterdir() if _SNAPSHOT.fullmatch(p.name))

    # Writing ------------------------------------------------------------------------------------------------

    def put_best(self, content: dict[str, Any]) -> OSError | None:
        """Write the best weights; if that fails, keep them for the next ``put_last``, and return why."""
        return self._put(self.best, content)

    def put_snapshot(self, step: int, content: dict[str, Any]) -> OSError | None:
        """Write a snapshot of the weights; if that fails, as ``put_best``."""
        return self._put(self._snapshots / f"{step:09d}.safetensors", content)

    def _put(self, path: Path, content: dict[str, Any]) -> OSError | None:
        self.waiting.pop(path, None)
        try:
            write_checkpoint(path, content)
        except OSError as error:
            self.waiting[path] = copy.deepcopy(content)  # the weights go on changing
            return error
        return None

    def put_last(self, content: dict[str, Any]) -> None:
        """Write what waits, then ``last``, and delete the snapshots that it does not name.

        Raises:
            OSError: a file cannot be written; the old ``last`` is as it was.
        """
        named = content["training"]["snapshots"]
        for path, waiting in list(self.waiting.items()):
            if path == self.best or int(path.stem) in named:
                write_checkpoint(path, waiting)
            del self.waiting[path]
        write_checkpoint(self.last, content)
        self.clean(named)

    def clean(self, named: list[int]) -> None:
        """Delete temporary files and all snapshots but those of the steps named."""
        for folder in (self.path, self._snapshots):
            for path in folder.glob(".*.tmp"):
                if _TEMPORARY.fullmatch(path.name):
                    path.unlink(missing_ok=True)
        for path in self._files():
            if int(path.stem) not in named:
                path.unlink(missing_ok=True)


def write_checkpoint(path: Path, content: dict[str, Any]) -> None:
    """Replace a checkpoint: whole, or not at all.

    Raises:
        OSError: it cannot be written; the error names it.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        save({"program": PROGRAM, "version": VERSION, **content}, path)
    except OSError as error:
        told = f"cannot save {path}: {error.strerror or error}. What was saved before is unharmed"
        raise OSError(error.errno, told) from error


def read_checkpoint(path: str | os.PathLike[str], mmap: bool = False) -> dict[str, Any]:
    """Any checkpoint of a run, on the CPU: "model" (the model's state), "step" and "extra" are in each.

    Args:
        path: the file. mmap: read tensors from the file when they are used.

    Raises:
        FileNotFoundError: there is none. RuntimeError: it is damaged, or not a checkpoint of a run.
    """
    file = Path(path)
    if not file.exists():
        raise FileNotFoundError(f"there is no checkpoint {file}")
    advice = "What to do: restore it from a copy, or train in another folder; nothing has been changed"
    try:
        found = load(file, map_location="cpu", mmap=mmap)
    except _DAMAGE as error:
        reason = str(error).removeprefix(f"cannot load {file}: ").partition(" What to do:")[0].rstrip(".")
        raise RuntimeError(f"the checkpoint {file} is damaged: {reason}. {advice}") from error
    if not isinstance(found, dict) or found.get("program") != PROGRAM or "model" not in found:
        raise RuntimeError(f"{file} is not a checkpoint of {PROGRAM}. {advice}")
    if found.get("version") != VERSION:
        told = found.get("version", "unknown")
        raise RuntimeError(f"{file} is of version {told}, this program reads version {VERSION}")
    return found


def check_same(path: Path, saved: dict[str, Any], given: dict[str, Any]) -> None:
    """Refuse to go on with another configuration.

    Raises:
        ValueError: it lists the keys that differ, with both values.
    """
    old, new = _flat(saved), _flat(given)
    names = sorted(name for name in old.keys() | new.keys() if old.get(name, ...) != new.get(name, ...))
    if names:
        told = [f"{name} ({_shown(old, name)} there, {_shown(new, name)} now)" for name in names]
        raise ValueError(
            f"{path} is of another configuration: {', '.join(told)}. Train in another folder, or with the "
            "configuration of this one; nothing has been changed"
        )


def _flat(value: Any, name: str = "") -> dict[str, Any]:
    """Nested dicts as one, with dotted names; tuples are lists."""
    if isinstance(value, dict):
        inner = (_flat(v, f"{name}.{k}" if name else str(k)) for k, v in value.items())
        return {k: v for flat in inner for k, v in flat.items()}
    return {name: list(value) if isinstance(value, tuple) else value}


def _shown(flat: dict[str, Any], name: str) -> str:
    return repr(flat[name]) if name in flat else "missing"
