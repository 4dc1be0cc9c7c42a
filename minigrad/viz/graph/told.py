"""Nodes and values as plain text, for a terminal."""

from __future__ import annotations

import math

import numpy as np

from .data import Node, Value

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
    """All of a few numbers; of more some statistics."""
    if value is None or (value.table is None and value.statistics is None):
        return ""
    if value.table is None:
        found = value.statistics or {}
    elif math.prod(value.shape) <= FEW:
        return f" = {nested(value)}"
    else:
        array = np.array(value.table, dtype=np.float64)
        found = {"min": array.min(), "max": array.max(), "norm": np.sqrt((array * array).sum())}
    return " with " + ", ".join(f"{name} {found[name]:.4g}" for name in ("min", "max", "norm"))


def nested(value: Value) -> str:
    """A table in the brackets of its array: "[[1, 2], [3, 4]]"; real and imaginary parts side by side."""
    rows = [", ".join(f"{number + 0.0:.4g}" for number in row) for row in value.table or []]
    if not value.shape:
        return rows[0] if value.dtype[0] != "c" else f"({rows[0]})"
    parts = [f"[{row}]" for row in rows]
    for n in reversed(value.shape[1:-1]):
        parts = [f"[{', '.join(parts[i : i + n])}]" for i in range(0, len(parts), max(n, 1))]
    return parts[0] if len(value.shape) == 1 else f"[{', '.join(parts)}]"
