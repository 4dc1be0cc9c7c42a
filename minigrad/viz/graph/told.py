"""Nodes and values as plain text, for a terminal."""

from __future__ import annotations

import math

import numpy as np

from .data import Node, Value
from .values import statistics

FEW = 16  # elements that are told as numbers
LONGEST = 80  # characters of a name or a line of the program
_COLUMN = 10  # characters of a heading


def row(indent: str, heading: str, text: str) -> str:
    """A line of text under a heading."""
    return f"{indent}{heading:<{_COLUMN}}{text}".rstrip()


def one_line(text: str) -> str:
    """In one line, without what a terminal would take as a command, and not too long."""
    plain = "".join(c if c.isprintable() else "�" for c in text)
    return plain if len(plain) <= LONGEST else f"{plain[: LONGEST - 1]}…"


def called(node: Node) -> str:
    """A node's name; of a result without one the op's."""
    return f"the result of {node.op}" if node.kind == "op" and node.name == node.op else one_line(node.name)


def described(node: Node) -> str:
    """A node's name, kind, shape and dtype."""
    value = node.value
    return f"{called(node)}, {node.kind} {value.shape} {value.dtype}" if value else called(node)


def told(value: Value) -> str:
    """Shape and numbers."""
    return f"{value.shape}{numbers(value)}"


def numbers(value: Value | None) -> str:
    """All of a few numbers; of more some statistics, and how many are not finite."""
    if value is None or (value.table is None and value.statistics is None):
        return ""
    size = math.prod(value.shape)
    if value.table is not None and size <= FEW:
        return f" = {nested(value)}"
    found = value.statistics or _statistics(value)
    wrong = round(found["nan"])
    parts = [f"{name} {found[name]:.4g}" for name in ("min", "max", "norm") if wrong < size]
    return " with " + ", ".join(parts + [f"{wrong} not finite"] * (wrong > 0))


def _statistics(value: Value) -> dict[str, float]:
    """Those of a table; of complex numbers those of their moduli."""
    table = np.array(value.table, np.float64)
    return statistics(np.hypot(table[:, ::2], table[:, 1::2]) if _is_complex(value) else table)


def nested(value: Value) -> str:
    """A table in the brackets of its array: "[[1, 2], [3, 4]]", "[1+2j]"."""
    table: list[list[float]] | list[list[complex]] = value.table or []
    if _is_complex(value):
        table = [list(map(complex, row[::2], row[1::2])) for row in value.table or []]
    rows = [", ".join(f"{number + 0.0:.4g}" for number in row) for row in table]
    if not value.shape:
        return rows[0]
    parts = [f"[{row}]" for row in rows]
    for n in reversed(value.shape[1:-1]):
        parts = [f"[{', '.join(parts[i : i + n])}]" for i in range(0, len(parts), max(n, 1))]
    return parts[0] if len(value.shape) == 1 else f"[{', '.join(parts)}]"


def _is_complex(value: Value) -> bool:
    """Whether a table has real and imaginary parts in turn."""
    return value.dtype.startswith("complex")
