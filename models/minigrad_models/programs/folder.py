"""A run folder contains model.safetensors (the trained model with sizes, tokenizers and settings), settings.toml (to
read, or to edit for ``train --config``), report.txt (the final output), and the files of ``training.checkpoints``.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, TypedDict, TypeVar

from minigrad import Tensor
from minigrad.backend.extras import is_on_path
from minigrad.serialization.source import replaced

from ..schema import check, short
from ..training import read_checkpoint, write_checkpoint
from ..training.checkpoints import check_same, locked
from .settings import Sections

DATA = "MINIGRAD_DATA"  # the environment variable for the data set folder, which is not shipped
TYPED = "MINIGRAD_COMMAND"  # the environment variable for the command that users type instead of ``minigrad``
AGAIN = "MINIGRAD_AGAIN"  # the environment variable for the resuming command, if a program starts runs
MODEL, BEST, LAST, REPORT = "model.safetensors", "best.safetensors", "last.safetensors", "report.txt"
T = TypeVar("T")
FILES = (LAST, MODEL, BEST, REPORT, "settings.toml", "log.jsonl", "snapshots")  # ``LAST`` is the first


def command(*words: str) -> str:
    """A ``minigrad`` command as a user types it."""
    minigrad = ["minigrad"] if is_on_path("minigrad") else ["python", "-m", "minigrad"]
    return shlex.join([*(shlex.split(os.environ.get(TYPED, "")) or minigrad), *words])


class Description(TypedDict):
    """The metadata schema for the checkpoints of all programs. ``settings`` are grouped by section."""

    program: str
    version: int
    config: dict[str, Any]
    settings: dict[str, dict[str, Any]]
    model: dict[str, Any]


@dataclass(frozen=True)
class Program:
    """A program that stores models in run folders."""

    name: str  # name of its module
    version: int  # of its checkpoint metadata
    description: type[Description]  # the schema of the metadata
    settings: type[Sections]
    files: tuple[str, ...] = ()  # of a run, in addition to ``FILES``

    @property
    def words(self) -> list[str]:
        """The words after ``minigrad`` in its commands: "gpt", or none for the translator."""
        return [*filter(None, [self.name.rpartition(".")[2].removeprefix("translation")])]

    def typed(self, *arguments: str) -> str:
        return command(*self.words, *arguments)

    def stopped(self, folder: Path) -> str:
        """The message for a stopped training run, with the command to resume it: this command without ``--fresh``."""
        same = os.environ.get(AGAIN) or command(*(word for word in sys.argv[1:] if word != "--fresh"))
        return f"\nstopped; saved in {folder}. To resume, run the same command:\n  {same}"

    def find(self, path: Path) -> Path:
        """Find a model file: a run folder's model (its best so far, if the run is unfinished), or the path itself."""
        for file in (path / MODEL, path / BEST, path / LAST) if path.is_dir() else (path,):
            if file.exists():
                return file
        runs = list[str]()
        for file in sorted(Path("runs").glob(f"*/{MODEL}")):
            with suppress(OSError, RuntimeError, ValueError):  # of another program, or damaged
                self.checked(file, read_checkpoint(file, mmap=True).get("extra"))
                runs.append(str(file.parent))
        advice = f"Existing runs: {', '.join(runs)}. Choose one with --run, or" if runs else "To get one,"
        raise FileNotFoundError(f"there is no model in {path}. {advice} train first: {self.typed('train')}")

    @contextmanager
    def reading(self, path: Path) -> Iterator[tuple[dict[str, Any], Any, dict[str, Any]]]:
        """A context with a model's checkpoint, training settings and metadata. A ValueError raised in the context gets
        the file's name in its message."""
        checkpoint = read_checkpoint(file := self.find(path))
        description = self.checked(file, checkpoint.get("extra"))
        try:
            yield checkpoint, self.settings.from_dict(description["settings"]), description
        except ValueError as error:
            raise ValueError(f"{file} cannot be used: {error}") from None

    def checked(self, path: Path, description: Any) -> dict[str, Any]:
        """Check a checkpoint's metadata and return it. Raises ValueError if it is invalid."""
        if not isinstance(description, dict) or description.get("program") != self.name:
            raise ValueError(f"{path} is a checkpoint, but not of {self.name}")
        if (version := description.get("version", "unknown")) != self.version:
            raise ValueError(f"{path} has version {short(version)}, but this program reads version {self.version}")
        try:
            check(description, self.description, "its description")
        except ValueError as error:
            raise ValueError(f"{path} is damaged: {error}") from None
        return description

    def begun(self, folder: Path) -> tuple[Sections, dict[str, Any]] | None:
        """The settings and checkpoint metadata of the run in a folder, or None. Raises ValueError if they are damaged
        or from another program, and RuntimeError if the checkpoint is damaged."""
        if not (path := folder / LAST).exists():
            return None
        description = self.checked(path, read_checkpoint(path, mmap=True).get("extra"))
        return self.settings.from_dict(description["settings"], str(path)), description

    def report(self, folder: Path, settings: Sections) -> str | None:
        """The final output of the run in a folder, if it has finished with these settings."""
        free = settings.FREE - {"minutes"}
        with suppress(OSError, RuntimeError, ValueError):  # of another version, or damaged; it is written again
            model = read_checkpoint(path := folder / MODEL, mmap=True)
            then = self.settings.from_dict(self.checked(path, model.get("extra"))["settings"])
            if then.without(free) == settings.without(free):
                text = (folder / REPORT).read_text(encoding="utf-8")
                return f"saved to {path}, after {model['step']:,} updates\n{text}"
        return None

    def started(
        self, folder: Path, config: dict[str, Any], fresh: bool, restore: Callable[[dict[str, Any]], T]
    ) -> tuple[T | None, dict[str, Any]]:
        """Returns the value that ``restore`` builds from the metadata of the run in a folder, and the run's
        configuration. If the folder has no run, or with ``fresh``, returns None and ``config``. Settings newer than the
        run get their defaults. Raises ValueError if the run has a different configuration (the message lists the
        differences), and the errors of ``begun``."""
        if fresh or (earlier := self.begun(folder)) is None:
            return None, config
        path, (settings, description) = folder / LAST, earlier
        try:
            check_same(path, {**description["config"], **settings.fixed()}, config)
        except ValueError as error:
            raise ValueError(f"{error}. Or rename it and start over with --fresh") from None
        try:
            return restore(description), description["config"]
        except ValueError as error:
            raise ValueError(f"{path} cannot be used: {error}") from None

    def described(self, settings: Sections, config: dict[str, Any], **more: Any) -> dict[str, Any]:
        """The metadata for a checkpoint. A run can resume only with the same ``config``."""
        return {"program": self.name, "version": self.version, "config": config, "settings": settings.as_dict(), **more}

    def set_aside(self, folder: Path) -> None:
        """Move the files of a run, but no other files, into a new folder next to its own ("toy.old-1"). Nothing is
        deleted. Raises BlockingIOError if a process is training there. If a file cannot be moved, moves all files back
        and raises OSError."""
        # ``last`` is moved first and moved back last: without it, training cannot resume from some of the files
        files = [path for name in (*FILES, *self.files) if os.path.lexists(path := folder / name)]
        if not files:
            return
        with locked(folder):
            whole = folder.resolve()
            old = next(path for n in count(1) if not (path := whole.with_name(f"{whole.name}.old-{n}")).exists())
            old.mkdir()
            try:
                for path in files:
                    path.rename(old / path.name)
            except OSError:
                for path in reversed(files):
                    if os.path.lexists(moved := old / path.name):
                        moved.rename(path)
                old.rmdir()
                raise
        print(f"note: the earlier run is now in {old}", file=sys.stderr)


