"""Training steps of this checkout and of another one, such as the commit before a change, in turns.

git worktree add ../before HEAD~1
python -m benchmarks.before ../before [--work small] [--rounds 3] [--seconds 4]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path

from .machine import describe
from .process import ROOT, Answer, alternate, ask
from .steps import memory_of, spread, time_of
from .table import Table, ratio
from .workloads import WORK

NOW, BEFORE = "this checkout", "before"


def table(before: Path, works: Iterable[str], rounds: int, seconds: float) -> Table:
    """The table of training steps, a row for each work: times in ms, peak memory in MiB."""

    def measure(which: str, work: str) -> Answer:
        root = ROOT if which == NOW else before
        return ask("benchmarks.steps:train", "minigrad", root=root, work=work, seconds=seconds)

    columns = ("step", "now ms", "before ms", "ratio", "of rounds", "now MiB", "before MiB")
    digits = ("", ".1f", ".1f", ".2f", ">", ".0f", ".0f")
    result = Table("Training steps of this checkout, and of the one before", columns, digits)
    for work in works:
        answers = alternate((NOW, BEFORE), rounds, lambda which, work=work: measure(which, work), f"step {work}")  # type: ignore[misc]
        now, then = answers[NOW], answers[BEFORE]
        times = time_of(now), time_of(then)
        result.add(work, *times, ratio(*times), spread(now, then), memory_of(now), memory_of(then))
    return result


def main(arguments: list[str]) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.before", description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("before", type=Path, help="the other checkout")
    parser.add_argument("--work", choices=WORK, action="append", help="may be repeated (default: all)")
    parser.add_argument("--rounds", type=int, default=3, help="processes of each checkout (default: 3)")
    parser.add_argument("--seconds", type=float, default=4.0, help="of steps in each process (default: 4)")
    args = parser.parse_args(arguments)
    if not (args.before / "benchmarks" / "child.py").is_file():
        parser.error(f"{args.before} is no checkout of minigrad: it has no benchmarks/child.py")
    print(describe("torch") + "\n")
    print(table(args.before.resolve(), args.work or list(WORK), args.rounds, args.seconds).text())


if __name__ == "__main__":
    main(sys.argv[1:])
