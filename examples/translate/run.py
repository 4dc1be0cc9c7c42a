"""The folder of a run: its checkpoints, which the loop writes, and the model that comes of it.

model.safetensors    what is translated with: weights, sizes, tokenizers, settings; all in one file
settings.toml        the settings of the run, to be read, or changed and given to train --config
corpus/              token ids of a corpus too large for memory
last.safetensors, best.safetensors, snapshots/, log.jsonl    minigrad.training.checkpoints tells of these
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
OWN = (
    MODEL,
    BEST,
    LAST,
    "settings.toml",
    "log.jsonl",
    "snapshots",
    "corpus",
    "tensorboard",
    "validation.json",
    "test.json",
)


def configuration(settings: Settings, train: Pairs) -> dict[str, Any]:
    """What must be the same for a training to go on: settings, and the sentences themselves."""
    sides = (train.source, train.target)
    digests = [side.digest for side in sides if isinstance(side, Texts)]
    return {**settings.fixed(), "the text of the corpus": digests}


def extra(model: Transformer, tokenizers: TokenizerPair, settings: Settings, config: dict[str, Any]) -> dict[str, Any]:
    """What each checkpoint holds beside the weights, so that it is complete; ``config`` is compared."""
    return {
        "program": PROGRAM,
        "version": VERSION,
        "config": config,
        "settings": settings.as_dict(),
        "model": model.config.as_dict(),
        "tokenizers": tokenizers.as_dict(),
    }


def write_model(folder: Path, weights: dict[str, Tensor], step: int, described: dict[str, Any]) -> Path:
    """Write the file to translate with.

    Raises:
        OSError: it cannot be written; what was there before is unharmed.
    """
    path = folder / MODEL
    write_checkpoint(path, {"model": weights, "step": step, "extra": described})
    return path


def write_settings(folder: Path, settings: Settings) -> None:
    """Write settings.toml, which is for people alone: where it cannot be written, that is a note."""
    text = as_toml(settings, f"Settings of the run {folder.name}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with replaced(folder / "settings.toml") as temporary:
            Path(temporary).write_text(text, encoding="utf-8")
    except OSError as error:
        print(f"note: settings.toml is not written: {error}", file=sys.stderr)


def load(path: Path, device: str) -> tuple[Transformer, TokenizerPair, Settings]:
    """The model of a run (of a training that is not finished: the best so far), or of a file.

    Raises:
        FileNotFoundError: there is none. ValueError, RuntimeError: it is damaged, or not of this program.
    """
    found = read_checkpoint(find(path))
    described = checked(path, found["extra"])
    model = Transformer(Config(**described["model"])).to(device)
    model.load_state_dict(found["model"])
    tokenizers = tokenizer_pair_from_dict(described["tokenizers"])
    return model.eval(), tokenizers, Settings.from_dict(described["settings"], str(path))


def find(path: Path) -> Path:
    """The file of a model.

    Raises:
        FileNotFoundError: there is none; it tells of the runs that there are.
    """
    for file in (path / MODEL, path / BEST, path / LAST) if path.is_dir() else (path,):
        if file.exists():
            return file
    runs = sorted({str(p.parent) for p in Path("runs").glob(f"*/{MODEL}")})
    there = f"There are: {', '.join(runs)}. Choose one with --run, or" if runs else "To have one,"
    raise FileNotFoundError(f"there is no model in {path}. {there} train first: python -m examples.translate train")


def checked(path: Path, described: Any) -> dict[str, Any]:
    """What ``extra`` told, if it did.

    Raises:
        ValueError: the file is of another program, or of another version of this one.
    """
    if not isinstance(described, dict) or described.get("program") != PROGRAM:
        raise ValueError(f"{path} is a training's checkpoint, but not of {PROGRAM}")
    if described["version"] != VERSION:
        raise ValueError(f"{path} is of version {described['version']}, this program reads version {VERSION}")
    return described


def begun(folder: Path, settings: Settings, train: Pairs) -> tuple[TokenizerPair, dict[str, Any]] | None:
    """The tokenizers and the configuration of the training in a folder; None where none has begun.

    Settings that this version has and the training's did not count as if they had had their default.

    Raises:
        ValueError: it is one of other settings; they are listed. RuntimeError: its checkpoint is damaged.
    """
    path = folder / LAST
    if not path.exists():
        return None
    described = checked(path, read_checkpoint(path, mmap=True)["extra"])
    then = Settings.from_dict(described["settings"], str(path)).fixed()
    try:
        check_same(path, {**described["config"], **then}, configuration(settings, train))
    except ValueError as error:
        raise ValueError(f"{error}. Or delete it: --fresh") from None
    return tokenizer_pair_from_dict(described["tokenizers"]), described["config"]


def remove(folder: Path) -> None:
    """Delete what a run has written into its folder, and nothing else.

    Raises:
        BlockingIOError: a process is training there.
    """
    if not folder.is_dir():
        return
    with locked(folder):
        for path in (folder / name for name in OWN):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
