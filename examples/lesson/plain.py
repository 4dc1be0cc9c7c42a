"""A lesson as plain text, for a terminal."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Sequence

from minigrad_models.viz import blocks
from minigrad_models.viz.texts import label

WIDE = 100  # columns of text
POSITIONS = 8  # of a positional encoding, and the number of dimensions


def plain(lesson: blocks.Lesson) -> str:
    """The whole lesson."""
    heading = f"{lesson.title}\n{'=' * len(lesson.title)}\n\n{_paragraph(lesson.introduction)}"
    return "\n\n".join([heading, *map(_section, lesson.sections)]) + "\n"


def _section(section: blocks.Section) -> str:
    return "\n\n".join([f"{section.title}\n{'-' * len(section.title)}", *map(_block, section.blocks)])


def _block(block: blocks.Block) -> str:
    match block:
        case blocks.Text():
            return _paragraph(block.text)
        case blocks.Matrix():
            return _told(_matrix(block), [block])
        case blocks.Equation():
            return _equation(block)
        case blocks.Steps():
            return _table(block.head, block.rows, block.numbers)
        case blocks.Chart():
            return f"{block.title}\n{_block(block.table())}"
        case blocks.Line():
            return _line(block)
        case blocks.Choice():
            return f"{block.label} {block.names[block.start]}\n{_block(block.options[block.start])}"
        case blocks.Checked():
            return f"[{'ok' if block.holds else 'WRONG'}] {block.claim}"
        case blocks.Positions():
            return _positions(block)
        case blocks.Pictures() | blocks.Plane():
            return f"{printable(block.title)} (on the page: --save)"


def _paragraph(text: str) -> str:
    return textwrap.fill(printable(text.replace("`", "")), WIDE)


def printable(text: str) -> str:
    """The text without the characters that move a terminal's cursor or change its colours."""
    return "".join("�" if unicodedata.category(c) in ("Cc", "Cs") and c != "\n" else c for c in text)


def _name(text: str) -> str:
    """The label of a row or column."""
    return printable(label(text))


def width(text: str) -> int:
    """The number of terminal columns that some text occupies."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _pad(text: str, size: int, right: bool = False) -> str:
    space = " " * max(0, size - width(text))
    return space + text if right else text + space


def _matrix(matrix: blocks.Matrix) -> list[str]:
    """The name, then the numbers between brackets, as lines of equal width."""
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


def _told(lines: Sequence[str], parts: Sequence[blocks.Matrix | str]) -> str:
    """Lines, followed by the example of each matrix."""
    examples = [part.told_example() for part in parts if isinstance(part, blocks.Matrix)]
    return "\n".join([*(line.rstrip() for line in lines), *(_paragraph(text) for text in examples if text)])


def _equation(equation: blocks.Equation) -> str:
    """The parts next to each other if they fit, otherwise below each other."""
    parts = [[part] if isinstance(part, str) else _matrix(part) for part in equation.parts]
    if sum(width(part[0]) + 2 for part in parts) - 2 > WIDE:
        return _told([line for part in parts for line in part], equation.parts)
    high = max(map(len, parts))
    lines = [""] * high
    for part in parts:
        # Names are at the top, and signs in the middle of the numbers.
        block = [" "] * (high // 2) + part if len(part) == 1 else part
        wide = max(map(width, block))
        block = [_pad(line, wide) for line in block + [""] * (high - len(block))]
        lines = [f"{line}  {more}" if line else more for line, more in zip(lines, block, strict=True)]
    return _told(lines, equation.parts)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int] = ()) -> str:
    lines = [[printable(cell) for cell in row] for row in [head, *rows]]
    sizes = [max(width(row[j]) for row in lines) for j in range(len(head))]
    aligned = ["  ".join(_pad(cell, sizes[j], j in numbers) for j, cell in enumerate(row)) for row in lines]
    return "\n".join(line.rstrip() for line in [aligned[0], "-" * width(aligned[0]), *aligned[1:]])


def _line(line: blocks.Line) -> str:
    """Each word with its weight, and a bar."""
    size = max(width(_name(word)) for word in line.words)
    return "\n".join(
        f"  {_pad(_name(word), size)} {100 * weight:5.1f} %  {'█' * round(40 * weight)}".rstrip()
        + ("  ← looks" if i == line.asks else "")
        for i, (word, weight) in enumerate(zip(line.words, line.weights, strict=True))
    )


def _positions(block: blocks.Positions) -> str:
    """The first numbers of the encoding."""
    view, (length, dimensions) = block.view, block.view.values.shape
    few = min(POSITIONS, length)
    rows = [f"{i} {view.tokens[i]}" if view.tokens else str(i) for i in range(few)]
    columns = [f"{'cos' if j % 2 else 'sin'} {j}" for j in range(dimensions)]
    note = f"{length} × {dimensions}" + (f", the first {few} positions" if few < length else "")
    return _block(blocks.Matrix("PE", view.values[:few], rows, columns, 4, first=POSITIONS, note=note))
