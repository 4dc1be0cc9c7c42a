"""Compares training steps on an idle machine with the same steps while another process keeps one core busy.

The steps run in one process. The busy process is started and stopped repeatedly, so that other load on the machine
affects both timings in the same way.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from statistics import median

from . import steps
from .process import Answer, alternate, ask, library_module
from .table import Table, ratio
from .workloads import SIZES

BAR = 2.2  # the time of a step next to a busy process over its time on an idle machine
TURNS = 3  # of each kind, per process
BUSY = "print(flush=True)\nwhile True: pass"


@contextmanager
def neighbour() -> Iterator[None]:
    """Run a process that computes continuously during the block."""
    with subprocess.Popen([sys.executable, "-c", BUSY], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()  # until it has started
            yield
        finally:
            process.kill()


def train(library: str, work: str, seconds: float) -> Answer:
    """Training step times in ms, on an idle machine and next to a busy process: {"quiet": [...], "busy": [...]}."""
    step = steps.stepper(library_module(library), work)
    times: dict[str, list[float]] = {"quiet": [], "busy": []}
    for _ in range(TURNS):
        times["quiet"] += steps.repeat(step, seconds / (2 * TURNS))
        with neighbour():
            times["busy"] += steps.repeat(step, seconds / (2 * TURNS))
    return times


def table(works: Iterable[str], rounds: int, seconds: float) -> Table:
    """The table, with one row per workload: medians over all steps."""
    columns = ("step", "quiet ms", "busy ms", "busy to quiet", "goal", "PyTorch quiet ms", "busy ms", "busy to quiet")
    digits = ("", ".1f", ".1f", ".2f", ".1f", ".1f", ".1f", ".2f")
    result = Table("A training step next to a busy process", columns, digits)
    for work in works:
        measure = partial(ask, "benchmarks.neighbour:train", work=work, seconds=seconds)
        answers = alternate(steps.BOTH, rounds, measure, f"neighbour {work}")
        ours, theirs = (_medians(answers[name]) for name in steps.BOTH)
        result.add(f"{work}: {SIZES[work].title}", *ours, BAR, *theirs)
    result.notes.append("busy: another process computes without pause, on one core")
    return result


def _medians(answers: list[Answer]) -> tuple[float | None, float | None, float | None]:
    """The idle and busy times, and their ratio."""
    if "missing" in answers[0]:
        return None, None, None
    quiet, busy = (median([time for a in answers for time in a[which]]) for which in ("quiet", "busy"))
    return quiet, busy, ratio(busy, quiet)
