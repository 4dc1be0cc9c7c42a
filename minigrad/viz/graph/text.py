"""Nodes and values as plain text, for a terminal."""

from __future__ import annotations

import math

import numpy as np

from ..numbers import statistics
from ..vector import cut
from .data import Node, Value

FEW = 16  # elements that are shown as numbers
LONGEST = 80  # characters of a name or a line of the program
_COLUMN = 10  # characters of a heading


def row(indent: str, heading: str, text: str) -> str:
    """A line of text under a heading."""
    return f"{indent}{heading:<{_COLUMN - 1}} {text}".rstrip()


def one_line(text: str) -> str:
    """In one line, without what a terminal would take as a command, and not too long."""
    return cut("".join(c if c.isprintable() else "�" for c in text), LONGEST)


def called(node: Node) -> str:
    """A node's name; of a result without one the op's."""
    return f"the result of {node.op}" if node.kind == "op" and node.name == node.op else one_line(node.name)


def described(node: Node) -> str:
    """A node's name, kind, shape and dtype."""
    value = node.value
    return f"{called(node)}, {node.kind} {value.shape} {value.dtype}" if value else called(node)


def summary(value: Value) -> str:
    """Shape, and all of a few numbers; of more some statistics, and how many are not finite."""
    if value.table is None and value.statistics is None:
        return str(value.shape)
    size = math.prod(value.shape)
    if value.table is not None and size <= FEW:
        return f"{value.shape} = {_nested(value)}"
    numbers = value.statistics or statistics(_moduli(value))
    wrong = round(numbers["nan"])
    parts = [f"{name} {numbers[name]:.4g}" for name in ("min", "max", "norm") if wrong < size]
    return f"{value.shape} with {', '.join(parts + [f'{wrong} not finite'] * (wrong > 0))}"


def _moduli(value: Value) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    table = np.array(value.table, np.float64)
    return np.hypot(table[:, ::2], table[:, 1::2]) if value.dtype.startswith("complex") else table


def _nested(value: Value) -> str:
    """A table in the brackets of its array: "[[1, 2], [3, 4]]", "[1+2j]"."""
    table: list[list[float]] | list[list[complex]] = value.table or []
    if value.dtype.startswith("complex"):  # real and imaginary parts in turn
        table = [list(map(complex, row[::2], row[1::2])) for row in value.table or []]
    rows = [", ".join(f"{number + 0.0:.4g}" for number in row) for row in table]
    if not value.shape:
        return rows[0]
    parts = [f"[{row}]" for row in rows]
    for n in reversed(value.shape[1:-1]):
        parts = [f"[{', '.join(parts[i : i + n])}]" for i in range(0, len(parts), max(n, 1))]
    return parts[0] if len(value.shape) == 1 else f"[{', '.join(parts)}]"
