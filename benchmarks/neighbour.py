"""Training steps while another process keeps one core busy, against the same steps in quiet.

    python -m benchmarks.neighbour [--work small] [--rounds 3] [--seconds 4]

In one process the steps go on, and the neighbour is let run and stopped in turns: what a machine does otherwise is
then the same for both.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from statistics import median

from . import steps
from .machine import describe
from .process import Answer, alternate, ask, library_module
from .table import Table, ratio
from .workloads import SIZES, WORK, build, loss_function, optimizer

BAR = 2.2  # a step's time with a neighbour over that in quiet
TURNS = 3  # of each, in a process
BUSY = "print(flush=True)\nwhile True: pass"


@contextmanager
def neighbour() -> Iterator[None]:
    """Another process, which computes all the time."""
    with subprocess.Popen([sys.executable, "-c", BUSY], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()  # it has begun
            yield
        finally:
            process.kill()


def train(library: str, work: str, seconds: float) -> Answer:
    """Times of training steps in ms, in quiet and with a neighbour: {"quiet": [...], "busy": [...]}."""
    torch = library_module(library)
    size = SIZES[work]
    torch.manual_seed(0)
    model = build(torch, size, size.dropout)
    loss_of, adam = loss_function(torch, size), optimizer(torch, size, model)

    def step() -> None:
        adam.zero_grad()
        loss_of(model).backward()
        adam.step()

    found: dict[str, list[float]] = {"quiet": [], "busy": []}
    for _ in range(TURNS):
        found["quiet"] += steps.repeat(step, seconds / (2 * TURNS))
        with neighbour():
            found["busy"] += steps.repeat(step, seconds / (2 * TURNS))
    return found


def table(works: Iterable[str], rounds: int, seconds: float) -> Table:
    """A row for each work: medians over all steps."""
    columns = ("step", "quiet ms", "busy ms", "busy to quiet", "goal", "PyTorch quiet ms", "busy ms ", "busy to quiet ")
    result = Table(
        "A training step beside a busy process", columns, ("", ".1f", ".1f", ".2f", ".1f", ".1f", ".1f", ".2f")
    )
    for work in works:
        measure = partial(ask, "benchmarks.neighbour:train", work=work, seconds=seconds)
        found = alternate(steps.BOTH, rounds, measure, f"neighbour {work}")
        ours, theirs = (_medians(found[name]) for name in steps.BOTH)
        result.add(f"{work}: {SIZES[work].title}", *ours, BAR, *theirs)
    result.notes.append("busy: another process computes without pause, on one core")
    return result


def _medians(answers: list[Answer]) -> tuple[float | None, float | None, float | None]:
    """In quiet, with a neighbour, and their ratio."""
    if "missing" in answers[0]:
        return None, None, None
    quiet, busy = (median([time for a in answers for time in a[which]]) for which in ("quiet", "busy"))
    return quiet, busy, ratio(busy, quiet)


def main(arguments: list[str]) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.neighbour", description="Steps beside a busy process.")
    parser.add_argument("--work", choices=WORK, action="append", help="may be repeated (default: all)")
    parser.add_argument("--rounds", type=int, default=3, help="processes of each library (default: 3)")
    parser.add_argument("--seconds", type=float, default=6.0, help="of steps in each process (default: 6)")
    given = parser.parse_args(arguments)
    print(describe("torch") + "\n")
    print(table(given.work or list(WORK), given.rounds, given.seconds).text())


if __name__ == "__main__":
    main(sys.argv[1:])
