"""Hostile files: truncated, with flipped bits, or without a part. Files with a hostile structure are in ``bombs``."""

from __future__ import annotations

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
from .watch import Finding, watched

ODD = (b"\0", b"\xff", b"\n", b"\t", b"{", b"[", b'"', b"9" * 400, b"\xed\xa0\x80", b"\x80\x02", b"1e999", b"-")
REFUSED = (ValueError, OSError, RuntimeError, EOFError, pickle.UnpicklingError)


def cases(folder: Path, rng: random.Random) -> Iterator[Finding]:
    """A finding for each file; its fault is "" if nothing went wrong."""
    contents = seeds.files(folder)
    (folder / "weights.safetensors").write_bytes(contents["weights.safetensors"])
    for number in range(1 << 60):
        name = rng.choice(sorted(contents))
        data = spoiled(contents[name], rng)
        path = folder / ("x" + name)
        path.write_bytes(data)
        if name == "last.safetensors":
            shutil.copy(path, folder / "run" / name)
        for reader in READERS.get(name, [mg.load]):
            fault = watched(lambda reader=reader, path=path: reader(path), REFUSED)  # type: ignore[misc]
            yield Finding(f"file {number}, {name}, {reader.__name__}", fault)


def spoiled(data: bytes, rng: random.Random) -> bytes:
    """The data after one to three changes: cut off, bits flipped, or a part removed, repeated or added."""
    for _ in range(rng.randint(1, 3)):
        begin, long = rng.randrange(len(data) + 1), 1 << rng.randrange(12)
        before, part, after = data[:begin], data[begin : begin + long], data[begin + long :]
        flipped = bytearray(data)  # flips mostly hit the header at the start
        for _ in range(rng.choice((1, 1, 3, 20)) if data else 0):
            flipped[rng.randrange(min(len(data), rng.choice((16, 400, 1 << 30))))] ^= 1 << rng.randrange(8)
        changes = [before, part + after, before + after, before + part * 3 + after, bytes(flipped)]
        changes += [before + middle + after for middle in (bytes(long), rng.randbytes(long), rng.choice(ODD) + part)]
        data = rng.choice(changes)
    return data


def translate(path: Path) -> None:
    """Translate a sentence with the model in a file, or exit with an error."""
    _ended(cli.main(["translate", "one cat", "--run", str(path)]))


def resume(path: Path) -> None:
    """Resume training from a checkpoint, or exit with an error."""
    _ended(cli.main(seeds.command(path.parent, "--steps", "2")))


def pairs(path: Path) -> int:
    """The sentences in a table."""
    (side,) = read_pairs([path], "en", "it").values()
    return sum(map(len, side.source)) + sum(map(len, side.target))


def play(path: Path) -> None:
    """Convert a file's notes to events and back to a file, and read it again."""
    events = music.encode(music.read_midi(path).notes)
    music.read_midi(music.write_midi(path.with_name("again.mid"), music.decode(events)))


def draw(path: Path) -> None:
    """Draw the curves of a log as a page."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        training(path).page()


def _ended(status: int) -> None:
    if status not in (0, 1):
        raise AssertionError(f"the command ended with {status}")


READERS: dict[str, list[Callable[[Path], Any]]] = {  # ``mg.load`` reads all others
    "model.safetensors": [read_checkpoint, translate],
    "last.safetensors": [resume],
    "settings.toml": [settings.read],
    "log.jsonl": [read_log, draw],
    "pairs.tsv": [pairs],
    "pairs.tsv.gz": [pairs],
    "piece.mid": [play],
    "chorales.json": [music.read_chorales],
}
