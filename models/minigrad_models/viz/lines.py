"""Charts of lines as vector pictures: axes with round numbers, a field, and a whole picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from minigrad.viz.numbers import Floats
from minigrad.viz.palette import LIGHT
from minigrad.viz.vector import LINE, QUIET, Drawing, cut

SERIF = "'Iowan Old Style', 'Palatino Linotype', Palatino, Charter, Georgia, 'DejaVu Serif', serif"
LETTER = 5.3  # the width of one, about, in small type
_TITLE, _NAME, _SMALL = 14, 12, 10  # sizes of type in a picture of one chart
_NAMED = 6.2  # the width of a letter of a curve's name, about
_LONGEST = 40  # characters of a name
_LEFT, _TOP, _BOTTOM, _EDGE, _GAP = 52.0, 46.0, 40.0, 8.0, 12.0  # around the field, and before names
_MOST_DOTS = 32  # points of a curve, up to which each has a dot


@dataclass(frozen=True)
class Field:
    """The part of a drawing in which curves lie, and how numbers become places in it."""

    drawing: Drawing
    left: float
    right: float
    top: float
    bottom: float
    across: Axis
    up: Axis
    size: float = 9  # of the numbers beside it

    def x(self, values: Floats) -> Floats:
        """Places across; NaN for numbers without one."""
        return self.across.places(values, self.left, self.right)

    def y(self, values: Floats) -> Floats:
        """Places from below upwards; NaN for numbers without one."""
        return self.up.places(values, self.bottom, self.top)

    def axes(self, name: str) -> None:
        """Round numbers at the left and below; ``name`` is of the axis across."""
        drawing, letter = self.drawing, LETTER * self.size / 9
        for tick in self.up.ticks(4):
            y = float(self.y(np.array(tick)))
            drawing.line([(self.left, y), (self.right, y)], LINE, 0.7)
            drawing.text(self.left - 6, y + 3.2, on_axis(tick), "end", self.size, QUIET)
        drawing.line([(self.left, self.bottom), (self.right, self.bottom)], QUIET, 0.7)
        under = self.bottom + 4 + self.size
        drawing.text(self.right, under, name, "end", self.size, QUIET)
        for tick in self.across.ticks(5):
            x, text = float(self.x(np.array(tick))), on_axis(tick)
            drawing.line([(x, self.bottom), (x, self.bottom + 3)], QUIET, 0.7)
            if x + letter / 2 * len(text) < self.right - letter * len(name) - 6:  # else the name stands there
                drawing.text(x, under, text, "middle", self.size, QUIET)

    def line(self, x: Floats, y: Floats, colour: str, width: float, dash: str | None = None) -> None:
        """A line through points, that stops where one is none, or has no place on an axis."""
        places = np.stack([self.x(x), self.y(y)], 1)
        for part in np.split(places, np.flatnonzero(~np.isfinite(places).all(1))):
            part = part[np.isfinite(part).all(1)]
            if len(part) == 1:
                self.drawing.add("circle", cx=float(part[0, 0]), cy=float(part[0, 1]), r=width, fill=colour)
            elif len(part):
                self.drawing.line(map(tuple, part.tolist()), colour, width, dash)

    def dots(self, x: Floats, y: Floats, colour: str, radius: float) -> None:
        """A dot at each point that has a place."""
        for across, up in zip(self.x(x).tolist(), self.y(y).tolist(), strict=True):
            if math.isfinite(across + up):
                self.drawing.add("circle", cx=across, cy=up, r=radius, fill=colour)


class Curve(NamedTuple):
    """A line of a chart."""

    name: str
    x: Floats
    y: Floats
    colour: int  # its number in the palette
    dashed: bool = False  # without dots: a theory's, say
    named: bool = True  # its name stands at its end
    joined: bool = True  # a line goes from point to point; else each is a dot


def draw(
    title: str,
    across: str,
    up: str,
    curves: Sequence[Curve],
    log: tuple[bool, bool] = (False, False),
    width: float = 640.0,
) -> str:
    """A chart ``width`` pixels wide as the text of an SVG file, on white. ``across`` and ``up`` name the axes, ``log``
    says which are logarithmic. Raises ValueError: there is no curve, or hardly room for one beside the names."""
    names = [cut(curve.name, _LONGEST) for curve in curves if curve.named]
    right = width - _EDGE - _GAP - _NAMED * max(map(len, names), default=0)
    if not curves or right - _LEFT < 100:
        raise ValueError("there is no curve to draw" if not curves else f"a width of {width:g} has no room for curves")
    tall = 0.55 * (right - _LEFT)
    drawing = Drawing(width, _TOP + tall + _BOTTOM, title)
    ranges = bounds([curve.x for curve in curves], log[0]), bounds([curve.y for curve in curves], log[1])
    axes = Axis(*ranges[0], log[0]), Axis(*ranges[1], log[1])
    field = Field(drawing, _LEFT, right, _TOP, _TOP + tall, *axes, size=_SMALL)
    drawing.text(_EDGE, 20, title, size=_TITLE, font_family=SERIF, font_weight=600)
    drawing.text(_EDGE, 36, up, size=_SMALL, colour=QUIET)
    field.axes(across)
    inside = f"field-{field.left:.0f}-{field.top:.0f}"  # curves end at the field's edges
    drawing.open("clipPath", id=inside)
    drawing.add(
        "rect", x=field.left, y=field.top - 4, width=right - field.left + 4, height=field.bottom - field.top + 5
    )
    drawing.close("clipPath")
    drawing.open("g", clip_path=f"url(#{inside})")
    for curve in curves:
        colour = LIGHT.nth(curve.colour)
        if curve.joined:
            field.line(curve.x, curve.y, colour, 1.2 if curve.dashed else 1.6, "4 3" if curve.dashed else None)
        if not curve.joined or (not curve.dashed and len(curve.x) <= _MOST_DOTS):
            field.dots(curve.x, curve.y, colour, 2.2)
    drawing.close("g")
    # Names stand beside the ends of their curves, as near as they can without touching.
    named = [curve for curve in curves if curve.named]
    places = [field.y(curve.y) for curve in named]
    ends = [float(y[np.isfinite(y)][-1]) if np.isfinite(y).any() else field.bottom for y in places]
    order = np.argsort(ends, kind="stable").tolist()
    for i, y in zip(order, apart([ends[i] for i in order], _NAME + 2, field.bottom + _BOTTOM - 12), strict=True):
        colour = LIGHT.nth(named[i].colour)
        drawing.text(right + _GAP, y + 4, names[i], size=_NAME, colour=colour, font_family=SERIF)
    return drawing.svg()


def apart(places: Sequence[float], gap: float, last: float) -> list[float]:
    """Ascending places, moved until neighbours are ``gap`` apart: on, or back where they would lie beyond ``last``."""
    moved: list[float] = []
    for place in places:
        moved.append(max(place, moved[-1] + gap) if moved else place)
    for i in range(len(moved) - 1, -1, -1):
        moved[i] = min(moved[i], last)
        last = moved[i] - gap
    return moved


ENDS = (-1.0, 0.0, 1.0, 100.0)  # of what many quantities can be: margins do not pass them


@dataclass(frozen=True)
class Axis:
    """The numbers from ``low`` to ``high``; ``log``: by their logarithms."""

    low: float
    high: float
    log: bool = False

    def places(self, values: Floats, start: float, stop: float) -> Floats:
        """Where values lie if the axis goes from ``start`` to ``stop``; NaN for those without a place."""
        low, high = self.low, self.high
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.log:
                values, low, high = np.log(np.where(values > 0, values, np.nan)), math.log(low), math.log(high)
            return start + (values - low) / (high - low) * (stop - start)

    def ticks(self, about: int) -> list[float]:
        """Round numbers along the axis; of a logarithmic one ``log_ticks``."""
        return log_ticks(self.low, self.high) if self.log else ticks(self.low, self.high, about)


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers (1, 2 or 5 times a power of ten apart) within a range."""
    if not high > low:
        return [low]
    rough = (high - low) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = min((f * power for f in (1, 2, 5, 10)), key=lambda s: abs(math.log(s / rough)))
    first = math.ceil(low / step - 1e-9)
    return [float(f"{k * step:.12g}") for k in range(first, math.floor(high / step + 1e-9) + 1)]


