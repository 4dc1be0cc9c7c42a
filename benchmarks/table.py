"""Tables of results, as Markdown and as plain values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

Cell = float | str | None  # None: there is no such figure


@dataclass
class Table:
    """Results in rows."""

    title: str
    columns: Sequence[str]  # their headings, which differ
    digits: Sequence[str]  # for each column how a number is written, as in ``format``; empty for words
    rows: list[Sequence[Cell]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # lines below the table

    def __post_init__(self) -> None:
        if len(set(self.columns)) < len(self.columns):
            raise ValueError(f"two columns have one heading: {self.columns}")

    def add(self, *cells: Cell) -> None:
        """A row. Raises ValueError: it has not one cell for each column."""
        if len(cells) != len(self.columns):
            raise ValueError(f"a row of {len(cells)} cells in a table of {len(self.columns)} columns")
        self.rows.append(cells)

    def written(self) -> list[list[str]]:
        """The rows as strings."""
        return [[write(cell, how) for cell, how in zip(row, self.digits, strict=True)] for row in self.rows]

    def text(self) -> str:
        """Markdown for a page, in columns of equal width for a terminal."""
        rule = ["--:" if digits else "---" for digits in self.digits]
        lines = [list(self.columns), rule, *self.written()]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.columns))]
        body = [f"| {' | '.join(self._justify(line, widths))} |" for line in lines]
        return "\n".join([f"### {self.title}", "", *body, *(f"\n{note}" for note in self.notes)])

    def _justify(self, line: list[str], widths: list[int]) -> list[str]:
        pairs = zip(line, widths, self.digits, strict=True)
        return [cell.rjust(width) if digits else cell.ljust(width) for cell, width, digits in pairs]

    def values(self) -> dict[str, Any]:
        """For JSON: the unrounded figures, each row by its columns' names."""
        rows = [dict(zip(self.columns, row, strict=True)) for row in self.rows]
        return {"title": self.title, "rows": rows, "notes": self.notes}


def write(cell: Cell, digits: str) -> str:
    """A cell: a number in the column's format, words as they are, nothing as a dash."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return "–"
    return cell if isinstance(cell, str) else format(cell, digits)


def ratio(ours: float | None, theirs: float | None) -> float | None:
    """The quotient of two figures, if both are there."""
    return ours / theirs if ours is not None and theirs else None
