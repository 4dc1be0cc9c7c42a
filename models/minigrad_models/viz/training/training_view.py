"""``training``: the curves of trainings, compared, and what belongs to their steps beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minigrad.viz.numbers import Floats
from minigrad.viz.page import Page
from minigrad.viz.view import Picture

from ..lines import Curve, draw
from .runs import Run, Series, read_runs
from .snapshots import Track, tracks_of, weights_of

MOST_POINTS = 200_000  # of a series in a page; from there on it is thinned
_EXACT_POINTS = 20_000  # up to which numbers are written to the last digit; else 7 that count


class TrainingView(Picture):
    """Curves of one or more runs, and what the page shows beside them. In a notebook it shows itself."""

    def __init__(self, runs: tuple[Run, ...], tracks: Sequence[Track] = (), title: str = "Training") -> None:
        self.runs, self.tracks, self.title = runs, tuple(tracks), title

    @property
    def charts(self) -> tuple[str, ...]:
        """The quantities that can be drawn: loss first, what evaluations measured, and the others."""
        places = [(series.name, place) for run in self.runs for place, series in enumerate(run.series)]
        last = {name: max(place for other, place in places if other == name) for name, _ in places}
        return tuple(sorted(last, key=lambda name: last[name]))

    def page(self) -> Page:
        """The interactive page."""
        places: list[Mapping[str, Floats]] = []
        runs = [{"name": run.name, "series": [_series_data(s, places) for s in run.series]} for run in self.runs]
        tables = [{name: _listed(values) for name, values in table.items()} for table in places]
        tracks = [vars(track) for track in self.tracks]
        data = {"title": self.title, "charts": self.charts, "runs": runs, "tables": tables, "tracks": tracks}
        scripts = ("training_curves.js", "training_snapshots.js", "training.js")
        return Page.of("training", self.title, data, scripts)

    def svg(self, chart: str = "", *, log: bool = False, width: float = 640.0) -> str:
        """One quantity of all runs over their steps, as a vector picture on white; evaluations are dashed.

        Args:
            chart: one of ``charts``; by default the first, which is the loss where there is one.
            log: its axis is logarithmic. width: in pixels.

        Raises ValueError: there is no such chart, or the width has no space for curves beside their names.
        """
        chart = chart or next(iter(self.charts), "")
        curves = [
            Curve(run.name + ", evaluation" * s.evaluated, s.places["step"], s.values, i, dashed=s.evaluated)
            for i, run in enumerate(self.runs)
            for s in run.series
            if s.name == chart
        ]
        if not curves:
            raise ValueError(f"there is no chart {chart!r}: there are {', '.join(self.charts) or 'none'}")
        return draw(self.title, "step", chart, curves, (False, log), width)

    def _drawn(self) -> str:
        return self.svg() if self.charts else ""

    def __repr__(self) -> str:
        names = ", ".join(run.name for run in self.runs)
        drawn = ", ".join(self.charts) or "nothing logged yet"
        return f"<training of {names}: {drawn}; .save('x.html') or .svg()>"


def training(
    *runs: Any, names: Sequence[str] = (), snapshots: Any = None, weights: bool = True, title: str = ""
) -> TrainingView:
    """Loss, learning rate, gradient norm, evaluations and speed of trainings, over steps, time or tokens.

        training("runs/toy").save("toy.html")
        training("runs/a", "runs/b", names=["post-norm", "pre-norm"]).save("norms.svg")

        def picture(step, state):
            model.load_state_dict(state)
            return viz.graph(loss(model, batch), modules={"model": model}, colour="gradient")

        training("runs/toy", snapshots={"graph": picture}).save("toy.html")

    A run that is still being trained is read as far as it is written.

    Args:
        runs: each a run's folder, its log.jsonl, or a list of such entries: mappings with "step" (or none
            has one, and they are counted) and any numbers; those under "evaluation" are drawn as dots.
        names: of the runs.
        snapshots: what is shown beside the curves and follows the step. A mapping from steps to pictures;
            several such by name; or in the place of one a function (step, model's state) -> picture, which is
            called for each checkpoint of the first run with a folder: those that the Trainer's settings
            ``keep_snapshots`` and ``snapshot_every`` ask for, the best and the last. A picture is the text of
            an SVG, or an object that makes one (``svg()``: other views).
        weights: show every parameter's norm, heat map and histogram over the snapshots in the runs' folders.
        title: of the page.

    Raises FileNotFoundError: a folder holds no log. TypeError: something that is no run or no picture. ValueError: a
    line is no JSON object, or an SVG is none.
    """
    known = read_runs(runs, names)
    tracks = [*tracks_of(snapshots, known), *(weights_of(known) if weights else [])]
    return TrainingView(known, tracks, title or "Training: " + ", ".join(run.name for run in known))


def _series_data(series: Series, tables: list[Mapping[str, Floats]]) -> dict[str, Any]:
    """A series for the page; the places of its points are in a table that it may share."""
    if len(series.values) > MOST_POINTS:
        series = series.at(thin(series.places["step"], series.values, MOST_POINTS // 4))
    number = next((i for i, table in enumerate(tables) if table is series.places), len(tables))
    if number == len(tables):
        tables.append(series.places)
    values = _listed(series.values)
    return {"name": series.name, "evaluated": series.evaluated, "table": number, "values": values, "best": series.best}


def _listed(values: Any) -> list[float | int]:
    """Numbers for JSON: whole ones without a point, long lists with 7 digits."""
    finite = values[np.isfinite(values)]
    if finite.size == values.size and np.abs(finite).max(initial=0) < 2**53 and (finite == np.rint(finite)).all():
        whole: list[float | int] = values.astype(np.int64).tolist()
        return whole
    if len(values) <= _EXACT_POINTS:
        return list(values.tolist())
    return [float(f"{value:.7g}") for value in values.tolist()]


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
