"""What is left: the names of PyTorch's databases that minigrad lacks, those that differ, and errors that it accepts.

``left.toml`` has them, each with its reason. The tests fail on a name that is missing or differs and is not listed, on
one that is listed and agrees, and on a row that stands for nothing in the database.
"""

import tomllib
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import NamedTuple

FILE = Path(__file__).with_suffix(".toml")


class Row(NamedTuple):
    """A row of a table."""

    names: tuple[str, ...]  # patterns of names, with a shell's wildcards
    reason: str  # theirs
    dtypes: tuple[str, ...] = ()  # of which it speaks; () for all

    def matches(self, name: str, dtype: str = "") -> bool:
        """Whether it speaks of a name, and of a dtype."""
        return (not self.dtypes or dtype in self.dtypes) and any(fnmatchcase(name, text) for text in self.names)


@cache
def rows(table: str) -> tuple[Row, ...]:
    """The rows of "missing", "different" or "accepted"."""
    entries = tomllib.loads(FILE.read_text(encoding="utf-8")).get(table, [])
    return tuple(Row(tuple(e["names"]), e["reason"], tuple(e.get("dtypes", ()))) for e in entries)


def reason_for(name: str, table: str, dtype: str = "") -> str | None:
    """Why a name is left: that of the first row that speaks of it."""
    return next((row.reason for row in rows(table) if row.matches(name, dtype)), None)


def problems(verdicts: Iterable[tuple[str, str, str]], dtype: str = "") -> Iterator[str]:
    """A line for each name whose verdict and whose place in the tables do not fit.

    Args:
        verdicts: name, verdict ("missing", "different", "accepted", or another for one that is to be in no table), and
            what there is to say.
    """
    for name, verdict, text in verdicts:
        for table in ("missing", "different", "accepted"):
            reason = reason_for(name, table, dtype)
            if table == verdict and reason is None:
                yield f"{name} is {verdict} and not listed: {text}"
            if table != verdict and reason is not None:
                yield f"{name} is listed as {table} and is not: {reason}"


def idle(table: str, names: Iterable[tuple[str, str]]) -> Iterator[str]:
    """The patterns of a table that speak of none of the names (with their dtypes)."""
    known = list(names)
    for row in rows(table):
        for pattern in row.names:
            alone = row._replace(names=(pattern,))
            if not any(alone.matches(name, dtype) for name, dtype in known):
                yield f"{table}: {pattern} stands for nothing: {row.reason}"
