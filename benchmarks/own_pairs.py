"""Measures how well ``minigrad train --data pairs.tsv``, without any other option, learns a user's own pairs.

    python -m benchmarks.own_pairs [--only numbers,dates] [--pairs 500] [--seed 0]

For each task, it writes a table of pairs, trains a model with that command in a separate process, and translates two
sets: the part of the table that training held out, and other pairs from the task, which are not in the table.
"""

from __future__ import annotations

import json
import math
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from pathlib import Path

from .machine import describe
from .process import Failed, progress
from .program import parser, parts_of, show
from .table import Table

Pair = tuple[str, str]
OTHERS = 500  # pairs that are not in the table
_ONES = "zero one two three four five six seven eight nine ten eleven twelve"
_TEENS = "thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_MONTHS = "January February March April May June July August September October November December"
ONES, TENS, MONTHS = f"{_ONES} {_TEENS}".split(), _TENS.split(), _MONTHS.split()


def in_words(number: int) -> str:
    """A number below a thousand: 21 -> "twenty one"."""
    if number < 20:
        return ONES[number]
    if number < 100:
        tens, ones = divmod(number, 10)
        return TENS[tens - 2] + (f" {ONES[ones]}" if ones else "")
    hundreds, rest = divmod(number, 100)
    return f"{ONES[hundreds]} hundred" + (f" and {in_words(rest)}" if rest else "")


def numbers() -> list[Pair]:
    """The numbers below a thousand, each with its words."""
    return [(str(n), in_words(n)) for n in range(1000)]


def words() -> list[Pair]:
    """The same pairs, from words to numbers."""
    return [(b, a) for a, b in numbers()]


def dates() -> list[Pair]:
    """The days of a century, such as ("9 February 1974", "1974-02-09")."""
    days = (date(1950, 1, 1) + timedelta(i) for i in range(36_500))
    return [(f"{day.day} {MONTHS[day.month - 1]} {day.year}", day.isoformat()) for day in days]


def english_italian() -> list[Pair]:
    """Everyday sentences, from the grammar of the corpus that ships with minigrad."""
    from minigrad_models.translation import english_italian as corpus

    return [(pair.source, pair.target) for pair in corpus.load("train", size=30_000)]


Task = Callable[[], list[Pair]]
TASKS: dict[str, Task] = {"numbers": numbers, "words": words, "dates": dates, "english-italian": english_italian}


def measure(task: str, pairs: int, seed: int, folder: Path, options: Sequence[str] = ()) -> list[float]:
    """Train on random pairs from a task, and translate others.

    Args:
        options: options for ``minigrad train`` in addition to --data and --run.

    Returns:
        The percentage of exact translations among the held-out pairs (NaN if none were held out) and among pairs that
        are not in the table, the minutes from start to end, and the CPU minutes of all processes.

    Raises:
        Failed: if a command fails.
    """
    rows = TASKS[task]()
    random.Random(seed).shuffle(rows)
    table, others, run = folder / f"{task}.tsv", folder / f"{task}-others.tsv", folder / task
    for path, part in ((table, rows[:pairs]), (others, rows[pairs : pairs + OTHERS])):
        path.write_text("".join(f"{a}\t{b}\n" for a, b in part), encoding="utf-8")
    start, before = time.monotonic(), os.times()
    _minigrad("train", "--data", str(table), "--run", str(run), *options)
    seconds, after = time.monotonic() - start, os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    result = run / "others.json"
    _minigrad("evaluate", "--run", str(run), "--data", str(others), "--json", str(result))
    shares = []
    for report in (run / "test.json", result):
        scores = json.loads(report.read_text(encoding="utf-8")) if report.exists() else {"exact": math.nan}
        shares.append(100 * scores["exact"] / scores.get("sentences", 1))
    return [*shares, seconds / 60, spent / 60]


def _minigrad(*arguments: str) -> None:
    ran = subprocess.run([sys.executable, "-m", "minigrad", *arguments], check=False, capture_output=True, text=True)
    if ran.returncode:
        raise Failed(f"minigrad {' '.join(arguments)}: {ran.stderr[-2000:]}")


def main() -> None:
    """Measure, and print the table."""
    p = parser("benchmarks.own_pairs", __doc__, pairs=500)
    p.add_argument("--only", type=parts_of(TASKS), default=list(TASKS), help=f"comma-separated: {','.join(TASKS)}")
    p.add_argument("--seed", type=int, default=0, help="seed that selects the pairs (default: 0)")
    options = p.parse_args()
    print(describe(), flush=True)
    columns = ("task", "of the pairs held out, %", "of others, %", "minutes", "minutes of a core")
    title = f"{options.pairs:,} pairs, one command: translated exactly"
    result = Table(title, columns, ("", ".1f", ".1f", ".1f", ".1f"))
    with tempfile.TemporaryDirectory() as folder:
        for task in options.only:
            progress(f"task {task}")
            result.add(task, *measure(task, options.pairs, options.seed, Path(folder)))
    show(result)


if __name__ == "__main__":
    main()
