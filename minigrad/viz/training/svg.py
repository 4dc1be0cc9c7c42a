"""The curves as a vector picture for a paper: no library, every colour written out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

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


@dataclass(frozen=True)
class _Curve:
    """A series in a chart."""

    run: int
    series: Series
    x: Floats  # over what it is drawn
    raw: Floats  # its values,
    front: Floats  # and these or their means, which stand in front


@dataclass(frozen=True)
class _Field:
    """Where a chart's curves are drawn, and how their numbers become places; NaN for those without one."""

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
        low, high = self.y_range
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.log:
                part = np.log(np.where(values > 0, values, np.nan) / low) / math.log(high / low)
            else:
                part = (values - low) / (high - low)
        places: Floats = self.bottom - part * (self.bottom - self.top)
        return places


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
        curves = _curves(name, runs, over, smoothing)
        y_range = bounds([curve.front for curve in curves], name in log)
        inner = (left + _LEFT, left + wide - _RIGHT, top + _TOP, top + tall - _BOTTOM)
        _chart(drawing, name, curves, _Field(*inner, x_range, y_range, name in log), over)
    if not charts:
        drawing.text(_EDGE, y + 12, "Nothing has been logged yet.", size=10, colour=QUIET)
    rows = math.ceil(len(charts) / columns)
    drawing.height = y + (rows * (tall + _GAP) - _GAP if rows else 20) + _EDGE
    return drawing.svg()


def _dash(run: int) -> str | None:
    """From the ninth run on, colours come again, with dashes."""
    return f"{2 + 3 * (run // len(SERIES))} 2" if run >= len(SERIES) else None


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


def _chart(drawing: Drawing, name: str, curves: list[_Curve], field: _Field, over: str) -> None:
    """One chart around the field of its curves."""
    left, top = field.left - _LEFT, field.top - _TOP
    drawing.text(left, top + 12, cut(name, _LONGEST), size=11, font_family=SERIF, font_weight=600)
    if {curve.series.evaluated for curve in curves} == {True, False}:
        drawing.text(field.right, top + 12, "line: training · dots: evaluation", "end", 9, QUIET)
    _y_axis(drawing, field)
    _x_axis(drawing, field, over)
    clip = f"field-{left:.0f}-{top:.0f}"
    drawing.open("clipPath", id=clip)
    wide, tall = field.right - field.left + 4, field.bottom - field.top + 5
    drawing.add("rect", x=field.left, y=field.top - 4, width=wide, height=tall)
    drawing.close("clipPath")
    drawing.open("g", clip_path=f"url(#{clip})")
    for curve in curves:
        (_dots if curve.series.evaluated else _line)(drawing, field, curve)
        _crosses(drawing, field, curve)
    drawing.close("g")


def _curves(name: str, runs: Sequence[Run], over: str, smoothing: float) -> list[_Curve]:
    curves = []
    for i, run in enumerate(runs):
        for series in run.series:
            if series.name == name and over in series.places:
                raw = front = series.values
                if smoothing and not series.evaluated and series.name not in UNSMOOTHED:
                    front = smooth(series.places["step"], raw, smoothing)
                curves.append(_Curve(i, series, series.places[over], raw, front))
    return curves


def _line(drawing: Drawing, field: _Field, curve: _Curve) -> None:
    """Training: a line, and behind a smoothed one, faint, what it was made from."""
    if curve.front is not curve.raw:
        drawing.open("g", opacity=0.3)
        _strokes(drawing, field, curve, curve.raw, 0.8)
        drawing.close("g")
    _strokes(drawing, field, curve, curve.front, 1.4)


