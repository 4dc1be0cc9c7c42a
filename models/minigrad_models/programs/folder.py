"""The folder of a run: model.safetensors, the trained model with sizes, tokenizers and settings; settings.toml, to
read, or to change and pass to ``train --config``; and what ``training.checkpoints`` writes.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable
from contextlib import suppress
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
MODEL, BEST, LAST = "model.safetensors", "best.safetensors", "last.safetensors"
T = TypeVar("T")
FILES = (LAST, MODEL, BEST, "settings.toml", "log.jsonl", "snapshots")  # ``LAST`` is the first


def command(name: str, *arguments: str) -> str:
    """A command as a person types it: "minigrad_models.gpt" has ``minigrad gpt ...``. The translator's commands have no
    such word, nor have the words of the process, which are complete ("")."""
    minigrad = ["minigrad"] if is_on_path("minigrad") else ["python", "-m", "minigrad"]
    words = [*filter(None, [name.rpartition(".")[2].removeprefix("translation")]), *arguments]
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

    def typed(self, *arguments: str) -> str:
        return command(self.name, *arguments)

    def stopped(self, folder: Path) -> str:
        """What is said when a training has stopped: the command that goes on, which is this one without --fresh."""
        same = os.environ.get(AGAIN) or command("", *(word for word in sys.argv[1:] if word != "--fresh"))
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

    def read(self, path: Path) -> tuple[Path, dict[str, Any], dict[str, Any]]:
        """The file of a model, the checkpoint in it, and what that says besides weights."""
        checkpoint = read_checkpoint(file := self.find(path))
        return file, checkpoint, self.checked(file, checkpoint.get("extra"))

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

    def started(
        self, folder: Path, config: dict[str, Any], fresh: bool, kept: Callable[[dict[str, Any]], T]
    ) -> tuple[T | None, dict[str, Any]]:
        """What the training in a folder has ``kept`` in its checkpoint, by what that says besides weights, and its
        configuration; None and ``config``, if there is none or a ``fresh`` one begins. Settings that are newer than the
        training count as their defaults. Raises ValueError: the training has another configuration, and the message
        lists what differs; or the file is damaged; RuntimeError: its checkpoint is damaged."""
        path = folder / LAST
        if fresh or not path.exists():
            return None, config
        description = self.checked(path, read_checkpoint(path, mmap=True).get("extra"))
        then = self.settings.from_dict(description["settings"], str(path)).fixed()
        try:
            check_same(path, {**description["config"], **then}, config)
        except ValueError as error:
            raise ValueError(f"{error}. Or rename it, and begin anew: --fresh") from None
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
    fetch = command("", "data", name)
    raise FileNotFoundError(f"there is no {'/'.join(parts)} {place}. Fetch it: {fetch}. Or {instead}")


def write_settings(folder: Path, text: str) -> None:
    """Write settings.toml, for people alone: if it cannot be written, print a note."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with replaced(folder / "settings.toml") as temporary:
            Path(temporary).write_text(text, encoding="utf-8")
    except OSError as error:
        print(f"note: settings.toml is not written: {error}", file=sys.stderr)
