"""Tables of text: columns as wide as what they hold, times and bytes in units that can be read."""

from __future__ import annotations

from collections.abc import Sequence

_GAP = "  "
_BINARY = ("B", "KB", "MB", "GB", "TB")
_DECIMAL = ("", "K", "M", "G", "T", "P")
_UNITS = {"s": 1e-6, "ms": 1e-3, "us": 1.0}


def format_time(us: float, unit: str | None = None) -> str:
    """A time in µs as "1.500ms"; in ``unit`` ("s", "ms", "us") if one is given."""
    chosen = unit or ("s" if us >= 1e6 else "ms" if us >= 1e3 else "us")
    return f"{us * _UNITS[chosen]:.3f}{chosen}"


def format_share(part: float, whole: float) -> str:
    """A part in per cent of the whole, "--" where there is none."""
    return f"{100 * part / whole:.2f}%" if whole else "--"


def format_bytes(count: float) -> str:
    """A number of bytes as "1.50 KB" (1 KB is 1,024 bytes)."""
    size, power = float(count), 0
    while abs(size) >= 1024 and power < len(_BINARY) - 1:
        size, power = size / 1024, power + 1
    return f"{size:.2f} {_BINARY[power]}" if power else f"{int(count)} B"


def format_count(count: float) -> str:
    """A large number as "1.500 M"; "--" for zero."""
    size, power = float(count), 0
    while size >= 1000 and power < len(_DECIMAL) - 1:
        size, power = size / 1000, power + 1
    return f"{size:.3f} {_DECIMAL[power]}".strip() if count else "--"


def cut(text: str, width: int | None) -> str:
    """A text of at most ``width`` characters; None for any length."""
    return text if width is None or len(text) <= width else f"{text[: max(0, width - 3)]}..."


def format_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], foot: Sequence[str] = (), title: str | None = None
) -> str:
    """The rows under their heads, between lines, the first column to the left and the others to the right.

    Args:
        head: of each column.
        rows: a text for each column.
        foot: lines below the table.
        title: a line above it.
    """
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]

    def line(texts: Sequence[str]) -> str:
        first = texts[0].ljust(widths[0])
        others = [text.rjust(width) for text, width in zip(texts[1:], widths[1:], strict=True)]
        return _GAP.join([first, *others]).rstrip()

    rule = _GAP.join("-" * width for width in widths)
    lines = [rule, line(head), rule, *map(line, rows), rule, *foot, ""]
    return "\n".join([title, *lines] if title else lines)