def log_ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Powers of ten in a range of positive numbers; with 2 and 5 times them where these are few."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in ((1, 2, 5), (1, 3), (1,)):
        chosen = [f * 10.0**p for p in powers for f in factors if low <= f * 10.0**p <= high]
        if len(chosen) <= most:
            return chosen if len(chosen) > 2 else ticks(low, high, 4)
    return chosen[:: math.ceil(len(chosen) / most)]


def bounds(values: list[Floats], log: bool) -> tuple[float, float]:
    """The range of an axis that shows all these values: finite ones, on a logarithmic axis positive ones."""
    together = np.concatenate(values) if values else np.empty(0)
    together = together[np.isfinite(together) & (together > 0 if log else True)]
    if not together.size:
        return (0.1, 1.0) if log else (0.0, 1.0)
    low, high = float(together.min()), float(together.max())
    same = high - low <= 1e-9 * max(abs(low), abs(high))  # but for rounding
    if log:
        margin = 2.0 if same else (high / low) ** 0.04
        return low / margin, high * margin
    if same and abs(high) < 1e-12:
        return 0.0, 1.0
    margin = abs(low) / 10 if same else 0.04 * (high - low)
    # What is never below 0 has an axis from there on, and a share or a cosine one that ends at 1.
    below = (end for end in ENDS if end < low or (end == low and not same))
    start = 0.0 if 0 <= low < 0.15 * high else max([low - margin, *below])
    return start, min([high + margin, *(end for end in ENDS if end >= high)])


def on_axis(value: float) -> str:
    """A number as it stands at an axis: 0.25, 1,500, 20k, 3M, 2.5e-5."""
    size = abs(value)
    if size >= 1e9 or 0 < size < 1e-4:
        mantissa, exponent = f"{value:.2e}".split("e")
        return f"{float(mantissa):g}e{int(exponent)}"
    for unit, letter in ((1e6, "M"), (1e3, "k")):
        if size >= 10 * unit or (unit == 1e6 and size >= unit):
            return f"{value / unit:g}{letter}"
    return f"{value:,.6g}"
