"""The folder of a run: its checkpoints, which the training loop writes, and the trained model.

model.safetensors    the trained model: weights, sizes, tokenizers, settings; all in one file
settings.toml        the settings of the run, to read, or to change and pass to train --config
corpus/              token ids of a corpus too large for memory
last.safetensors, best.safetensors, snapshots/, log.jsonl    see minigrad.training.checkpoints
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, TypedDict

from minigrad import Tensor
from minigrad.serialization.schema import check, short
from minigrad.serialization.source import replaced
from minigrad.text import Pairs, TokenizerPair, tokenizer_pair_from_dict
from minigrad.text.lines import Texts
from minigrad.training import read_checkpoint, write_checkpoint
from minigrad.training.checkpoints import check_same
from minigrad.training.lock import locked
from models.translation import TranslationModel

from . import english_italian as english_italian  # its scheme must be known to load a tokenizer
from .architectures import restored
from .settings import Settings

PROGRAM, VERSION = "examples.translate", 2
MODEL, BEST, LAST = "model.safetensors", "best.safetensors", "last.safetensors"
REPORTS = ("validation.json", "test.json")
FILES = (LAST, MODEL, BEST, "settings.toml", "log.jsonl", "snapshots", "corpus", "tensorboard", *REPORTS)


class Description(TypedDict):
    """The schema of what a checkpoint says besides weights, see ``extra``."""

    program: str
    version: int
    config: dict[str, bool | int | float | str | list[str]]
    settings: dict[str, dict[str, bool | int | float | str | list[str]]]
    model: dict[str, Any]
    tokenizers: dict[str, Any]


def configuration(settings: Settings, train: Pairs) -> dict[str, Any]:
    """The values that must not change when a training resumes: settings, and the sentences themselves."""
    sides = (train.source, train.target)
    digests = [side.digest for side in sides if isinstance(side, Texts)]
    return {**settings.fixed(), "the text of the corpus": digests}


def extra(
    model: TranslationModel, tokenizers: TokenizerPair, settings: Settings, config: dict[str, Any]
) -> dict[str, Any]:
    """The rest of a checkpoint, which makes it complete; resuming compares ``config``."""
    return {
        "program": PROGRAM,
        "version": VERSION,
        "config": config,
        "settings": settings.as_dict(),
        "model": model.config.as_dict(),
        "tokenizers": tokenizers.as_dict(),
    }


def write_model(folder: Path, weights: dict[str, Tensor], step: int, description: dict[str, Any]) -> Path:
    """Write the file of the trained model.

    Raises:
        OSError: it cannot be written; an old file is unharmed.
    """
    path = folder / MODEL
    write_checkpoint(path, {"model": weights, "step": step, "extra": description})
    return path


def write_settings(folder: Path, text: str) -> None:
    """Write settings.toml, for people alone: if it cannot be written, print a note."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with replaced(folder / "settings.toml") as temporary:
            Path(temporary).write_text(text, encoding="utf-8")
    except OSError as error:
        print(f"note: settings.toml is not written: {error}", file=sys.stderr)


def load(path: Path, device: str) -> tuple[TranslationModel, TokenizerPair, Settings]:
    """The model of a run (if it is not finished, the best so far), or of a file.

    Raises:
        FileNotFoundError: there is none. ValueError, RuntimeError: it is damaged, or of another program.
    """
    file = find(path)
    checkpoint = read_checkpoint(file)
    description = checked(file, checkpoint.get("extra"))
    try:
        settings = Settings.from_dict(description["settings"], str(file))
        model = restored(settings.model.model, description["model"], checkpoint["model"])
        tokenizers = tokenizer_pair_from_dict(description["tokenizers"])
        lengths = {"vocabulary": len(tokenizers.target), "source_vocabulary": len(tokenizers.source)}
        if any(getattr(model.config, name) not in (None, length) for name, length in lengths.items()):
            raise ValueError("its tokenizers have other vocabularies than its model")
    except ValueError as error:
        raise ValueError(f"{file} cannot be used: {error}") from None
    return model.to(device).eval(), tokenizers, settings