def _dots(drawing: Drawing, field: _Field, curve: _Curve) -> None:
    """Evaluations: a dot each, a ring for the best, and a faint line between them."""
    drawing.open("g", opacity=0.5)
    _strokes(drawing, field, curve, curve.raw, 1.0)
    drawing.close("g")
    best = curve.series.best[-1] if curve.series.best else -1
    kept = thin(curve.x, curve.raw, int(field.right - field.left))
    left, up = field.x(curve.x[kept]), field.y(curve.raw[kept])
    for i, x, y in zip(kept.tolist(), left.tolist(), up.tolist(), strict=True):
        if math.isfinite(y) and i != best:
            drawing.add("circle", cx=x, cy=y, r=2.2, fill=LIGHT.nth(curve.run))
    if best >= 0 and math.isfinite(y := float(field.y(curve.raw[best]))):
        ring: dict[str, Any] = {"r": 3.2, "fill": LIGHT.paper, "stroke": LIGHT.nth(curve.run), "stroke_width": 1.6}
        drawing.add("circle", cx=float(field.x(curve.x[best])), cy=y, **ring)


def _strokes(drawing: Drawing, field: _Field, curve: _Curve, values: Floats, width: float) -> None:
    """A line through some values, that stops where one is none, or has no place on the axis."""
    kept = thin(curve.x, values, int(field.right - field.left))
    places = np.stack([field.x(curve.x[kept]), field.y(values[kept])], 1)
    gaps = np.flatnonzero(~np.isfinite(places[:, 1]))
    for part in np.split(places, gaps):
        part = part[np.isfinite(part[:, 1])]
        if len(part) == 1:
            drawing.add("circle", cx=float(part[0, 0]), cy=float(part[0, 1]), r=width, fill=LIGHT.nth(curve.run))
        elif len(part):
            drawing.line(map(tuple, part.tolist()), LIGHT.nth(curve.run), width, _dash(curve.run))


def _crosses(drawing: Drawing, field: _Field, curve: _Curve) -> None:
    """At the foot, where values are not finite numbers: a cross, and a line as far as they go on."""
    bad = np.flatnonzero(~np.isfinite(curve.raw))
    y = field.bottom - 4
    for part in np.split(bad, np.flatnonzero(np.diff(bad) > 1) + 1) if bad.size else []:
        first, last = field.x(curve.x[part[[0, -1]]]).tolist()
        for rise in (2.5, -2.5):
            drawing.line([(first - 2.5, y - rise), (first + 2.5, y + rise)], LIGHT.wrong, 1)
        if last > first:
            drawing.line([(first, y), (last, y)], LIGHT.wrong, 1)


def _x_range(values: Sequence[Floats]) -> tuple[float, float]:
    filled = [v for v in values if v.size]
    if not filled:
        return 0.0, 1.0
    low, high = min(float(v[0]) for v in filled), max(float(v[-1]) for v in filled)
    low = 0.0 if 0 <= low < 0.1 * high else low
    return (low, high) if high > low else (low - 1, high + 1)


def _y_axis(drawing: Drawing, field: _Field) -> None:
    for tick in log_ticks(*field.y_range) if field.log else ticks(*field.y_range, 4):
        y = float(field.y(np.array(tick)))
        drawing.line([(field.left, y), (field.right, y)], LINE, 0.7)
        drawing.text(field.left - 6, y + 3.2, on_axis(tick), "end", 9, QUIET)


def _x_axis(drawing: Drawing, field: _Field, over: str) -> None:
    low, high = field.x_range
    unit, word = 1.0, over
    if over == "seconds":
        unit, word = next(((u, w) for u, w in _UNITS if high - low >= 2 * u), _UNITS[-1])
    drawing.line([(field.left, field.bottom), (field.right, field.bottom)], QUIET, 0.7)
    drawing.text(field.right, field.bottom + 13, word, "end", 9, QUIET)
    for tick in ticks(low / unit, high / unit, 5):
        x, text = float(field.x(np.array(tick * unit))), on_axis(tick)
        drawing.line([(x, field.bottom), (x, field.bottom + 3)], QUIET, 0.7)
        if x + _LETTER / 2 * len(text) < field.right - _LETTER * len(word) - 6:  # else the word stands there
            drawing.text(x, field.bottom + 13, text, "middle", 9, QUIET)
