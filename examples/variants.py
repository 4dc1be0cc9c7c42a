"""Trains variants one after another, each in its own folder. You can stop at any time without losing anything."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from minigrad_models.programs.folder import AGAIN
from minigrad_models.training.progress import clock

SPLITS = ("validation", "test")
OPTIONS = "options.txt"


def train_all(
    variants: dict[str, dict[str, Any]], common: list[str], folder: Path, after_each: Callable[[], Any]
) -> int:
    """Train the unfinished variants (settings by name), with ``common`` options for ``train``, each in its own folder.
    A failure does not stop the others. ``after_each`` is called after each variant. Returns the exit status. Raises
    ValueError, before training, if a folder contains a run with other options, and RuntimeError if all variants would
    fail: no run has started, or the data lacks an evaluation set."""
    status = 0
    options = {name: [*common, *as_options(settings)] for name, settings in variants.items()}
    for name, words in options.items():
        file = folder / slug(name) / OPTIONS
        if begun(file.parent) and file.exists() and (before := file.read_text(encoding="utf-8")) != shlex.join(words):
            there = f"{file.parent} contains a run with other options: {before}"
            raise ValueError(f"{there}. Delete it, or choose another --folder")
    left, start = [name for name in options if not finished(folder / slug(name))], time.monotonic()
    if left:
        print(f"{len(left)} runs, one after another. Press Ctrl-C to stop; the same command continues.")
    for number, name in enumerate(left):
        where, words = folder / slug(name), options[name]
        rest = (time.monotonic() - start) / max(number, 1) * (len(left) - number)
        print(f"\n== {number + 1} of {len(left)}: {name}" + f" (about {clock(rest)} left)" * (number > 0), flush=True)
        where.mkdir(parents=True, exist_ok=True)
        (where / OPTIONS).write_text(shlex.join(words), encoding="utf-8")
        code = call(["train", *words, "--run", str(where)])
        if code in (130, -2):  # Ctrl-C
            return 130
        if code or not finished(where):
            why = f"exit status {code}" if code else "the data has no validation set or no test set"
            if not code or not any(begun(folder / slug(other)) for other in options):
                raise RuntimeError(f"a run failed: {name} ({why}). The others would fail too, so none was started")
            print(f"{name} failed ({why})", file=sys.stderr)
            status = 1
        after_each()
    return status


def call(arguments: list[str]) -> int:
    """Run ``minigrad``, and wait for it even after Ctrl-C, which it handles by saving."""
    paths = [str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), AGAIN: shlex.join(sys.orig_argv)}
    command = [sys.executable, "-m", "minigrad", *arguments]
    with subprocess.Popen(command, env=environment) as process:
        while True:
            with suppress(KeyboardInterrupt):
                return process.wait()


def begun(where: Path) -> bool:
    """Whether a variant's training has started."""
    return (where / "log.jsonl").exists()


def finished(where: Path) -> bool:
    """Whether a variant has been trained and evaluated."""
    return all((where / f"{split}.json").exists() for split in SPLITS)


def slug(name: str) -> str:
    """The name of a variant as a folder name."""
    return re.sub(r"[^\w.]+", "-", name.lower()).strip("-.") or "variant"


def as_options(settings: dict[str, Any]) -> list[str]:
    """Settings as command-line options for ``train``."""
    options = []
    for name, value in settings.items():
        option, words = name.replace("_", "-"), value if isinstance(value, (list, tuple)) else [value]
        is_flag = isinstance(value, bool)
        options += [f"--{option}" if value else f"--no-{option}"] if is_flag else [f"--{option}", *map(str, words)]
    return options
