"""Known gaps: names in PyTorch's databases that minigrad lacks, names that differ, and error inputs that it accepts.

``left.toml`` lists them, each with its reason. The tests fail for a missing or different name that is not listed, for a
listed name that agrees, and for a row that matches nothing in the database.
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

    names: tuple[str, ...]  # patterns for names, with shell wildcards
    reason: str  # for all of them
    dtypes: tuple[str, ...] = ()  # that it applies to; () for all

    def matches(self, name: str, dtype: str = "") -> bool:
        """Whether the row applies to a name, and to a dtype."""
        return (not self.dtypes or dtype in self.dtypes) and any(fnmatchcase(name, text) for text in self.names)


@cache
def rows(table: str) -> tuple[Row, ...]:
    """The rows of "missing", "different" or "accepted"."""
    entries = tomllib.loads(FILE.read_text(encoding="utf-8")).get(table, [])
    return tuple(Row(tuple(e["names"]), e["reason"], tuple(e.get("dtypes", ()))) for e in entries)


def reason_for(name: str, table: str, dtype: str = "") -> str | None:
    """The reason for a gap, from the first row that applies to the name."""
    return next((row.reason for row in rows(table) if row.matches(name, dtype)), None)


def problems(verdicts: Iterable[tuple[str, str, str]], dtype: str = "") -> Iterator[str]:
    """A line for each name whose verdict contradicts the tables.

    Args:
        verdicts: name, verdict ("missing", "different", "accepted", or another, which is in no table), and details.
    """
    for name, verdict, text in verdicts:
        for table in ("missing", "different", "accepted"):
            reason = reason_for(name, table, dtype)
            if table == verdict and reason is None:
                yield f"{name} is {verdict} and not listed: {text}"
            if table != verdict and reason is not None:
                yield f"{name} is listed as {table} and is not: {reason}"


def idle(table: str, names: Iterable[tuple[str, str]]) -> Iterator[str]:
    """The patterns of a table that match none of the names (with their dtypes)."""
    pairs = list(names)
    for row in rows(table):
        for pattern in row.names:
            alone = row._replace(names=(pattern,))
            if not any(alone.matches(name, dtype) for name, dtype in pairs):
                yield f"{table}: {pattern} matches nothing: {row.reason}"