def find(path: Path) -> Path:
    """The file of a model.

    Raises:
        FileNotFoundError: there is none; the message lists the runs.
    """
    for file in (path / MODEL, path / BEST, path / LAST) if path.is_dir() else (path,):
        if file.exists():
            return file
    runs = sorted({str(p.parent) for p in Path("runs").glob(f"*/{MODEL}")})
    advice = f"There are: {', '.join(runs)}. Choose one with --run, or" if runs else "To get one,"
    raise FileNotFoundError(f"there is no model in {path}. {advice} train first: python -m examples.translate train")


def checked(path: Path, description: Any) -> dict[str, Any]:
    """The result of ``extra`` in a checkpoint.

    Raises:
        ValueError: the file is of another program, of another version of this one, or damaged.
    """
    if not isinstance(description, dict) or description.get("program") != PROGRAM:
        raise ValueError(f"{path} is a training's checkpoint, but not of {PROGRAM}")
    if (version := description.get("version", "unknown")) != VERSION:
        raise ValueError(f"{path} is of version {short(version)}, this program reads version {VERSION}")
    try:
        check(description, Description, "its description")
    except ValueError as error:
        raise ValueError(f"{path} is damaged: {error}") from None
    return description


def started(folder: Path, settings: Settings, train: Pairs) -> tuple[TokenizerPair, dict[str, Any]] | None:
    """The tokenizers and the configuration of the training in a folder; None if there is none.

    Settings that are newer than the training count as their defaults.

    Raises:
        ValueError: the training has other settings, which are listed. RuntimeError: its checkpoint is damaged.
    """
    path = folder / LAST
    if not path.exists():
        return None
    description = checked(path, read_checkpoint(path, mmap=True).get("extra"))
    then = Settings.from_dict(description["settings"], str(path)).fixed()
    try:
        check_same(path, {**description["config"], **then}, configuration(settings, train))
    except ValueError as error:
        raise ValueError(f"{error}. Or rename it, and begin anew: --fresh") from None
    try:
        return tokenizer_pair_from_dict(description["tokenizers"]), description["config"]
    except ValueError as error:
        raise ValueError(f"{path} cannot be used: {error}") from None


@contextmanager
def prepared(folder: Path, fresh: bool) -> Iterator[Path]:
    """The folder for what is written before a training begins: its own, or, for a ``fresh`` one in the place of a run,
    a temporary one inside it, which ``set_aside`` empties."""
    if not (fresh and _files(folder)):
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix=".fresh.", dir=folder) as place:
        yield Path(place)


def set_aside(folder: Path, place: Path) -> None:
    """Rename the files of a run, and nothing else, into a new folder beside it ("toy.old-1"), and put those of
    ``place`` into theirs. Nothing is deleted.

    Raises:
        BlockingIOError: a process is training there. OSError: they cannot be renamed; they are where they were.
    """
    if not _files(folder):
        return
    with locked(folder):
        whole = folder.resolve()
        old = next(path for n in count(1) if not (path := whole.with_name(f"{whole.name}.old-{n}")).exists())
        old.mkdir()
        moved: list[tuple[Path, Path]] = []
        try:
            for source, target in ((folder, old), (place, folder)):
                for path in _files(source):
                    path.rename(target / path.name)
                    moved.append((target / path.name, path))
        except OSError:
            for path, origin in reversed(moved):
                path.rename(origin)
            old.rmdir()
            raise
    print(f"note: the earlier run is now in {old}", file=sys.stderr)


def _files(folder: Path) -> list[Path]:
    """The files of a run. ``last`` is the first to be renamed: without it, no training goes on with a part of them."""
    return [path for name in FILES if os.path.lexists(path := folder / name)]
