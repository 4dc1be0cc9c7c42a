"""Compares training steps in this checkout and another checkout, such as the previous commit, in alternating rounds.

git worktree add ../before HEAD~1
python -m benchmarks.before ../before [--work small] [--rounds 3] [--seconds 4]
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path

from .machine import describe
from .process import ROOT, Answer, alternate, ask
from .program import parser, show
from .steps import memory_of, spread, time_of
from .table import Table, ratio
from .workloads import WORK

NOW, BEFORE = "this checkout", "before"


def table(before: Path, works: Iterable[str], rounds: int, seconds: float) -> Table:
    """The table of training steps, with one row per workload: times in ms and peak memory in MiB."""

    def measure(which: str, work: str) -> Answer:
        root = ROOT if which == NOW else before
        return ask("benchmarks.steps:train", "minigrad", root=root, work=work, seconds=seconds)

    columns = ("step", "now ms", "before ms", "ratio", "of rounds", "now MiB", "before MiB")
    digits = ("", ".1f", ".1f", ".2f", ">", ".0f", ".0f")
    result = Table("Training steps of this checkout, and of the one before", columns, digits)
    for work in works:
        answers = alternate((NOW, BEFORE), rounds, partial(measure, work=work), f"step {work}")
        now, then = answers[NOW], answers[BEFORE]
        times = time_of(now), time_of(then)
        result.add(work, *times, ratio(*times), spread(now, then), memory_of(now), memory_of(then))
    return result


def main() -> None:
    """Measure and print."""
    p = parser("benchmarks.before", __doc__, WORK, rounds=3, seconds=4.0)
    p.add_argument("before", type=Path, help="the other checkout")
    options = p.parse_args()
    if not (options.before / "benchmarks" / "child.py").is_file():
        p.error(f"{options.before} is not a checkout of minigrad: it lacks benchmarks/child.py")
    print(describe("torch") + "\n")
    show(table(options.before.resolve(), options.work or list(WORK), options.rounds, options.seconds))


if __name__ == "__main__":
    main()
