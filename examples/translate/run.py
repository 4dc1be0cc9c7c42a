"""The folder of a run: its checkpoints, which the training loop writes, and the trained model.

model.safetensors    the trained model: weights, sizes, tokenizers, settings; all in one file
settings.toml        the settings of the run, to read, or to change and pass to train --config
corpus/              token ids of a corpus too large for memory
last.safetensors, best.safetensors, snapshots/, log.jsonl    see minigrad.training.checkpoints
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

from minigrad import Tensor
from minigrad.serialization.source import replaced
from minigrad.text import Pairs, TokenizerPair, tokenizer_pair_from_dict
from minigrad.text.lines import Texts
from minigrad.training import read_checkpoint, write_checkpoint
from minigrad.training.checkpoints import check_same
from minigrad.training.lock import locked
from models.transformer import Config, Transformer

from . import english_italian as english_italian  # its scheme must be known to load a tokenizer
from .settings import Settings, as_toml

PROGRAM, VERSION = "examples.translate", 2
MODEL, BEST, LAST = "model.safetensors", "best.safetensors", "last.safetensors"
REPORTS = ("validation.json", "test.json")
FILES = (MODEL, BEST, LAST, "settings.toml", "log.jsonl", "snapshots", "corpus", "tensorboard", *REPORTS)


def configuration(settings: Settings, train: Pairs) -> dict[str, Any]:
    """The values that must not change when a training resumes: settings, and the sentences themselves."""
    sides = (train.source, train.target)
    digests = [side.digest for side in sides if isinstance(side, Texts)]
    return {**settings.fixed(), "the text of the corpus": digests}


def extra(model: Transformer, tokenizers: TokenizerPair, settings: Settings, config: dict[str, Any]) -> dict[str, Any]:
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


def write_settings(folder: Path, settings: Settings) -> None:
    """Write settings.toml, for people alone: if it cannot be written, print a note."""
    text = as_toml(settings, f"Settings of the run {folder.name}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with replaced(folder / "settings.toml") as temporary:
            Path(temporary).write_text(text, encoding="utf-8")
    except OSError as error:
        print(f"note: settings.toml is not written: {error}", file=sys.stderr)


def load(path: Path, device: str) -> tuple[Transformer, TokenizerPair, Settings]:
    """The model of a run (if it is not finished, the best so far), or of a file.

    Raises:
        FileNotFoundError: there is none. ValueError, RuntimeError: it is damaged, or of another program.
    """
    checkpoint = read_checkpoint(find(path))
    description = checked(path, checkpoint["extra"])
    model = Transformer(Config(**description["model"])).to(device)
    model.load_state_dict(checkpoint["model"])
    tokenizers = tokenizer_pair_from_dict(description["tokenizers"])
    return model.eval(), tokenizers, Settings.from_dict(description["settings"], str(path))


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
        ValueError: the file is of another program, or of another version of this one.
    """
    if not isinstance(description, dict) or description.get("program") != PROGRAM:
        raise ValueError(f"{path} is a training's checkpoint, but not of {PROGRAM}")
    if description["version"] != VERSION:
        raise ValueError(f"{path} is of version {description['version']}, this program reads version {VERSION}")
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
    description = checked(path, read_checkpoint(path, mmap=True)["extra"])
    then = Settings.from_dict(description["settings"], str(path)).fixed()
    try:
        check_same(path, {**description["config"], **then}, configuration(settings, train))
    except ValueError as error:
        raise ValueError(f"{error}. Or delete it: --fresh") from None
    return tokenizer_pair_from_dict(description["tokenizers"]), description["config"]


def remove(folder: Path) -> None:
    """Delete the files of a run, and nothing else.

    Raises:
        BlockingIOError: a process is training there.
    """
    if not folder.is_dir():
        return
    with locked(folder):
        for path in (folder / name for name in FILES):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
