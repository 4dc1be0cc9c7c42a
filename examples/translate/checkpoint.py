"""One file holds all of a training: model, tokenizer, optimiser, random numbers and place in the data."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import minigrad as mg
from minigrad.text import Tokenizer, tokenizer_from_dict
from models.transformer import Config, Transformer

VERSION = 1


def check_writable(path: Path) -> None:
    """Fail now, and not after the training, where a checkpoint cannot be written.

    Raises:
        OSError: it names the folder.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise OSError(f"no checkpoint can be written to {path}: {error}") from error


def save(path: Path, model: Transformer, tokenizer: Tokenizer, training: dict[str, Any]) -> None:
    """Write a checkpoint: whole or not at all."""
    mg.save(
        {
            "version": VERSION,
            "program": "examples.translate",
            "config": model.config.as_dict(),
            "tokenizer": tokenizer.as_dict(),
            "model": model.state_dict(),
            "training": training,
        },
        path,
    )


def load(path: Path, device: str) -> tuple[Transformer, Tokenizer, dict[str, Any]]:
    """The model (on the device), its tokenizer and the state of its training.

    Raises:
        FileNotFoundError: there is none. ValueError: the file is not a checkpoint of this program.
    """
    if not path.exists():
        raise FileNotFoundError(
            f"there is no checkpoint {path}. Train a model first: python -m examples.translate"
        )
    state = mg.load(path, map_location=device)
    if not isinstance(state, dict) or state.get("program") != "examples.translate":
        raise ValueError(f"{path} is not a checkpoint of examples.translate")
    if state["version"] != VERSION:
        raise ValueError(f"{path} is of version {state['version']}, this program reads version {VERSION}")
    model = Transformer(Config(**state["config"])).to(device)
    model.load_state_dict(state["model"])
    return model, tokenizer_from_dict(state["tokenizer"]), state["training"]
