"""Ideas for speed, each measured with and without: those that paid, those not taken, and the limits.

    python -m benchmarks.ideas [--only NAME,...] [--markdown]

Each idea is measured in a process of its own, with and without in turns; figures are medians. What an idea is
about stands in its docstring, which is printed below the table.
"""

from __future__ import annotations

import argparse
import sys

from ..machine import describe
from ..process import Answer, ask, progress
from ..table import Table, ratio
from .idea import HEADINGS, IDEAS, Given, Row


def measure(library: str, name: str, seconds: float, shrink: int) -> Answer:
    """An idea's rows, for ``ask``."""
    return {"rows": IDEAS[name].measure(Given(seconds, shrink))}


def amount(value: float, unit: str) -> str:
    """Three digits that count, and the unit.

    >>> amount(1234.5, "ms"), amount(0.012345, "")
    ('1234 ms', '0.0123')
    """
    number = f"{value:.0f}" if value >= 100 else f"{value:.3g}"
    return f"{number} {unit}".rstrip()


def tables(names: list[str], given: Given) -> list[Table]:
    """A table for each kind of the ideas named; what paid comes first."""
    found: dict[str, Table] = {}
    for name in names:
        kind, title, where, function = IDEAS[name]
        progress(f"ideas: {name}")
        columns = ("idea", "measured on", *HEADINGS[kind], "ratio", "where")
        table = found.setdefault(kind, Table(kind, columns, ("", "", ">", ">", ".2f", "")))
        answer = ask(
            "benchmarks.ideas.__main__:measure", "minigrad", name=name, seconds=given.seconds, shrink=given.shrink
        )
        if "missing" in answer:
            table.add(title, answer["missing"], None, None, None, where)
        for row in map(Row._make, answer.get("rows", ())):
            cells = (amount(figure, row.unit) for figure in row.figures)
            table.add(title, row.what, *cells, ratio(*row.figures), where)
        table.notes.append(f"{title}: {' '.join((function.__doc__ or '').split())}")
    return [found[kind] for kind in HEADINGS if kind in found]


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in IDEAS:
            raise argparse.ArgumentTypeError(f"no idea {name!r}; there are {', '.join(IDEAS)}")
    return names


def main(arguments: list[str]) -> None:
    """Measure and print."""
    p = argparse.ArgumentParser(prog="python -m benchmarks.ideas", description="Measure ideas for speed.")
    p.add_argument("--only", type=_names, default=list(IDEAS), help=f"by comma: {','.join(IDEAS)}")
    p.add_argument("--markdown", action="store_true", help="print tables for a page")
    given = p.parse_args(arguments)
    print(describe() + "\n", flush=True)
    for table in tables(given.only, Given()):
        print((table.markdown() if given.markdown else table.text()) + "\n", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
