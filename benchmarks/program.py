"""Code shared by the programs, which parses their command lines and prints tables."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable

from .table import Table


def parser(name: str, doc: str | None, works: Iterable[str] = (), **numbers: float) -> argparse.ArgumentParser:
    """The command line of ``python -m NAME``.

    Args:
        doc: the program's docstring.
        works: if given, ``--work`` chooses from these and may be repeated.
        numbers: options by name with their defaults. An option is an integer if its default is.
    """
    raw = argparse.RawDescriptionHelpFormatter
    p = argparse.ArgumentParser(prog=f"python -m {name}", description=doc, formatter_class=raw)
    if works:
        p.add_argument("--work", choices=works, action="append", help="may be repeated (default: all)")
    for option, default in numbers.items():
        p.add_argument(f"--{option}", type=above_zero(type(default)), default=default, help=f"default: {default:,}")
    return p


def above_zero(kind: type[float]) -> Callable[[str], float]:
    """A type for argparse: a number greater than 0."""

    def number(text: str) -> float:
        value = kind(text)
        if not 0 < value < float("inf"):
            raise argparse.ArgumentTypeError(f"must be greater than 0, not {text}")
        return value

    return number


def parts_of(choices: Iterable[str]) -> Callable[[str], list[str]]:
    """A type for argparse: comma-separated names, returned in the order of ``choices``."""

    def names(text: str) -> list[str]:
        selected = [name.strip() for name in text.split(",")]
        for name in selected:
            if name not in choices:
                raise argparse.ArgumentTypeError(f"unknown part {name!r}; choose from {', '.join(choices)}")
        return [name for name in choices if name in selected]

    return names


def show(table: Table) -> None:
    """Print a table and a blank line."""
    print(table.text() + "\n", flush=True)
