"""The curves as a vector picture for a paper: no library, every colour written out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..numbers import Floats
from ..palette import LIGHT
from ..vector import LINE, QUIET, SERIES, Drawing, cut
from .curves import bounds, log_ticks, on_axis, smooth, thin, ticks
from .runs import AXES, Run, Series

UNSMOOTHED = ("learning rate",)  # it has no noise, and its corners are meant
SERIF = "'Iowan Old Style', 'Palatino Linotype', Palatino, Charter, Georgia, 'DejaVu Serif', serif"
_LEFT, _RIGHT, _TOP, _BOTTOM, _GAP, _EDGE = 44.0, 8.0, 26.0, 22.0, 18.0, 8.0  # around a chart's field
_NARROWEST = 100.0  # a chart with what is around it
_LETTER = 5.3  # the width of one, about, in small type
_LONGEST = 40  # characters of a name
_UNITS = ((3600.0, "hours"), (60.0, "minutes"), (1.0, "seconds"))


def draw(
    runs: Sequence[Run],
    charts: Sequence[str],
    over: str,
    smoothing: float,
    log: frozenset[str],
    columns: int,
    width: float,
    title: str,
) -> str:
    """The charts named, in a grid, with the runs' names above; see ``TrainingView.svg``. A raw curve stands faint
    behind a smoothed one."""
    if over not in AXES:
        raise ValueError(f"curves are drawn over {', '.join(AXES)}, not {over!r}")
    if columns < 1 or not smoothing >= 0:
        raise ValueError("there is a column at least, and smoothing is not negative")
    columns = min(columns, max(len(charts), 1))
    wide = (width - 2 * _EDGE - _GAP * (columns - 1)) / columns
    if not wide >= _NARROWEST:
        least = columns * (_NARROWEST + _GAP) - _GAP + 2 * _EDGE
        raise ValueError(f"width is {width:g}, and must be {least:g} at least for charts side by side")
    drawing = Drawing(width, 0, title or "Training")
    y = _heading(drawing, runs, title)
    tall = _TOP + _BOTTOM + (wide - _LEFT - _RIGHT) * 0.5
    x_range = _x_range([s.places[over] for run in runs for s in run.series if over in s.places])
    for i, name in enumerate(charts):
        left, top = _EDGE + (wide + _GAP) * (i % columns), y + (tall + _GAP) * (i // columns)
        curves = list(_curves(name, runs, over, smoothing))
        y_range = bounds([curve.front for curve in curves], name in log)
        inner = (left + _LEFT, left + wide - _RIGHT, top + _TOP, top + tall - _BOTTOM)
        _Chart(drawing, *inner, x_range, y_range, name in log).draw(name, curves, over)
    if not charts:
        drawing.text(_EDGE, y + 12, "Nothing has been logged yet.", size=10, colour=QUIET)
    rows = math.ceil(len(charts) / columns)
    drawing.height = y + (rows * (tall + _GAP) - _GAP if rows else 20) + _EDGE
    return drawing.svg()


def _heading(drawing: Drawing, runs: Sequence[Run], title: str) -> float:
    """Title and runs; where the charts begin."""
    y = _EDGE
    if title:
        drawing.text(_EDGE, y + 13, title, size=14, font_family=SERIF, font_weight=600)
        y += 24
    if len(runs) == 1:
        return y
    x = _EDGE
    for i, run in enumerate(runs):
        name = cut(run.name, _LONGEST)
        long = 24 + 6 * len(name)
        if x > _EDGE and x + long > drawing.width:
            x, y = _EDGE, y + 15
        drawing.line([(x, y + 7), (x + 14, y + 7)], LIGHT.nth(i), 2, _dash(i))
        drawing.text(x + 19, y + 10.5, name, size=10)
        x += long + 12
    return y + 26


def _dash(run: int) -> str | None:
    """From the ninth run on, colours come again, with dashes."""
    return f"{2 + 3 * (run // len(SERIES))} 2" if run >= len(SERIES) else None


def _x_range(values: Sequence[Floats]) -> tuple[float, float]:
    together = np.concatenate([*values, np.empty(0)])
    if not together.size:
        return 0.0, 1.0
    low, high = float(together.min()), float(together.max())
    low = 0.0 if 0 <= low < 0.1 * high else low
    return (low, high) if high > low else (low - 1, high + 1)


class _Curve(NamedTuple):
    """A series in a chart."""

    run: int
    series: Series
    x: Floats  # over what it is drawn
    raw: Floats  # its values,
    front: Floats  # and these or their means, which stand in front


def _curves(name: str, runs: Sequence[Run], over: str, smoothing: float) -> Iterator[_Curve]:
    for i, run in enumerate(runs):
        for series in run.series:
            if series.name == name and over in series.places:
                raw = front = series.values
                if smoothing and not series.evaluated and series.name not in UNSMOOTHED:
                    front = smooth(series.places["step"], raw, smoothing)
                yield _Curve(i, series, series.places[over], raw, front)


@dataclass(frozen=True)
class _Chart:
    """A chart: the field in which its curves are drawn, and how their numbers become places in it."""

    drawing: Drawing
    left: float
    right: float
    top: float
    bottom: float
    x_range: tuple[float, float]
    y_range: tuple[float, float]
    log: bool

    def x(self, values: Floats) -> Floats:
        low, high = self.x_range
        return self.left + (values - low) / (high - low) * (self.right - self.left)

    def y(self, values: Floats) -> Floats:
        """NaN for those without a place."""
        low, high = self.y_range
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.log:
                values, low, high = np.log(np.where(values > 0, values, np.nan)), math.log(low), math.log(high)
            return self.bottom - (values - low) / (high - low) * (self.bottom - self.top)

    def draw(self, name: str, curves: list[_Curve], over: str) -> None:
        drawing, above = self.drawing, self.top - _TOP + 12
        drawing.text(self.left - _LEFT, above, cut(name, _LONGEST), size=11, font_family=SERIF, font_weight=600)
        if {curve.series.evaluated for curve in curves} == {True, False}:
            drawing.text(self.right, above, "line: training · dots: evaluation", "end", 9, QUIET)
        self.draw_axes(over)
        clip = f"field-{self.left:.0f}-{self.top:.0f}"
        drawing.open("clipPath", id=clip)
        wide, tall = self.right - self.left + 4, self.bottom - self.top + 5
        drawing.add("rect", x=self.left, y=self.top - 4, width=wide, height=tall)
        drawing.close("clipPath")
        drawing.open("g", clip_path=f"url(#{clip})")
        for curve in curves:
            if curve.series.evaluated:
                self.draw_line(curve, curve.raw, 1.0, 0.5)
                self.draw_dots(curve)
            else:
                if curve.front is not curve.raw:
                    self.draw_line(curve, curve.raw, 0.8, 0.3)
                self.draw_line(curve, curve.front, 1.4)
            self.draw_crosses(curve)
        drawing.close("g")

    def draw_axes(self, over: str) -> None:
        drawing = self.drawing
        for tick in log_ticks(*self.y_range) if self.log else ticks(*self.y_range, 4):
            y = float(self.y(np.array(tick)))
            drawing.line([(self.left, y), (self.right, y)], LINE, 0.7)
            drawing.text(self.left - 6, y + 3.2, on_axis(tick), "end", 9, QUIET)
        low, high = self.x_range
        unit, word = 1.0, over
        if over == "seconds":
            unit, word = next(((u, w) for u, w in _UNITS if high - low >= 2 * u), _UNITS[-1])
        drawing.line([(self.left, self.bottom), (self.right, self.bottom)], QUIET, 0.7)
        drawing.text(self.right, self.bottom + 13, word, "end", 9, QUIET)
        for tick in ticks(low / unit, high / unit, 5):
            x, text = float(self.x(np.array(tick * unit))), on_axis(tick)
            drawing.line([(x, self.bottom), (x, self.bottom + 3)], QUIET, 0.7)
            if x + _LETTER / 2 * len(text) < self.right - _LETTER * len(word) - 6:  # else the word stands there
                drawing.text(x, self.bottom + 13, text, "middle", 9, QUIET)

    def draw_line(self, curve: _Curve, values: Floats, width: float, opacity: float | None = None) -> None:
        """A line through some values, that stops where one is none, or has no place on the axis."""
        self.drawing.open("g", opacity=opacity)
        kept = thin(curve.x, values, int(self.right - self.left))
        places = np.stack([self.x(curve.x[kept]), self.y(values[kept])], 1)
        for part in np.split(places, np.flatnonzero(~np.isfinite(places[:, 1]))):
            part = part[np.isfinite(part[:, 1])]
            if len(part) == 1:
                self.draw_dot(curve, float(part[0, 0]), float(part[0, 1]), width)
            elif len(part):
                self.drawing.line(map(tuple, part.tolist()), LIGHT.nth(curve.run), width, _dash(curve.run))
        self.drawing.close("g")

    def draw_dots(self, curve: _Curve) -> None:
        """Evaluations: a dot each, and a ring for the best."""
        best = curve.series.best[-1] if curve.series.best else -1
        kept = thin(curve.x, curve.raw, int(self.right - self.left))
        for i in [*kept[kept != best].tolist(), *[best] * (best >= 0)]:
            x, y = float(self.x(curve.x[i])), float(self.y(curve.raw[i]))
            if math.isfinite(y):
                self.draw_dot(curve, x, y, 3.2 if i == best else 2.2, ring=i == best)

    def draw_dot(self, curve: _Curve, x: float, y: float, radius: float, ring: bool = False) -> None:
        colour = LIGHT.nth(curve.run)
        look = {"fill": LIGHT.paper, "stroke": colour, "stroke_width": 1.6} if ring else {"fill": colour}
        self.drawing.add("circle", cx=x, cy=y, r=radius, **look)

    def draw_crosses(self, curve: _Curve) -> None:
        """At the foot, where values are not finite numbers: a cross, and a line as far as they go on."""
        bad = np.flatnonzero(~np.isfinite(curve.raw))
        y = self.bottom - 4
        for part in np.split(bad, np.flatnonzero(np.diff(bad) > 1) + 1) if bad.size else []:
            first, last = self.x(curve.x[part[[0, -1]]]).tolist()
            for rise in (2.5, -2.5):
                self.drawing.line([(first - 2.5, y - rise), (first + 2.5, y + rise)], LIGHT.wrong, 1)
            if last > first:
                self.drawing.line([(first, y), (last, y)], LIGHT.wrong, 1)
