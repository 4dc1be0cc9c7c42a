"""The blocks of a worked example: paragraphs, matrices, equations and charts, as a page and as plain text.

An example builds a Lesson from numbers that minigrad computed. Text is plain, with `code` between back quotes. Text
from users, such as the tokens of a sentence, is shown verbatim.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal, SupportsFloat

import numpy as np

from minigrad import Tensor
from minigrad.viz.numbers import coded
from minigrad.viz.page import Page
from minigrad.viz.view import View

from .lines import Curve, draw
from .texts import label

ROUNDED = "Numbers are rounded only for display, not in the computation."
Array = np.ndarray[Any, Any]
Shade = Literal["", "weights", "signs"]


class Plain:
    """A block whose fields are passed to the page unchanged."""

    def data(self) -> dict[str, Any]:
        """The data for assets/lecture.js."""
        return {"kind": type(self).__name__.lower(), **vars(self)}


@dataclass(frozen=True)
class Text(Plain):
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Mark:
    """The part of another matrix from which cell (i, j) of a result is computed."""

    matrix: str
    part: Literal["row", "column", "cell"]  # its row i, its column j, or its cell (i, j)


@dataclass(frozen=True)
class Matrix:
    """Numbers with labels for their rows and columns."""

    name: str  # above it
    values: Tensor | Array  # two dimensions; -inf is shown as −∞
    rows: Sequence[str] = ()  # their labels
    columns: Sequence[str] = ()  # their labels
    digits: int = 2  # after the decimal point
    shade: Shade = ""  # of cells, by number: "weights" from 0 to 1, "signs" around 0
    how: Callable[[int, int], str] | None = None  # explains how cell (i, j) was computed
    marks: tuple[Mark, ...] = ()  # its sources
    first: int | None = None  # columns before "…" and the last column; None: all
    note: str = ""  # below the name, such as a shape
    key: str = ""  # its unique key in the lesson, for marks; the name if empty
    example: tuple[int, int] = (0, 0)  # the cell whose explanation is shown by default

    @property
    def array(self) -> Array:
        """The numbers (rows, columns)."""
        return two_dimensions(self.values, f"the matrix {self.name}")

    @property
    def shown(self) -> list[int]:
        """The columns to show."""
        count = self.array.shape[1]
        if self.first is None or count <= self.first + 2:
            return list(range(count))
        return [*range(self.first), count - 1]

    def cells(self) -> list[list[str]]:
        """The formatted numbers."""
        return [[number(row[j], self.digits) for j in self.shown] for row in self.array.tolist()]

    def told_example(self) -> str:
        """The name of the example cell, followed by its computation: "Q Kᵀ [like, I]: 0.7 × 0.6 + 3.5 × 2.4 = 8.82"."""
        if self.how is None:
            return ""
        sides = zip((self.rows, self.columns), self.array.shape, self.example, strict=True)
        place = [label(names[i]) if names else str(i + 1) for names, size, i in sides if names or size > 1]
        where = f" [{', '.join(place)}]" if place else ""
        return f"{self.name}{where}: {self.how(*self.example)}"

    def data(self) -> dict[str, Any]:
        """The data for assets/lecture.js."""
        array, how = self.array, self.how
        explained = how and [[how(i, j) for j in self.shown] for i in range(len(array))]
        return {
            "kind": "matrix",
            "name": self.name,
            "key": self.key or self.name,
            "note": self.note,
            "cells": self.cells(),
            "values": array[:, self.shown].tolist(),
            "rows": list(self.rows),
            "columns": [self.columns[j] for j in self.shown] if self.columns else [],
            "cut": self.first if len(self.shown) < array.shape[1] else None,
            "shade": self.shade,
            "most": float(np.abs(array[np.isfinite(array)]).max(initial=0)),
            "how": explained or None,
            "example": self.told_example(),
            "marks": [[mark.matrix, mark.part] for mark in self.marks],
        }


class Equation:
    """Matrices and the signs between them: Q, "×", Kᵀ, "=", QKᵀ."""

    def __init__(self, *parts: Matrix | str) -> None:
        self.parts = parts

    def data(self) -> dict[str, Any]:
        """The data for assets/lecture.js."""
        parts = [part if isinstance(part, str) else part.data() for part in self.parts]
        return {"kind": "equation", "parts": parts}


@dataclass(frozen=True)
class Steps(Plain):
    """A text table: steps, their formulas or code, and the results."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    code: tuple[int, ...] = ()  # columns that are code
    numbers: tuple[int, ...] = ()  # columns that are numbers, aligned to the right


