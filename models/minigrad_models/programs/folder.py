"""The folder of a run: model.safetensors, the trained model with sizes, tokenizers and settings; settings.toml, to
read, or to change and pass to ``train --config``; report.txt, what was printed at the end; and what
``training.checkpoints`` writes.
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

DATA = "MINIGRAD_DATA"  # the environment's name for the folder of data sets, which are not ours to ship
TYPED = "MINIGRAD_COMMAND"  # the environment's name for what a person types in place of ``minigrad``
AGAIN = "MINIGRAD_AGAIN"  # the environment's name for what a person types to go on, where a program starts trainings
MODEL, BEST, LAST, REPORT = "model.safetensors", "best.safetensors", "last.safetensors", "report.txt"
T = TypeVar("T")
FILES = (LAST, MODEL, BEST, REPORT, "settings.toml", "log.jsonl", "snapshots")  # ``LAST`` is the first


def command(*words: str) -> str:
    """A command of ``minigrad`` as a person types it."""
    minigrad = ["minigrad"] if is_on_path("minigrad") else ["python", "-m", "minigrad"]
    return shlex.join([*(shlex.split(os.environ.get(TYPED, "")) or minigrad), *words])


class Description(TypedDict):
    """The schema of what all programs' checkpoints say besides weights; ``settings`` are by section."""

    program: str
    version: int
    config: dict[str, Any]
    settings: dict[str, dict[str, Any]]
    model: dict[str, Any]


