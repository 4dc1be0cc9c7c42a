"""Runs each measurement in a separate Python process, so that libraries do not share threads, caches or memory.

It calls any function in this package by name, with arguments and a result that JSON can represent:

    ask("benchmarks.steps:train", "minigrad", work="small")

Such a function raises ``Missing`` if the library is not installed or cannot do the work.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from operator import getitem
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).parent.parent
Answer = dict[str, Any]
_last_line = [-1e9]  # time of the last progress line


class Missing(Exception):
    """A library is not installed or cannot do the work; the message says which."""


class Failed(Exception):
    """The process of a measurement failed; the message has its output."""


class Differ(Exception):
    """Libraries computed different results, so their times cannot be compared."""


def library_module(name: str) -> Any:
    """Import a library. Raises Missing if it is not installed."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise Missing("not installed") from None


def ask(
    function: str, library: str, root: Path = ROOT, environment: Mapping[str, str] | None = None, **arguments: Any
) -> Answer:
    """The answer of ``package.module:function`` for a library, in a new process in the checkout at ``root``.

    The answer is {"missing": why} if the function raised ``Missing``. ``environment`` adds variables. Raises Failed if
    the process fails."""
    return answers_of([sys.executable], function, library, root, environment, **arguments)[-1]


def answers_of(
    start: list[str], function: str, library: str, root: Path, environment: Mapping[str, str] | None, **arguments: Any
) -> list[Answer]:
    """The answers of all processes that a command starts, as in ``ask``."""
    command = [*start, "-m", "benchmarks.child", function, library, json.dumps(arguments)]
    variables = {**os.environ, **(environment or {})}
    process = subprocess.run(command, cwd=root, env=variables, capture_output=True, text=True, check=False)
    answers = [json.loads(line) for line in process.stdout.splitlines() if line.startswith("{")]
    if process.returncode or not answers:
        what = f"{function} of {library} with {arguments}"
        raise Failed(f"{what} ended with code {process.returncode}:\n{process.stderr[-3000:]}")
    return answers


def alternate(
    libraries: Iterable[str], rounds: int, measure: Callable[[str], Answer], what: str
) -> dict[str, list[Answer]]:
    """Run ``rounds`` rounds with all libraries, every other round in reverse order. A missing library is tried once."""
    answers: dict[str, list[Answer]] = {library: [] for library in libraries}
    for turn in range(rounds):
        for library in list(answers)[:: 1 if turn % 2 == 0 else -1]:
            if turn and "missing" in answers[library][0]:
                continue
            progress(f"{what}: {library}, round {turn + 1} of {rounds}")
            answers[library].append(measure(library))
    return answers


def middle(answers: Iterable[Answer], *path: Any) -> float | None:
    """The median of the figures at ``path`` in all answers; None if the library is missing."""
    figures: list[Any] = [reduce(getitem, path, answer) for answer in answers if "missing" not in answer]
    return float(median(figures)) if figures else None


def progress(line: str) -> None:
    """Print a line to stderr, unless another was printed in the last two seconds."""
    now = time.monotonic()
    if now - _last_line[0] >= 2:
        _last_line[0] = now
        print(line, file=sys.stderr, flush=True)


def peak_mebibytes() -> float:
    """The peak resident memory of the process; NaN if the system does not report it."""
    try:  # on Linux, ru_maxrss starts at the parent's memory, but VmHWM starts at zero
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) / 2**10 for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        pass
    if sys.platform == "win32":
        return float("nan")
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / 2**20 if sys.platform == "darwin" else most / 2**10


def imported(library: str) -> Answer:
    """The memory used by a process that has only imported a library: {"memory": MiB}."""
    library_module(library)
    return {"memory": peak_mebibytes()}
