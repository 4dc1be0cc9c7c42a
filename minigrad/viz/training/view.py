"""``viz.training``: the curves of trainings, compared, and what belongs to their steps beside them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..page import Page
from ..view import Picture
from .curves import thin
from .runs import Run, Series, read_runs
from .snapshots import Track, given_tracks, weights_of
from .svg import Look, draw

MOST_POINTS = 200_000  # of a series in a page; from there on it is thinned
_EXACT_POINTS = 20_000  # up to which numbers are written to the last digit; else 7 that count


class TrainingView(Picture):
    """Curves of one or more runs. In a notebook it shows itself.

    Attributes:
        runs: what was read. tracks: what the page shows beside the curves. title: of the page.
    """

    def __init__(self, runs: tuple[Run, ...], tracks: Sequence[Track] = (), title: str = "Training") -> None:
        self.runs, self.tracks, self.title = runs, tuple(tracks), title

    @property
    def charts(self) -> tuple[str, ...]:
        """The quantities that can be drawn: loss first, what evaluations measured, and the others."""
        best: dict[str, int] = {}
        for run in self.runs:
            for place, series in enumerate(run.series):
                best[series.name] = max(best.get(series.name, 0), place)
        return tuple(sorted(best, key=lambda name: best[name]))

    def page(self) -> Page:
        """The interactive page."""
        tables: list[dict[str, Any]] = []
        numbers: dict[int, int] = {}
        runs = [
            {"name": run.name, "series": [_series_data(s, tables, numbers) for s in run.series]}
            for run in self.runs
        ]
        data = {"title": self.title, "charts": self.charts, "runs": runs, "tables": tables,
                "tracks": [track.as_data() for track in self.tracks]}  # fmt: skip
        scripts = ("training_curves.js", "training_snapshots.js", "training.js")
        return Page(
            self.title, data, scripts, ("training.css",), body='<main id="training"></main>', height=760
        )

    def svg(
        self,
        charts: Iterable[str] | None = None,
        *,
        over: str = "step",
        smoothing: float = 0.0,
        log: Iterable[str] | bool = (),
        columns: int = 2,
        width: float = 640.0,
        title: str = "",
    ) -> str:
        """The curves as a vector picture, on white.

        Args:
            charts: which, in order; None: all. over: "step", "seconds" or "tokens".
            smoothing: the width in steps of the exponential weights, to both sides, of a mean.
            log: charts with a logarithmic axis; True: all. columns: charts side by side.
            width: of the picture, in points.

        Raises:
            ValueError: a chart or an axis that there is not.
        """
        chosen = self.charts if charts is None else tuple(charts)
        logarithmic = frozenset(self.charts if log is True else log or ())
        if unknown := [name for name in (*chosen, *logarithmic) if name not in self.charts]:
            raise ValueError(
                f"there is no chart {unknown[0]!r}: there are {', '.join(self.charts) or 'none'}"
            )
        return draw(self.runs, chosen, Look(over, smoothing, logarithmic, columns, width), title)

    def __repr__(self) -> str:
        names = ", ".join(run.name for run in self.runs)
        drawn = ", ".join(self.charts) or "nothing logged yet"
        return f"<training of {names}: {drawn}; .save('x.html') or .svg()>"


def training(
    *runs: Any, names: Sequence[str] = (), snapshots: Any = None, weights: bool = True, title: str = ""
) -> TrainingView:
    """Loss, learning rate, gradient norm, evaluations and speed of trainings, over steps, time or tokens.

        viz.training("runs/toy").save("toy.html")
        viz.training("runs/a", "runs/b", names=["post-norm", "pre-norm"]).save("norms.svg", smoothing=200)
        viz.training("runs/toy", snapshots=lambda step, state: attention_of(state))

    A run that is still being trained is read as far as it is written.

    Args:
        runs: each a run's folder, its log.jsonl, or a list of such entries: mappings with "step" (or none
            has one, and they are counted) and any numbers; those under "evaluation" are drawn as dots.
        names: of the runs.
        snapshots: what is shown beside the curves and follows the step. A mapping from steps to pictures;
            several such by name; or in the place of one a function (step, model's state) -> picture, which is
            called for each checkpoint of the first run with a folder. A picture is the text of an SVG, an
            object that makes one (``svg()``: other views), an array (heat maps of the last two axes), or a
            mapping of numbers, or of numbers by name, which becomes a table.
        weights: show every parameter's norm, heat map and histogram over the snapshots in the runs' folders.
        title: of the page.

    Raises:
        FileNotFoundError: a folder holds no log. TypeError: something that is no run or no picture.
        ValueError: a line is no JSON object, or an SVG is none.
    """
    found = read_runs(runs, names)
    tracks = [*given_tracks(snapshots, found), *(weights_of(found) if weights else [])]
    return TrainingView(found, tracks, title or "Training: " + ", ".join(run.name for run in found))


def _series_data(series: Series, tables: list[dict[str, Any]], numbers: dict[int, int]) -> dict[str, Any]:
    """A series for the page; the places of its points are in a table that it may share."""
    if len(series.values) > MOST_POINTS:
        series = _thinned(series)
    key = id(series.places)
    if key not in numbers:
        numbers[key] = len(tables)
        tables.append({name: _listed(values) for name, values in series.places.items()})
    return {"name": series.name, "evaluated": series.evaluated, "table": numbers[key],
            "values": _listed(series.values), "best": series.best}  # fmt: skip


def _thinned(series: Series) -> Series:
    kept = thin(series.places["step"], series.values, MOST_POINTS // 4)
    places = {name: values[kept] for name, values in series.places.items()}
    rank = {int(old): new for new, old in enumerate(kept)}
    return Series(series.name, series.evaluated, places, series.values[kept],
                  tuple(rank[i] for i in series.best if i in rank))  # fmt: skip


def _listed(values: Any) -> list[float | int]:
    """Numbers for JSON: whole ones without a point, long lists with 7 digits."""
    finite = values[np.isfinite(values)]
    if (
        finite.size == values.size
        and np.abs(finite).max(initial=0) < 2**53
        and (finite == np.rint(finite)).all()
    ):
        whole: list[float | int] = values.astype(np.int64).tolist()
        return whole
    if len(values) <= _EXACT_POINTS:
        return list(values.tolist())
    return [float(f"{value:.7g}") for value in values.tolist()]
