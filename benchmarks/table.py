"""Tables of results, as Markdown and plain values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

Cell = float | str | None  # None: no figure


@dataclass
class Table:
    """Results in rows."""

    title: str
    columns: Sequence[str]  # their headings
    digits: Sequence[str]  # the number format of each column; empty for strings
    rows: list[Sequence[Cell]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # lines below the table

    def add(self, *cells: Cell) -> None:
        """Add a row. Raises ValueError unless it has a cell for each column."""
        if len(cells) != len(self.columns):
            raise ValueError(f"the row has {len(cells)} cells, but the table has {len(self.columns)} columns")
        self.rows.append(cells)

    def written(self) -> list[list[str]]:
        """The rows as strings."""
        return [[write(cell, how) for cell, how in zip(row, self.digits, strict=True)] for row in self.rows]

    def text(self) -> str:
        """The table in Markdown, with columns aligned for a terminal."""
        rule = ["--:" if digits else "---" for digits in self.digits]
        lines = [list(self.columns), rule, *self.written()]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.columns))]
        places = [f"{'>' if digits else '<'}{width}" for digits, width in zip(self.digits, widths, strict=True)]
        body = [f"| {' | '.join(map(format, line, places))} |" for line in lines]
        return "\n".join([f"### {self.title}", "", *body, *(f"\n{note}" for note in self.notes)])


def write(cell: Cell, digits: str) -> str:
    """Format a cell: a number in the format of the column, a string unchanged, None as a dash."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return "–"
    return cell if isinstance(cell, str) else format(cell, digits)


def ratio(ours: float | None, theirs: float | None) -> float | None:
    """The quotient of two figures, or None if one is missing."""
    return ours / theirs if ours is not None and theirs else None
