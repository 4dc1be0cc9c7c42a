"""The table of ``minigrad.summary``: which rows and columns it has, in a terminal and on a page."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from html import escape
from itertools import groupby
from typing import Any, NamedTuple

from .table import cut, format_bytes, format_table

Shape = tuple[int, ...]

WIDE = 120  # characters, where there is no terminal to ask
_NARROWEST = 14  # of the first column
_EXACT = 10**9  # numbers are written out up to here
_DROPPED = ("input", "class", "kept", "output")  # columns that go first where there is no room
_GAP = 2
_STYLE = """
.minigrad-summary { border-collapse: collapse; color: inherit;
  font: 13px/1.45 ui-monospace, Menlo, Consolas, monospace }
.minigrad-summary th, .minigrad-summary td { padding: 1px 10px; text-align: right; white-space: nowrap;
  background: transparent; color: inherit; border: 0 }
.minigrad-summary th:first-child, .minigrad-summary td:first-child,
.minigrad-summary th:nth-child(2), .minigrad-summary td:nth-child(2) { text-align: left }
.minigrad-summary thead th { border-bottom: 1px solid rgba(128, 128, 128, .5) }
.minigrad-summary tfoot td { text-align: left !important }
.minigrad-summary tfoot tr:first-child td { border-top: 1px solid rgba(128, 128, 128, .5) }
"""


@dataclass
class Row:
    """A module. Its numbers are those of a call of the whole model, with all modules inside it.

    Attributes:
        path: its full name, "" for the model. kind: its class. depth: how many modules are around it.
        calls: how often it ran; None where the model was not called.
        inputs, outputs: the shapes of the tensors of its first call.
        parameters, trainable: how many numbers; those that several modules share are the first one's. shared: whether
            others had counted all its parameters before.
        multiply_adds: of the products of matrices that ran in it; elementwise ops are not counted.
        kept: bytes of memory that ops in it keep for the backward pass, parameters and inputs of the model left out.
    """

    path: str
    kind: str
    depth: int
    calls: int | None = None
    inputs: tuple[Shape, ...] = ()
    outputs: tuple[Shape, ...] = ()
    parameters: int = 0
    trainable: int = 0
    shared: bool = False
    multiply_adds: int = 0
    kept: int = 0
    children: list[Row] = field(default_factory=list, repr=False)

    def all(self) -> Iterator[Row]:
        """It and all below it, each before those inside it."""
        yield self
        for child in self.children:
            yield from child.all()


@dataclass(frozen=True)
class Total:
    """The whole model. Bytes are of the parameters, of the buffers, of the inputs, and kept for the backward pass."""

    parameters: int
    trainable: int
    parameter_bytes: int
    buffer_bytes: int
    multiply_adds: int
    input_bytes: int
    kept: int


class Line(NamedTuple):
    """A row of the table: the module's own name, or "0 … 11" of several that are alike, and its row's numbers."""

    name: str
    times: int  # how many modules are in it
    row: Row


class Table:
    """A model's rows, at most ``depth`` levels deep; with ``fold``, neighbours that are alike are one row."""

    def __init__(self, root: Row, total: Total, depth: int | None, fold: bool) -> None:
        self.total, self.ran = total, root.calls is not None
        self.lines = list(_lines(root, 1, depth, fold))
        shapes: dict[str, Callable[[Line], str]] = {
            "input": lambda line: _shapes(line.row.inputs),
            "output": lambda line: _shapes(line.row.outputs),
        }
        numbers: dict[str, Callable[[Line], str]] = {
            "multiply-adds": lambda line: _count(line.row.multiply_adds),
            "kept": lambda line: format_bytes(line.row.kept) if line.row.kept else "--",
        }
        self.columns: dict[str, Callable[[Line], str]] = {
            "class": lambda line: f"{line.times} × {line.row.kind}" if line.times > 1 else line.row.kind,
            **(shapes if self.ran else {}),
            "parameters": lambda line: _parameters(line.row),
            **(numbers if self.ran else {}),
        }

    def text(self, width: int | None = None) -> str:
        """For a terminal: columns are left out and the first is cut where the lines would be too long."""
        width = shutil.get_terminal_size((WIDE, 24)).columns if width is None else width
        columns = {name: [name, *map(text, self.lines)] for name, text in self.columns.items()}
        labels = [f"{'  ' * line.row.depth}{line.name}" for line in self.lines]
        first = max(map(len, ["module", *labels]))
        for dropped in ("", *_DROPPED):
            columns.pop(dropped, None)
            room = width - sum(max(map(len, texts)) + _GAP for texts in columns.values())
            if room >= min(first, 2 * _NARROWEST):
                break
        first = max(min(first, room), _NARROWEST)
        head, *rows = zip(["module", *(cut(label, first) for label in labels)], *columns.values(), strict=True)
        return format_table(head, rows, self.foot(), left=2 if "class" in columns else 1).rstrip("\n")

    def html(self) -> str:
        """For a page or a notebook, whose colours it takes."""
        heads = "".join(f"<th>{escape(name)}</th>" for name in ("module", *self.columns))
        body = "".join(
            f'<tr><td style="padding-left: {10 + 16 * line.row.depth}px">{escape(line.name)}</td>'
            + "".join(f"<td>{escape(text(line))}</td>" for text in self.columns.values())
            + "</tr>"
            for line in self.lines
        )
        span = 1 + len(self.columns)
        foot = "".join(f'<tr><td colspan="{span}">{escape(line)}</td></tr>' for line in self.foot())
        return (
            f'<style>{_STYLE}</style><div style="overflow-x: auto"><table class="minigrad-summary">'
            f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody><tfoot>{foot}</tfoot></table></div>"
        )

    def foot(self) -> list[str]:
        """What stands below the rows."""
        total = self.total
        frozen = total.parameters - total.trainable
        share = f", {total.trainable:,} trainable and {frozen:,} frozen" if frozen else ""
        lines = [f"{total.parameters:,} parameters{share}: {format_bytes(total.parameter_bytes)}"]
        if total.buffer_bytes:
            lines.append(f"{format_bytes(total.buffer_bytes)} of buffers")
        if self.ran:
            lines.append(f"{total.multiply_adds:,} multiply-adds in products of matrices")
            given = f"{format_bytes(total.input_bytes)} of inputs"
            lines.append(f"{format_bytes(total.kept)} kept for the backward pass, and {given}")
        return lines


