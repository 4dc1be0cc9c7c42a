"""A lesson as plain text, for a terminal."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Sequence

import numpy as np

from minigrad_models.viz.texts import label

from .blocks import (
    Array,
    Block,
    Chart,
    Checked,
    Choice,
    Equation,
    Lesson,
    Line,
    Matrix,
    Pictures,
    Plane,
    Positions,
    Section,
    Steps,
    Text,
)

WIDE = 100  # columns of text
MAP = (90, 30)  # columns and lines of a plane
POSITIONS = 8  # of a positional encoding, and as many of its dimensions
ABOVE, BELOW = " ░▒▓█", " ·-=#"  # numbers above 0 and below it, from the smallest to the largest


def plain(lesson: Lesson) -> str:
    """The whole lesson."""
    heading = f"{lesson.title}\n{'=' * len(lesson.title)}\n\n{_paragraph(lesson.introduction)}"
    return "\n\n".join([heading, *map(_section, lesson.sections)]) + "\n"


def _section(section: Section) -> str:
    return "\n\n".join([f"{section.title}\n{'-' * len(section.title)}", *map(_block, section.blocks)])


def _block(block: Block) -> str:
    match block:
        case Text():
            return _paragraph(block.text)
        case Matrix():
            return _told(_matrix(block), [block])
        case Equation():
            return _equation(block)
        case Steps():
            return _table(block.head, block.rows, block.numbers)
        case Chart():
            return f"{block.title}\n{_block(block.table())}"
        case Line():
            return _line(block)
        case Choice():
            places = range(len(block.options)) if block.printed is None else block.printed
            return "\n\n".join(f"{block.label} {block.names[i]}\n{_block(block.options[i])}" for i in places)
        case Checked():
            return f"[{'ok' if block.holds else 'WRONG'}] {block.claim}"
        case Positions():
            return _positions(block)
        case Pictures():
            return _pictures(block)
        case Plane():
            return _plane(block)


def _paragraph(text: str) -> str:
    return textwrap.fill(printable(text.replace("`", "")), WIDE)


def printable(text: str) -> str:
    """Without what would move a terminal's cursor or change its colours."""
    return "".join("�" if unicodedata.category(c) in ("Cc", "Cs") and c != "\n" else c for c in text)


def _name(text: str) -> str:
    """A token beside its row."""
    return printable(label(text))


