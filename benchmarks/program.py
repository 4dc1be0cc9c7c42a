"""What the programs share: a command line whose numbers are checked, and how a table is printed."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable

from .table import Table


def parser(name: str, doc: str | None, works: Iterable[str] = (), **numbers: float) -> argparse.ArgumentParser:
    """The command line of ``python -m NAME``.

    Args:
        doc: what the program does, its docstring.
        works: if there are any, ``--work`` chooses of them, and may be repeated.
        numbers: an option each, by its default; whole numbers are asked for where that is one.
    """
    raw = argparse.RawDescriptionHelpFormatter
    p = argparse.ArgumentParser(prog=f"python -m {name}", description=doc, formatter_class=raw)
    if works:
        p.add_argument("--work", choices=works, action="append", help="may be repeated (default: all)")
    for option, default in numbers.items():
        p.add_argument(f"--{option}", type=above_zero(type(default)), default=default, help=f"default: {default:,}")
    return p


def above_zero(kind: type[float]) -> Callable[[str], float]:
    """Reads a number of a kind that is more than 0, for argparse."""

    def number(text: str) -> float:
        value = kind(text)
        if not 0 < value < float("inf"):
            raise argparse.ArgumentTypeError(f"more than 0 is needed, not {text}")
        return value

    return number


def parts_of(known: Iterable[str]) -> Callable[[str], list[str]]:
    """Reads names by comma, for argparse; they come in the order of those that are known."""

    def names(text: str) -> list[str]:
        asked = [name.strip() for name in text.split(",")]
        for name in asked:
            if name not in known:
                raise argparse.ArgumentTypeError(f"no part {name!r}; there are {', '.join(known)}")
        return [name for name in known if name in asked]

    return names


def show(table: Table) -> None:
    """Print a table, and an empty line."""
    print(table.text() + "\n", flush=True)
