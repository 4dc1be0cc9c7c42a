"""Bad command lines: unknown words, options that clash, values out of range."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

from minigrad_models.commands import minigrad_command as cli
from minigrad_models.translation.translation_settings import FIELDS

from . import seeds
from .watch import Finding, watched

_OPTIONS = """
    --run --fresh --preset --config --beam --mbr --batch --input --output --n-best --sample --top-k --top-p --seed
    --attention --graph --no-cache --worst --json --split --port --host --wrong -x
"""
OPTIONS = ["--" + name.replace("_", "-") for name in FIELDS if name not in ("device", "ranks")] + _OPTIONS.split()
_VALUES = "none/none / . /dev/null /dev/full /dev/zero toy a.html a.svg a.xyz -- bleu"
VALUES = ["", "0", "-1", "1", "2", "3.5", "1e308", "nan", "inf", "9" * 400, "x", "é", "\udcff", "\0", "words", "cosine"]
VALUES += [*_VALUES.split(), "x" * 5000]
_SMALL = "--layers 1 --d-model 16 --d-ff 32 --heads 2 --positions 64 --steps 1 --batch-tokens 99"
COMMANDS = ("train", "translate", "translate", "evaluate", "config", "", "wrong")


def cases(folder: Path, rng: random.Random) -> Iterator[Finding]:
    """A finding for each command line, with "" where there was nothing wrong."""
    run = seeds.trained(folder)
    os.chdir(folder)
    (folder / "a.html").touch()
    whole = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    for number in range(1 << 60):
        argv = command_line(folder, rng)
        fault = watched(lambda argv=argv: cli.main(argv), (SystemExit,))  # type: ignore[misc]
        yield Finding(f"command {number}: {argv}"[:500], fault or lost(run, whole))


def command_line(folder: Path, rng: random.Random) -> list[str]:
    """A command with some options, of which a training, if it begins, is a small one, in a folder of its own."""
    command = rng.choice(COMMANDS)
    argv = [command, *(["one cat"] if command == "translate" and rng.random() < 0.8 else [])]
    for _ in range(rng.randint(0, 5)):
        argv.append(rng.choice(OPTIONS))
        if rng.random() < 0.8:
            argv.append(rng.choice(VALUES))
    if command in ("translate", "evaluate"):
        return [*argv, "--run", str(folder / "run")]
    if command == "train":
        return [*argv, "--data", str(folder / "c.tsv"), "--run", str(folder / "another"), *_SMALL.split()]
    return argv


def lost(run: Path, whole: dict[Path, bytes]) -> str:
    """Whether a command has changed the files of a run, which it has to read only."""
    missing = [path for path in whole if not path.exists()]
    changed = [path for path, data in whole.items() if path not in missing and path.read_bytes() != data]
    lost = [str(path.relative_to(run)) for path in (*missing, *changed)]
    return f"lost or changed: {lost}" if lost else ""
