"""Writes the results of all stages: a JSON file, and tables for docs/gpu.md."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ..table import Cell, Table
from .runner import Result, Row
from .stages import BY_NAME

LONGEST = 160  # characters for a reason in the table
ENDS = ("failed", "needs", "missing")  # the ways in which an item can end without values
MOST = 12  # reasons in a table; the file has all of them


def write(folder: Path, about: dict[str, Any], results: list[Result]) -> None:
    """Write results.json and table.md, each atomically."""
    everything = {**about, "stages": {r.name: {k: v for k, v in vars(r).items() if k != "name"} for r in results}}
    report = json.dumps(everything, indent=1, ensure_ascii=False)
    for name, text in (("results.json", report), ("table.md", markdown(about, results))):
        temporary = folder / f".{name}.tmp"
        temporary.write_text(text, encoding="utf-8")
        os.replace(temporary, folder / name)


def markdown(about: dict[str, Any], results: list[Result]) -> str:
    """The date and the machine, all tables, and a table of how each stage ended."""
    values = (row.get("values", {}) for r in results for row in r.rows)
    card: Row = next((v for v in values if "card" in v), {})
    unknown = "a rehearsal, without a GPU" if about["rehearsal"] else "the card is not known"
    where = ", ".join(f"{k} {v}" for k, v in card.items()) or unknown
    parts = [f"{about['date']}: {where}; {about['machine']}"]
    stages = [r for r in results if r.status != "left out"]
    for title in dict.fromkeys(BY_NAME[r.name].title for r in stages):
        grid = table(title, [r for r in stages if BY_NAME[r.name].title == title])
        parts.append(grid.text() if grid.rows else "\n\n".join([f"### {title}", *grid.notes]))
    ends = Table("Stages", ("stage", "end", "seconds", "items", "failed"), ("", "", ".0f", "d", "d"))
    for r in results:
        ends.add(r.name, r.status, r.seconds, *(len(_items(r, end)) for end in ("item", "failed")))
    return "\n\n".join([*parts, ends.text()]) + "\n"


def _items(result: Result, key: str) -> set[str]:
    return {row["item"] for row in result.rows if key in row}


def table(title: str, results: list[Result]) -> Table:
    """The table of stages that share a title. Rows with the same strings are merged."""
    are_brief = all(BY_NAME[r.name].brief for r in results)
    by_words: dict[tuple[tuple[str, str], ...], Row] = {}
    for row in map(_count, results) if are_brief else (row for r in results for row in _rows(r)):
        words = tuple((k, v) for k, v in row.items() if isinstance(v, str))
        by_words.setdefault(words, {}).update(row)
    rows = list(by_words.values())
    columns = list(dict.fromkeys(name for row in rows for name in row)) or ["result"]
    in_words = {name for row in rows for name, value in row.items() if isinstance(value, str)}
    cells: list[Sequence[Cell]] = [[written(row.get(name)) for name in columns] for row in rows]
    return Table(title, columns, ["" if name in in_words else ">" for name in columns], cells, reasons(results))


def _count(result: Result) -> Row:
    """How many items of a stage ended in each way."""
    return {"stage": result.name, **Counter(next((e for e in ENDS if e in row), "ok") for row in result.rows)}


def _rows(result: Result) -> Iterable[Row]:
    """The strings and numbers in a stage's rows, without lists and the card's row. A brief stage has no rows."""
    for row in (row["values"] for row in result.rows if "values" in row and not BY_NAME[result.name].brief):
        cells = {k: v for k, v in row.items() if isinstance(v, (str, int, float))}
        if cells and "card" not in row:
            yield cells


def reasons(results: list[Result]) -> list[str]:
    """A line for each reason why an item or a stage has no results."""
    by_reason: dict[str, list[str]] = {}
    for r in results:
        if r.status not in ("ok", "failed"):
            by_reason.setdefault(r.status, []).append(r.name)
        elif r.status == "failed" and not _items(r, "failed"):
            by_reason.setdefault(f"failed: {next((x for x in reversed(r.tail) if x.strip()), '')}", []).append(r.name)
        for row, end in ((row, end) for row in r.rows for end in ENDS if end in row):
            reason = row[end] if end == "needs" else f"{end}: {row[end]}"
            by_reason.setdefault(reason, []).append(f"{r.name}/{row['item']}")
    lines = []
    for reason, names in by_reason.items():
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        line = " ".join(reason.split()).replace("|", "\\|")
        short = line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"
        lines.append(f"{', '.join(names[:3])}{more}: {short}")
    return lines[:MOST] + ([f"and {len(lines) - MOST} more, in results.json"] if len(lines) > MOST else [])


def written(value: Any) -> Cell:
    """Format a cell: numbers with three significant digits, strings unchanged."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    size = abs(float(value))
    if size and not 1e-3 <= size < 1e5:
        return f"{value:.1e}"
    return f"{value:.0f}" if size >= 100 else f"{value:.3g}"