@dataclass(frozen=True)
class Series:
    """A line in a chart."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    dashed: bool = False  # theory, rather than a measurement
    like: str = ""  # a series whose colour it shares, without a label or numbers
    joined: bool = True  # a line connects the points; otherwise each point is a dot


@dataclass(frozen=True)
class Chart:
    """A line chart. A logarithmic axis omits numbers without a logarithm."""

    title: str
    across: str
    up: str
    series: Sequence[Series]
    log_x: bool = False
    log_y: bool = False
    digits: int | None = 3  # after the decimal point; None: three significant digits

    def colours(self) -> list[int]:
        """The colour index of each series. Raises ValueError if ``like`` names a missing series."""
        names = [series.name for series in self.series if not series.like]
        if unknown := [s.like for s in self.series if s.like and s.like not in names]:
            raise ValueError(f"the chart {self.title} has no series {unknown[0]!r}: it has {', '.join(names)}")
        return [names.index(series.like or series.name) for series in self.series]

    def table(self) -> Steps:
        """The numbers, one row per x value."""
        measured = [series for series in self.series if not series.like]
        computed = [dict(zip(series.x, series.y, strict=True)) for series in measured]
        rows = [
            (f"{x:g}", *(self._written(y[x]) if x in y else "" for y in computed))
            for x in sorted(set().union(*computed))
        ]
        head = (self.across, *(series.name for series in measured))
        return Steps(head, rows, numbers=tuple(range(len(head))))

    def _written(self, value: float) -> str:
        return scientific(value) if self.digits is None else number(value, self.digits)

    def curves(self) -> list[Curve]:
        """The series as drawn."""
        return [
            Curve(s.name, np.array(s.x, float), np.array(s.y, float), colour, s.dashed, not s.like, s.joined)
            for s, colour in zip(self.series, self.colours(), strict=True)
        ]

    def svg(self, width: float = 640.0) -> str:
        """The chart as the text of an SVG file, on white."""
        return draw(self.title, self.across, self.up, self.curves(), (self.log_x, self.log_y), width)

    def data(self) -> dict[str, Any]:
        """The data for assets/lecture.js."""
        return {
            "kind": "chart",
            "title": self.title,
            "across": self.across,
            "up": self.up,
            "series": [{**curve._asdict(), "x": curve.x.tolist(), "y": curve.y.tolist()} for curve in self.curves()],
            "logX": self.log_x,
            "logY": self.log_y,
            "table": self.table().data(),
        }


@dataclass(frozen=True)
class Line(Plain):
    """A sentence whose words are shaded by weights; ``asks`` is the index of the word that attends, or None."""

    words: Sequence[str]
    weights: Sequence[float]
    asks: int | None = None


@dataclass(frozen=True)
class Choice(Plain):
    """A choice of options, from a list or with a slider (``slider``). Plain text shows only the option at ``start``."""

    label: str
    names: Sequence[str]
    options: Sequence[Block]
    start: int = 0
    slider: bool = False

    def data(self) -> dict[str, Any]:
        """The data for assets/lecture.js."""
        return {**super().data(), "options": [option.data() for option in self.options]}


@dataclass(frozen=True)
class Checked(Plain):
    """A claim that was tested when the lesson was generated."""

    claim: str
    holds: bool


@dataclass(frozen=True)
class Positions:
    """The page of ``positional_encoding`` within a lesson, or its table in plain text."""

    view: Any  # a PositionalEncoding

    def data(self) -> dict[str, Any]:
        """The data for assets/lecture.js."""
        return {"kind": "positional", "data": self.view.data()}


@dataclass(frozen=True)
class Picture:
    """Numbers (rows, columns) as small squares with a caption below."""

    values: Tensor | Array
    caption: str = ""
    side: int | None = None  # of a square, in pixels; None: as in the other pictures

    @property
    def array(self) -> Array:
        """The numbers (rows, columns)."""
        return two_dimensions(self.values, f"the picture {self.caption}")


@dataclass(frozen=True)
class Pictures:
    """Small pictures in rows. Plain text shows only the title."""

    title: str
    pictures: Sequence[Picture]
    shade: Literal["ink", "signs"] = "ink"  # "ink": from 0 (paper) to ink; "signs": one colour above 0, another below 0
    across: int | None = None  # pictures per row; None: as many as fit
    side: int = 8  # of the square for a number, in pixels

    def data(self) -> dict[str, Any]:
        """The data for assets/lecture.js. The largest number in all pictures has the full colour."""
        arrays = [one.array for one in self.pictures]
        most = max(float(np.abs(array[np.isfinite(array)]).max(initial=0)) for array in arrays)
        pictures = [
            {
                "caption": one.caption,
                "columns": array.shape[1],
                "values": [float(f"{value:.4g}") for value in array.ravel().tolist()],  # the digits shown on a page
                "most": most,
                "side": one.side or self.side,
            }
            for one, array in zip(self.pictures, arrays, strict=True)
        ]
        head = {"kind": "pictures", "title": self.title, "shade": self.shade, "across": self.across}
        return {**head, "pictures": pictures}


@dataclass(frozen=True)
class Dense:
    """A layer that the page evaluates: f(W x + b) with weight (out, in), bias (out,), and f by name or none."""

    weight: Array
    bias: Array
    after: Literal["", "tanh", "sigmoid"] = ""

    def data(self) -> dict[str, str]:
        """The data for assets/plane.js."""
        return {"weight": coded(self.weight, "<f4"), "bias": coded(self.bias, "<f4"), "after": self.after}


@dataclass(frozen=True)
class Plane:
    """Points with labels, each with a small picture. The page decodes the point under the pointer."""

    title: str
    points: Array  # (N, 2)
    labels: Sequence[str]  # of each point
    pictures: Array  # (N, height, width), from 0 for paper to 1 for ink
    network: Sequence[Dense]  # maps the two coordinates of a point to height × width numbers from 0 to 1

    def data(self) -> dict[str, Any]:
        """The data for assets/plane.js."""
        return {
            "kind": "plane",
            "title": self.title,
            "points": coded(self.points, "<f4"),
            "labels": list(self.labels),
            "pictures": coded(np.rint(255 * np.clip(self.pictures, 0, 1)), "u1"),
            "shape": self.pictures.shape[1:],
            "network": [layer.data() for layer in self.network],
        }


Block = Text | Matrix | Equation | Steps | Chart | Line | Choice | Checked | Positions | Pictures | Plane


@dataclass(frozen=True)
class Section:
    """A heading and the blocks below it."""

    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Lesson(View):
    """A worked example that displays itself in notebooks. ``picture`` represents it in documents."""

    name: str
    title: str
    about: str
    sections: Sequence[Section] = field(default_factory=tuple)
    picture: Chart | None = None

    @property
    def introduction(self) -> str:
        """The text below the title."""
        return f"{self.about} {ROUNDED}".strip() if self.title else ""

    def page(self) -> Page:
        """A single file that works offline."""
        sections = [
            {"title": section.title, "blocks": [block.data() for block in section.blocks]} for section in self.sections
        ]
        data = {"title": self.title, "about": self.introduction, "sections": sections}
        scripts, styles = ("positional.js", "plane.js", "lecture.js"), ("positional.css", "plane.css", "lecture.css")
        return Page(self.title or "Worked example", data, scripts, styles, '<main id="lecture"></main>', height=900)

    def checks(self) -> list[Checked]:
        """All tested claims."""
        return [block for section in self.sections for block in section.blocks if isinstance(block, Checked)]

    def __repr__(self) -> str:
        return f"<{self.title or 'blocks'}: a worked example of {len(self.sections)} parts; .show() or .save('x.html')>"

    def _drawn(self) -> str:
        with suppress(ImportError):  # from the library that draws charts
            return "" if self.picture is None else self.picture.svg()
        return ""


def show(*blocks: Block) -> Lesson:
    """Some blocks, to display in a notebook or a chapter of the course."""
    return Lesson("blocks", "", "", [Section("", blocks)])


def two_dimensions(values: Tensor | Array, name: str) -> Array:
    """Numbers as an array. Raises ValueError unless they have two dimensions."""
    array = values.detach().numpy() if isinstance(values, Tensor) else np.asarray(values)
    if array.ndim != 2:
        raise ValueError(f"{name} has the shape {array.shape}: it needs two dimensions")
    return array


class Number(float):
    """A number as printed in books: 1.20 (the default), −0.50, −∞, 15 %. Zeros have no sign. A "(" before the format
    encloses negative numbers in brackets, for sums and products."""

    def __format__(self, form: str) -> str:
        shape = form.removeprefix("(") or ".2f"
        if not np.isfinite(self):
            text = "NaN" if np.isnan(self) else "∞" if self > 0 else "−∞"
        else:
            text = super().__format__(f"z{shape}").replace("-", "−").replace("%", " %")
        return f"({text})" if form.startswith("(") and text.startswith("−") else text


def number(value: SupportsFloat, digits: int = 2) -> str:
    """A number as printed in books."""
    return f"{Number(value):.{digits}f}"


def scientific(value: float) -> str:
    """A number of any size with three significant digits: 0.0123, 1.23e−10, 4.56e8."""
    size = abs(value)
    if not size or not np.isfinite(size):
        return number(value)
    if 1e-3 <= size < 1e4:
        return number(value, max(0, 2 - int(np.floor(np.log10(size)))))
    mantissa, exponent = f"{value:.2e}".split("e")
    return f"{mantissa}e{int(exponent)}".replace("-", "−")


def term(value: SupportsFloat, digits: int = 2) -> str:
    """A number in a sum or a product, with brackets if negative."""
    return f"{Number(value):(.{digits}f}"


def cellwise(form: str, *values: Tensor | Array) -> Callable[[int, int], str]:
    """Explain cell (i, j) with a format and the matrices that provide its numbers: "{} − {:(.1f} = {}". Matrices with
    one row or column are broadcast."""
    tables = np.broadcast_arrays(*(value.numpy() if isinstance(value, Tensor) else value for value in values))
    return lambda i, j: form.format(*(Number(table[i, j]) for table in tables))


def product(left: Array, right: Array, digits: tuple[int, int] = (1, 1), result: int = 2) -> Callable[[int, int], str]:
    """Explain cell (i, j) of ``left @ right``: 1.3 × 0.6 + 0.8 × 2.4 = 2.70. ``digits`` are the digits of left and
    right, and ``result`` those of the product."""
    first, second = digits

    def how(i: int, j: int) -> str:
        pairs = list(zip(left[i].tolist(), right[:, j].tolist(), strict=True))
        total = number(float(left[i] @ right[:, j]), result)
        if len(pairs) > 8:
            return f"the sum of {len(pairs)} products = {total}"
        return " + ".join(f"{term(a, first)} × {term(b, second)}" for a, b in pairs) + f" = {total}"

    return how


def times(left: Matrix, right: Matrix, name: str, digits: int = 2, **more: Any) -> Equation:
    """left × right = their product, whose cells have explanations. ``more`` are other fields of that matrix."""
    how = product(left.array, right.array, (left.digits, right.digits), digits)
    marks = (Mark(left.key or left.name, "row"), Mark(right.key or right.name, "column"))
    values = left.array @ right.array
    result = Matrix(name, values, left.rows, right.columns, digits, how=how, marks=marks, **more)
    return Equation(left, "×", right, "=", result)


def softmax_told(scores: Array, digits: int = 2, result: int = 2) -> Callable[[int, int], str]:
    """Explain cell (i, j) of a softmax over each row."""

    def how(i: int, j: int) -> str:
        row = np.exp(scores[i].astype(np.float64))
        terms = " + ".join(f"e^{number(x, digits)}" for x in scores[i].tolist())
        share = number(float(row[j] / row.sum()), result)
        return f"e^{number(float(scores[i, j]), digits)} / ({terms}) = {share}"

    return how