def width(text: str) -> int:
    """How many columns of a terminal a text takes."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _pad(text: str, size: int, right: bool = False) -> str:
    space = " " * max(0, size - width(text))
    return space + text if right else text + space


def _matrix(matrix: Matrix) -> list[str]:
    """Its name, then its numbers between brackets: lines of one width."""
    cells = matrix.cells()
    columns = [_name(matrix.columns[j]) for j in matrix.shown] if matrix.columns else [""] * len(cells[0])
    if len(columns) < matrix.array.shape[1]:
        cells = [[*row[:-1], "…", row[-1]] for row in cells]
        columns = [*columns[:-1], "", columns[-1]]
    rows = [_name(row) for row in matrix.rows] or [""] * len(cells)
    left = max(map(width, rows))
    sizes = [max(width(row[j]) for row in [columns, *cells]) for j in range(len(columns))]
    lines = [matrix.name + (f"  {matrix.note}" if matrix.note else "")]
    if any(columns):
        lines.append(_pad("", left) + "   " + "  ".join(map(_pad, columns, sizes, [True] * len(sizes))))
    for name, row in zip(rows, cells, strict=True):
        lines.append(f"{_pad(name, left)} [ {'  '.join(map(_pad, row, sizes, [True] * len(sizes)))} ]")
    wide = max(map(width, lines))
    return [_pad(line, wide) for line in lines]


def _told(lines: Sequence[str], parts: Sequence[Matrix | str]) -> str:
    """Lines, and below them of each matrix how one of its numbers came about."""
    examples = [part.told_example() for part in parts if isinstance(part, Matrix)]
    return "\n".join([*(line.rstrip() for line in lines), *(_paragraph(text) for text in examples if text)])


def _equation(equation: Equation) -> str:
    """Side by side if there is room, else one below another."""
    parts = [[part] if isinstance(part, str) else _matrix(part) for part in equation.parts]
    if sum(width(part[0]) + 2 for part in parts) - 2 > WIDE:
        return _told([line for part in parts for line in part], equation.parts)
    high = max(map(len, parts))
    lines = [""] * high
    for part in parts:
        # Names stand above; signs stand at the middle of the numbers.
        block = [" "] * (high // 2) + part if len(part) == 1 else part
        wide = max(map(width, block))
        block = [_pad(line, wide) for line in block + [""] * (high - len(block))]
        lines = [f"{line}  {more}" if line else more for line, more in zip(lines, block, strict=True)]
    return _told(lines, equation.parts)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int] = ()) -> str:
    lines = [[printable(cell) for cell in row] for row in [head, *rows]]
    sizes = [max(width(row[j]) for row in lines) for j in range(len(head))]
    written = ["  ".join(_pad(cell, sizes[j], j in numbers) for j, cell in enumerate(row)) for row in lines]
    return "\n".join(line.rstrip() for line in [written[0], "-" * width(written[0]), *written[1:]])


def _line(line: Line) -> str:
    """Each word with its weight, and a bar."""
    size = max(width(_name(word)) for word in line.words)
    return "\n".join(
        f"  {_pad(_name(word), size)} {100 * weight:5.1f} %  {'█' * round(40 * weight)}".rstrip()
        + ("  ← looks" if i == line.asks else "")
        for i, (word, weight) in enumerate(zip(line.words, line.weights, strict=True))
    )


def _positions(block: Positions) -> str:
    """The first of its numbers."""
    view, (length, dimensions) = block.view, block.view.values.shape
    few = min(POSITIONS, length)
    rows = [f"{i} {view.tokens[i]}" if view.tokens else str(i) for i in range(few)]
    columns = [f"{'cos' if j % 2 else 'sin'} {j}" for j in range(dimensions)]
    note = f"{length} × {dimensions}" + (f", the first {few} positions" if few < length else "")
    return _block(Matrix("PE", view.values[:few], rows, columns, 4, first=POSITIONS, note=note))


def _pictures(block: Pictures) -> str:
    """Its pictures in rows, each number as two letters, which make about a square."""
    places = range(len(block.pictures)) if block.printed is None else block.printed
    drawn = [_picture(block.pictures[i].array, block.pictures[i].caption, block.most[i]) for i in places]
    wide = max(width(one[0]) for one in drawn)
    across = min(block.across or WIDE, max(1, (WIDE + 2) // (wide + 2)))
    rows = [_beside(drawn[i : i + across]) for i in range(0, len(drawn), across)]
    legend = f"{BELOW[:0:-1]} below 0, {ABOVE[1:]} above" if block.shade == "signs" else ""
    return "\n".join(filter(None, [printable(block.title), legend, "\n\n".join(rows)]))


def _picture(values: Array, caption: str, most: float) -> list[str]:
    """Lines of one width."""
    lines = ["".join(2 * _shade(value / (most or 1.0)) for value in row) for row in values.tolist()]
    lines.append(printable(caption))
    wide = max(map(width, lines))
    return [_pad(line, wide) for line in lines]


def _shade(part: float) -> str:
    """The letter of a number from -1 to 1."""
    if not abs(part) <= 1:
        return "?"
    return (BELOW if part < 0 else ABOVE)[round(abs(part) * (len(ABOVE) - 1))]


def _beside(pictures: Sequence[list[str]]) -> str:
    """Pictures side by side."""
    high = max(map(len, pictures))
    filled = [one + [" " * width(one[0])] * (high - len(one)) for one in pictures]
    return "\n".join("  ".join(parts).rstrip() for parts in zip(*filled, strict=True))


def _plane(plane: Plane) -> str:
    """A map: the first letter of the first label at each place."""
    points = np.asarray(plane.points, np.float64)
    low, high = points.min(0), points.max(0)
    places = np.rint((points - low) / np.where(high > low, high - low, 1) * (np.array(MAP) - 1)).astype(int)
    letters = [[" "] * MAP[0] for _ in range(MAP[1])]
    for (x, y), text in zip(places[::-1].tolist(), list(plane.labels)[::-1], strict=True):  # the first one is on top
        letters[MAP[1] - 1 - y][x] = printable(text[:1])
    return "\n".join([printable(plane.title), *("".join(line).rstrip() for line in letters)])
