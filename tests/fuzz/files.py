"""Hostile files: truncated, with other bits, or with a structure that lies."""

from __future__ import annotations

import json
import pickle
import random
import shutil
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import minigrad as mg
from minigrad_models import music
from minigrad_models.commands import minigrad_command as cli
from minigrad_models.text import read_pairs
from minigrad_models.training import read_checkpoint, read_log
from minigrad_models.translation import translation_settings as settings
from minigrad_models.viz import training

from . import seeds
from .mutate import changed, safetensors, spoiled, text_of
from .watch import Finding, watched

REFUSED = (ValueError, OSError, RuntimeError, EOFError, pickle.UnpicklingError)


def cases(folder: Path, rng: random.Random) -> Iterator[Finding]:
    """A finding for each file, with "" where there was nothing wrong."""
    contents = seeds.files(folder)
    (folder / "weights.safetensors").write_bytes(contents["weights.safetensors"])
    for number in range(1 << 60):
        name = rng.choice(sorted(contents))
        data = _hostile(name, contents[name], rng)
        path = folder / ("x" + name)
        path.write_bytes(data)
        if name == "last.safetensors":
            shutil.copy(path, folder / "run" / name)
        for reader in readers(name):
            fault = watched(lambda reader=reader, path=path: reader(path), REFUSED)  # type: ignore[misc]
            yield Finding(f"file {number}, {name}, {reader.__name__}", fault)


def _hostile(name: str, data: bytes, rng: random.Random) -> bytes:
    if rng.random() < 0.5:
        if name.endswith(".safetensors"):
            return safetensors(data, rng)
        if name.endswith(".json"):
            return text_of(changed(json.loads(data), rng))
        if name.endswith(".jsonl"):
            lines = changed([json.loads(line) for line in data.splitlines()], rng)
            return b"".join(text_of(line) + b"\n" for line in (lines if isinstance(lines, list) else [lines]))
    return spoiled(data, rng)


def readers(name: str) -> list[Callable[[Path], Any]]:
    """What reads a file of that name."""
    if name == "model.safetensors":
        return [read_checkpoint, translate]
    if name == "last.safetensors":
        return [resume]
    if name.endswith(".toml"):
        return [settings.read]
    if name.endswith(".jsonl"):
        return [read_log, draw]
    if ".tsv" in name:
        return [pairs]
    if name.endswith(".mid"):
        return [play]
    if name == "chorales.json":
        return [music.read_chorales]
    return [mg.load]


def translate(path: Path) -> None:
    """A sentence by the model of a file: the status is that of an error, or its translation comes."""
    _ended(cli.main(["translate", "one cat", "--run", str(path)]))


def resume(path: Path) -> None:
    """The training goes on from a checkpoint, or says why not."""
    _ended(cli.main(seeds.command(path.parent, "--steps", "2")))


def pairs(path: Path) -> int:
    """The sentences of a table."""
    (side,) = read_pairs([path], "en", "it").values()
    return sum(map(len, side.source)) + sum(map(len, side.target))


def play(path: Path) -> None:
    """The notes of a file as events, and back into a file, which is read again."""
    events = music.encode(music.read_midi(path).notes)
    music.read_midi(music.write_midi(path.with_name("again.mid"), music.decode(events)))


def draw(path: Path) -> None:
    """The curves of a log, as a page and as a picture."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        view = training(path)
        view.page()
        view.svg()
        view.svg(log=True, smoothing=2)


def _ended(status: int) -> None:
    if status not in (0, 1):
        raise AssertionError(f"the command ended with {status}")