def write_model(folder: Path, weights: dict[str, Tensor], step: int, description: dict[str, Any]) -> Path:
    """Write the file of the trained model. Raises OSError if it cannot be written; an old file then stays unchanged."""
    path = folder / MODEL
    write_checkpoint(path, {"model": weights, "step": step, "extra": description})
    return path


def find_data_set(*parts: str) -> Path | None:
    """The path of a file or folder, given relative to the data set folder; None if it does not exist."""
    path = Path(os.environ.get(DATA) or os.devnull, *parts)
    return path if path.exists() else None


def data_set(*parts: str, name: str, instead: str) -> Path:
    """Like ``find_data_set``, but raises FileNotFoundError if the path does not exist. The message has the command that
    downloads the data set ``name`` (see ``minigrad data``), and the alternative ``instead``."""
    if path := find_data_set(*parts):
        return path
    place = f"in {os.environ[DATA]}" if os.environ.get(DATA) else f"here, as {DATA} is not set to a folder of data sets"
    fetch = command("data", name)
    raise FileNotFoundError(f"there is no {'/'.join(parts)} {place}. Download it: {fetch}. Or {instead}")


def write_text(path: Path, text: str) -> None:
    """Write a file that training does not need, and print a note if it cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replaced(path) as temporary:
            Path(temporary).write_text(text, encoding="utf-8")
    except OSError as error:
        print(f"note: {path.name} was not written: {error.strerror or error}", file=sys.stderr)