def _lines(row: Row, times: int, depth: int | None, fold: bool, name: str = "") -> Iterator[Line]:
    yield Line(name or row.path.rpartition(".")[2] or row.kind, times, row)
    if depth is not None and row.depth >= depth:
        return
    for _, group in groupby(enumerate(row.children), lambda numbered: _alike(numbered[0], numbered[1], fold)):
        rows = [child for _, child in group]
        own = [child.path.rpartition(".")[2] for child in rows]
        yield from _lines(_mean(rows), len(rows), depth, fold, f"{own[0]} … {own[-1]}" if len(rows) > 1 else "")


def _alike(number: int, row: Row, fold: bool) -> Any:
    """Equal for neighbours that may be one line: numbered modules of the same structure, shapes and numbers."""
    return _structure(row) if fold and row.path.rpartition(".")[2].isdigit() else number


def _mean(rows: list[Row]) -> Row:
    """The first of rows that are alike, with the mean of what each keeps: what two share, the first of them keeps."""
    children = [_mean(list(alike)) for alike in zip(*(row.children for row in rows), strict=True)]
    return replace(rows[0], kept=round(sum(row.kept for row in rows) / len(rows)), children=children)


def _structure(row: Row) -> tuple[Any, ...]:
    shapes = (row.calls, row.inputs, row.outputs)
    numbers = (row.parameters, row.trainable, row.shared, row.multiply_adds)
    inner = [(child.path.rpartition(".")[2], _structure(child)) for child in row.children]
    return (row.kind, *shapes, *numbers, *inner)


def _shapes(shapes: tuple[Shape, ...]) -> str:
    more = f" + {len(shapes) - 2}" if len(shapes) > 2 else ""
    return ", ".join(map(str, shapes[:2])) + more if shapes else "--"


def _parameters(row: Row) -> str:
    if row.shared:
        return "shared"
    if row.parameters and row.trainable < row.parameters:
        return f"{row.parameters:,} {'partly ' if row.trainable else ''}frozen"
    return f"{row.parameters:,}" if row.parameters else "--"


def _count(number: int) -> str:
    return f"{number:,}" if 0 < number < _EXACT else f"{number / 1e9:,.3f} G" if number else "--"
