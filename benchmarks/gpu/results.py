"""The results of all stages: one file of JSON, and tables for docs/gpu.md."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..table import Cell, Table
from .runner import Result, Row
from .stages import BY_NAME

LONGEST = 160  # characters of a reason in the table
ENDS = ("failed", "needs", "missing")  # of an item that has no values
MOST = 12  # reasons of one table; the file has them all
TOO_LARGE, TOO_SMALL = 1e5, 1e-3  # for digits without an exponent


def write(folder: Path, about: dict[str, Any], results: list[Result]) -> None:
    """Write results.json and table.md; each is there whole, or as it was before."""
    everything = {**about, "stages": {r.name: {k: v for k, v in vars(r).items() if k != "name"} for r in results}}
    _replace(folder / "results.json", json.dumps(everything, indent=1, ensure_ascii=False))
    _replace(folder / "table.md", markdown(about, results))


def _replace(file: Path, text: str) -> None:
    temporary = file.with_name(f".{file.name}.tmp")
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, file)


def markdown(about: dict[str, Any], results: list[Result]) -> str:
    """All tables, and above them the machine, the date, and how each stage ended."""
    machine = [row["values"] for r in results if r.name == "machine" for row in r.rows if "values" in row]
    card: Row = next((v for v in machine if "card" in v), {})
    where = ", ".join(f"{k} {v}" for k, v in card.items()) or (
        "a rehearsal, without a GPU" if about["rehearsal"] else ""
    )
    parts = [f"{about['date']}: {where or 'the card is not known'}; {about['machine']}"]
    shown = [r for r in results if r.status != "left out"]
    for title in dict.fromkeys(BY_NAME[r.name].title for r in shown):
        grid = table(title, [r for r in shown if BY_NAME[r.name].title == title])
        parts.append(grid.markdown() if grid.rows else "\n\n".join([f"### {title}", *grid.notes]))
    return "\n\n".join([*parts, _ends(results).markdown()]) + "\n"


def _ends(results: Iterable[Result]) -> Table:
    ends = Table("Stages", ("stage", "end", "seconds", "items", "failed"), ("", "", ".0f", ".0f", ".0f"))
    for r in results:
        failed = len({row["item"] for row in r.rows if "failed" in row})
        ends.add(r.name, r.status, float(r.seconds), float(len({row["item"] for row in r.rows})), float(failed))
    return ends


def table(title: str, results: list[Result]) -> Table:
    """The table of the stages that share a title: rows with the same words are one."""
    brief = all(BY_NAME[r.name].brief for r in results)
    rows = [_count(r) for r in results] if brief else merged(v for r in results for v in _shown(r))
    columns = list(dict.fromkeys(name for row in rows for name in row)) or ["result"]
    grid = Table(title, columns, [">" if _numeric(rows, name) else "" for name in columns])
    for row in rows:
        grid.add(*(written(row.get(name)) for name in columns))
    grid.notes += reasons(results)
    return grid


def _shown(result: Result) -> list[Row]:
    """The words and numbers of a stage; lists are for the file, and the card is above all tables."""
    if BY_NAME[result.name].brief:
        return []
    rows = (row.get("values", {}) for row in result.rows)
    parts = ({k: v for k, v in row.items() if isinstance(v, (str, int, float))} for row in rows if "card" not in row)
    return [row for row in parts if row]


def _count(result: Result) -> Row:
    """How many items of a stage ended in which way."""
    return {"stage": result.name, **Counter(next((e for e in ENDS if e in row), "ok") for row in result.rows)}


def merged(rows: Iterable[Row]) -> list[Row]:
    """Rows with the same words in the same columns are one row, with the numbers of all."""
    by_words: dict[tuple[tuple[str, str], ...], Row] = {}
    for row in rows:
        words = tuple((k, v) for k, v in row.items() if isinstance(v, str))
        by_words.setdefault(words, {}).update(row)
    return list(by_words.values())


def reasons(results: list[Result]) -> list[str]:
    """A line for each reason why an item, or a stage, has nothing to show."""
    by_reason: dict[str, list[str]] = {}
    for r in results:
        if r.status not in ("ok", "failed"):
            by_reason.setdefault(r.status, []).append(r.name)
        elif r.status == "failed" and not any("failed" in row for row in r.rows):
            by_reason.setdefault(f"failed: {next((x for x in reversed(r.tail) if x.strip()), '')}", []).append(r.name)
        for row in r.rows:
            for end in ENDS:
                if end in row:
                    text = row[end] if end == "needs" else f"{end}: {row[end]}"
                    by_reason.setdefault(text, []).append(f"{r.name}/{row['item']}")
    lines = [f"{_few(names)}: {_short(reason)}" for reason, names in by_reason.items()]
    more = [f"and {len(lines) - MOST} more, in results.json"] if len(lines) > MOST else []
    return lines[:MOST] + more


def _few(names: list[str]) -> str:
    names = list(dict.fromkeys(names))
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _short(text: str) -> str:
    line = " ".join(text.split()).replace("|", "\\|")
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"


def _numeric(rows: list[Row], name: str) -> bool:
    return all(isinstance(row[name], (int, float)) for row in rows if name in row) and any(name in row for row in rows)


def written(value: Any) -> Cell:
    """A cell: three digits of a number, and words as they are."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    size = abs(float(value))
    if size and not TOO_SMALL <= size < TOO_LARGE:
        return f"{value:.1e}"
    return f"{value:.0f}" if size >= 100 else f"{value:.3g}"