@dataclass(frozen=True)
class Program:
    """A program that keeps models in folders of runs."""

    name: str  # of its module
    version: int  # of what it writes into checkpoints
    description: type[Description]  # the schema of that
    settings: type[Sections]
    files: tuple[str, ...] = ()  # of a run, besides ``FILES``

    @property
    def words(self) -> list[str]:
        """What stands after ``minigrad`` in its commands: "gpt"; nothing in the translator's."""
        return [*filter(None, [self.name.rpartition(".")[2].removeprefix("translation")])]

    def typed(self, *arguments: str) -> str:
        return command(*self.words, *arguments)

    def stopped(self, folder: Path) -> str:
        """What is said when a training has stopped: the command that goes on, which is this one without --fresh."""
        same = os.environ.get(AGAIN) or command(*(word for word in sys.argv[1:] if word != "--fresh"))
        return f"\nstopped; saved in {folder}. To go on, give the same command:\n  {same}"

    def find(self, path: Path) -> Path:
        """The file of a model: that of a run (if it is not finished, the best so far), or the file itself."""
        for file in (path / MODEL, path / BEST, path / LAST) if path.is_dir() else (path,):
            if file.exists():
                return file
        runs = list[str]()
        for file in sorted(Path("runs").glob(f"*/{MODEL}")):
            with suppress(OSError, RuntimeError, ValueError):  # of another program, or damaged
                self.checked(file, read_checkpoint(file, mmap=True).get("extra"))
                runs.append(str(file.parent))
        advice = f"There are: {', '.join(runs)}. Choose one with --run, or" if runs else "To get one,"
        raise FileNotFoundError(f"there is no model in {path}. {advice} train first: {self.typed('train')}")

    @contextmanager
    def reading(self, path: Path) -> Iterator[tuple[dict[str, Any], Any, dict[str, Any]]]:
        """The checkpoint of a model, the settings of its training, and what it says besides weights. A ValueError that
        is raised within names the file."""
        checkpoint = read_checkpoint(file := self.find(path))
        description = self.checked(file, checkpoint.get("extra"))
        try:
            yield checkpoint, self.settings.from_dict(description["settings"]), description
        except ValueError as error:
            raise ValueError(f"{file} cannot be used: {error}") from None

    def checked(self, path: Path, description: Any) -> dict[str, Any]:
        """What a checkpoint says besides weights."""
        if not isinstance(description, dict) or description.get("program") != self.name:
            raise ValueError(f"{path} is a training's checkpoint, but not of {self.name}")
        if (version := description.get("version", "unknown")) != self.version:
            raise ValueError(f"{path} is of version {short(version)}, this program reads version {self.version}")
        try:
            check(description, self.description, "its description")
        except ValueError as error:
            raise ValueError(f"{path} is damaged: {error}") from None
        return description

    def begun(self, folder: Path) -> tuple[Sections, dict[str, Any]] | None:
        """The settings of the training in a folder, and what its checkpoint says besides weights; None if there is
        none. Raises ValueError: it is of another program, or damaged; RuntimeError: its checkpoint is damaged."""
        if not (path := folder / LAST).exists():
            return None
        description = self.checked(path, read_checkpoint(path, mmap=True).get("extra"))
        return self.settings.from_dict(description["settings"], str(path)), description

    def report(self, folder: Path, settings: Sections) -> str | None:
        """What was printed at the end of the training in a folder, if it has ended and had these settings."""
        free = settings.FREE - {"minutes"}
        with suppress(OSError, RuntimeError, ValueError):  # of another version, or damaged: it is written again
            model = read_checkpoint(path := folder / MODEL, mmap=True)
            then = self.settings.from_dict(self.checked(path, model.get("extra"))["settings"])
            if then.without(free) == settings.without(free):
                text = (folder / REPORT).read_text(encoding="utf-8")
                return f"saved to {path}, after {model['step']:,} updates\n{text}"
        return None

    def started(
        self, folder: Path, config: dict[str, Any], fresh: bool, kept: Callable[[dict[str, Any]], T]
    ) -> tuple[T | None, dict[str, Any]]:
        """What the training in a folder has ``kept`` in its checkpoint, by what that says besides weights, and its
        configuration; None and ``config``, if there is none or a ``fresh`` one begins. Settings that are newer than the
        training count as their defaults. Raises ValueError: the training has another configuration, and the message
        lists what differs; and as ``begun``."""
        if fresh or (begun := self.begun(folder)) is None:
            return None, config
        path, (settings, description) = folder / LAST, begun
        try:
            check_same(path, {**description["config"], **settings.fixed()}, config)
        except ValueError as error:
            raise ValueError(f"{error}. Or start over, and rename it: --fresh") from None
        try:
            return kept(description), description["config"]
        except ValueError as error:
            raise ValueError(f"{path} cannot be used: {error}") from None

    def described(self, settings: Sections, config: dict[str, Any], **more: Any) -> dict[str, Any]:
        """What makes a checkpoint complete; resuming compares ``config``."""
        return {"program": self.name, "version": self.version, "config": config, "settings": settings.as_dict(), **more}

    def set_aside(self, folder: Path) -> None:
        """Rename the files of a run, and nothing else, into a new folder beside it ("toy.old-1"). Nothing is deleted.
        Raises BlockingIOError: a process is training there; OSError: they cannot be renamed; they are where they
        were."""
        # ``last`` is the first to go, and the last to come back: without it, no training goes on with a part of them
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
    """Write the file of the trained model. Raises OSError: it cannot be written; an old file is unharmed."""
    path = folder / MODEL
    write_checkpoint(path, {"model": weights, "step": step, "extra": description})
    return path


def find_data_set(*parts: str) -> Path | None:
    """A file or folder of the data sets that programs use by default, by its path in their folder; None: not there."""
    path = Path(os.environ.get(DATA) or os.devnull, *parts)
    return path if path.exists() else None


def data_set(*parts: str, name: str, instead: str) -> Path:
    """As ``find_data_set``, of the data set ``name``, see ``minigrad data``. Raises FileNotFoundError: it is not there;
    the message says how to fetch it, or what to use ``instead``."""
    if path := find_data_set(*parts):
        return path
    place = f"in {os.environ[DATA]}" if os.environ.get(DATA) else f"here, as {DATA} names no folder of data sets"
    fetch = command("data", name)
    raise FileNotFoundError(f"there is no {'/'.join(parts)} {place}. Fetch it: {fetch}. Or {instead}")


def write_text(path: Path, text: str) -> None:
    """Write a file that training does without: if it cannot be written, print a note."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replaced(path) as temporary:
            Path(temporary).write_text(text, encoding="utf-8")
    except OSError as error:
        print(f"note: {path.name} is not written: {error.strerror or error}", file=sys.stderr)
