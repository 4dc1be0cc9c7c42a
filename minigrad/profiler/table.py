"""Formats text tables with columns as wide as their content, and times and bytes in readable units."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any

_GAP = "  "
_BINARY = ("B", "KB", "MB", "GB", "TB")
_DECIMAL = ("", "K", "M", "G", "T", "P")
_UNITS = {"s": 1e-6, "ms": 1e-3, "us": 1.0}
Columns = Iterable[tuple[str, Callable[[Any], str]]]  # each column's heading, and a function from a row to text


def format_time(us: float, unit: str | None = None) -> str:
    """Format a time in µs as "1.500ms", or in ``unit`` ("s", "ms", "us"). Raises ValueError for any other unit."""
    symbol = unit or ("s" if us >= 1e6 else "ms" if us >= 1e3 else "us")
    if symbol not in _UNITS:
        raise ValueError(f"time_unit must be 's', 'ms', 'us' or None, not {unit!r}")
    return f"{us * _UNITS[symbol]:.3f}{symbol}"


def format_share(part: float, whole: float) -> str:
    """Format a part as a percentage of the whole; "--" if the whole is 0."""
    return f"{100 * part / whole:.2f}%" if whole else "--"


def format_bytes(count: float) -> str:
    """Format a number of bytes as "1.50 KB" (1 KB is 1,024 bytes)."""
    size, unit = _scaled(count, 1024, _BINARY)
    return f"{size:.2f} {unit}" if unit != "B" else f"{int(count)} B"


def format_count(count: float) -> str:
    """Format a large number as "1.500 M"; "--" for zero."""
    size, unit = _scaled(count, 1000, _DECIMAL)
    return f"{size:.3f} {unit}".strip() if count else "--"


def _scaled(count: float, step: int, units: Sequence[str]) -> tuple[float, str]:
    size, power = float(count), 0
    while abs(size) >= step and power < len(units) - 1:
        size, power = size / step, power + 1
    return size, units[power]


def cut(text: str, width: int | None) -> str:
    """Truncate text to ``width`` characters; None means no limit."""
    return text if width is None or len(text) <= width else f"{text[: max(0, width - 3)]}..."


def format_rows(
    columns: Columns,
    rows: list[Any],
    sort_by: str | None,
    keys: Sequence[str],
    limit: int,
    foot: str,
    title: str | None,
) -> str:
    """A table of at most ``limit`` rows (-1 for all), in descending order of ``sort_by`` (one of ``keys``)."""
    if sort_by is not None and sort_by not in keys:
        raise ValueError(f"cannot sort the table by {sort_by!r}: sort_by must be one of {', '.join(keys)}")
    rows = rows if sort_by is None else sorted(rows, key=attrgetter(sort_by), reverse=True)
    heads, texts = zip(*columns, strict=True)
    cells = [[text(row) for text in texts] for row in (rows if limit < 0 else rows[:limit])]
    return format_table(heads, cells, [foot], title)


def format_table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    foot: Sequence[str] = (),
    title: str | None = None,
    left: int = 1,
) -> str:
    """A table of headings and rows, with ``left`` left-aligned columns, ``title`` above and ``foot`` below."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]

    def line(texts: Sequence[str]) -> str:
        padded = [text.rjust(width) for text, width in zip(texts, widths, strict=True)]
        padded[:left] = [text.ljust(width) for text, width in zip(texts[:left], widths, strict=False)]
        return _GAP.join(padded).rstrip()

    rule = _GAP.join("-" * width for width in widths)
    lines = [rule, line(head), rule, *map(line, rows), rule, *foot, ""]
    return "\n".join([title, *lines] if title else lines)
