"""The curves as a vector picture for a paper: no library, every colour written out. And the arithmetic of curves:
smoothing, and fewer points with the same shape."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minigrad.viz.numbers import Floats
from minigrad.viz.palette import LIGHT
from minigrad.viz.vector import QUIET, SERIES, Drawing, cut

from ..lines import SERIF, Axis, Field
from .runs import AXES, Run, Series

UNSMOOTHED = ("learning rate",)  # it has no noise, and its corners are meant
_LEFT, _RIGHT, _TOP, _BOTTOM, _GAP, _EDGE = 44.0, 8.0, 26.0, 22.0, 18.0, 8.0  # around a chart's field
_NARROWEST = 100.0  # a chart with what is around it
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
    x_axis = Axis.of([s.places[over] for run in runs for s in run.series if over in s.places])
    for i, name in enumerate(charts):
        left, top = _EDGE + (wide + _GAP) * (i % columns), y + (tall + _GAP) * (i // columns)
        curves = list(_curves(name, runs, over, smoothing))
        y_axis = Axis.of([curve.y for curve in curves], name in log)
        inner = (left + _LEFT, left + wide - _RIGHT, top + _TOP, top + tall - _BOTTOM)
        _Chart(drawing, *inner, x_axis, y_axis).draw(name, curves, over)
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


class _Curve(NamedTuple):
    """A series in a chart: its run's number, x over which it is drawn, and y in front, its values or their means."""

    run: int
    series: Series
    x: Floats
    y: Floats


def _curves(name: str, runs: Sequence[Run], over: str, smoothing: float) -> Iterator[_Curve]:
    for i, run in enumerate(runs):
        for series in run.series:
            if series.name == name and over in series.places:
                y = series.values
                if smoothing and not series.evaluated and series.name not in UNSMOOTHED:
                    y = smooth(series.places["step"], y, smoothing)
                yield _Curve(i, series, series.places[over], y)


class _Chart(Field):
    """A chart of trainings."""

    def draw(self, name: str, curves: list[_Curve], over: str) -> None:
        drawing, above = self.drawing, self.top - _TOP + 12
        drawing.text(self.left - _LEFT, above, cut(name, _LONGEST), size=11, font_family=SERIF, font_weight=600)
        if {curve.series.evaluated for curve in curves} == {True, False}:
            drawing.text(self.right, above, "line: training · dots: evaluation", "end", 9, QUIET)
        unit, word = 1.0, over
        if over == "seconds":
            span = self.across.high - self.across.low
            unit, word = next(((u, w) for u, w in _UNITS if span >= 2 * u), _UNITS[-1])
        self.axes(word, unit)
        with self.clipped():
            for curve in curves:
                values = curve.series.values
                if curve.series.evaluated:
                    self.draw_line(curve, values, 1.0, 0.5)
                    self.draw_dots(curve)
                else:
                    if curve.y is not values:
                        self.draw_line(curve, values, 0.8, 0.3)
                    self.draw_line(curve, curve.y, 1.4)
                self.draw_crosses(curve)

    def draw_line(self, curve: _Curve, values: Floats, width: float, opacity: float | None = None) -> None:
        """A line through some values, with as few points as show its shape."""
        self.drawing.open("g", opacity=opacity)
        kept = thin(curve.x, values, int(self.right - self.left))
        self.line(curve.x[kept], values[kept], LIGHT.nth(curve.run), width, _dash(curve.run))
        self.drawing.close("g")

    def draw_dots(self, curve: _Curve) -> None:
        """Evaluations: a dot each, and a ring for the best, on top."""
        best = curve.series.best[-1:]
        kept = thin(curve.x, curve.y, int(self.right - self.left))
        for i in [*kept[~np.isin(kept, best)].tolist(), *best]:
            x, y = float(self.x(curve.x[i])), float(self.y(curve.y[i]))
            if math.isfinite(y):
                self.dot(x, y, LIGHT.nth(curve.run), 3.2 if i in best else 2.2, ring=i in best)

    def draw_crosses(self, curve: _Curve) -> None:
        """At the foot, where values are not finite numbers: a cross, and a line as far as they go on."""
        bad = np.flatnonzero(~np.isfinite(curve.series.values))
        y = self.bottom - 4
        for part in np.split(bad, np.flatnonzero(np.diff(bad) > 1) + 1) if bad.size else []:
            first, last = self.x(curve.x[part[[0, -1]]]).tolist()
            for rise in (2.5, -2.5):
                self.drawing.line([(first - 2.5, y - rise), (first + 2.5, y + rise)], LIGHT.wrong, 1)
            if last > first:
                self.drawing.line([(first, y), (last, y)], LIGHT.wrong, 1)


def smooth(x: Floats, y: Floats, width: float) -> Floats:
    """Means of ``y`` weighed by exp(−|distance in x| / width), by a recursion to each side: no lag, and right where
    points are uneven. Values that are not finite have no weight, and stay as they are. ``x`` ascends."""
    if width <= 0 or len(y) < 3:
        return y
    known = np.isfinite(y)
    decay = np.exp(-np.diff(x) / width)
    sums = np.stack([np.where(known, y, 0.0), known.astype(np.float64)])
    total = _running(sums, decay) + _running(sums[:, ::-1], decay[::-1])[:, ::-1] - sums
    smoothed: Floats = np.where(known, total[0] / np.where(known, total[1], 1.0), y)
    return smoothed


def _running(rows: Floats, decay: Floats) -> Floats:
    """s[i] = rows[i] + decay[i−1] · s[i−1], of two rows at once."""
    values, weights = rows.tolist()
    a, b = values[0], weights[0]
    sums = [(a, b)]
    for value, weight, d in zip(values[1:], weights[1:], decay.tolist(), strict=True):
        a, b = value + d * a, weight + d * b
        sums.append((a, b))
    return np.array(sums).T


def thin(x: Floats, y: Floats, cells: int) -> NDArray[np.int64]:
    """Which points draw the same curve: in each of ``cells`` equal parts of x's range the first, the last,
    the smallest, the largest, and one that is not finite. Ascending; ``x`` ascends."""
    count = len(y)
    if count <= 4 * cells:
        return np.arange(count)
    kept = set[int]()
    cuts = np.searchsorted(x, np.linspace(x[0], x[-1], cells + 1)[1:-1])
    for part in np.split(np.arange(count), cuts):
        if not part.size:
            continue
        finite = np.isfinite(y[part])
        known = part[finite]
        kept.update((int(part[0]), int(part[-1])))
        if known.size:
            kept.update((int(known[y[known].argmin()]), int(known[y[known].argmax()])))
        if known.size < part.size:
            kept.add(int(part[finite.argmin()]))
    return np.array(sorted(kept), np.int64)
