"""``training`` compares training runs by their curves. It also shows weights from checkpoints, and pictures."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minigrad.viz.numbers import Array, Floats, cell_means, coded, equal_parts, statistics
from minigrad.viz.page import Page
from minigrad.viz.view import Picture

from ...training.checkpoints import RunFolder, read_checkpoint
from ..lines import Curve, draw
from .runs import Run, read_runs

_EXACT_POINTS = 20_000  # longer lists of numbers have 7 significant digits

MOST_SNAPSHOTS = 40
BINS = 40  # of a histogram
_MOST_CELLS, _LEAST_CELLS, _ALL_CELLS = 24, 6, 1_000_000  # per side of a heat map; in all heat maps together
_ROW_CELLS = 64  # in the heat map of a vector


class TrainingView(Picture):
    """Curves for one or more runs, with weights and pictures for the page. In a notebook it displays itself."""

    def __init__(self, runs: tuple[Run, ...], tracks: Sequence[Track] = (), title: str = "Training") -> None:
        self.runs, self.tracks, self.title = runs, tuple(tracks), title

    @property
    def charts(self) -> tuple[str, ...]:
        """The quantities to draw: first the loss, then evaluations, then the rest."""
        places = [(series.name, place) for run in self.runs for place, series in enumerate(run.series)]
        last = {name: max(place for other, place in places if other == name) for name, _ in places}
        return tuple(sorted(last, key=lambda name: last[name]))

    def page(self) -> Page:
        """The interactive page."""
        runs, places = [], {id(series.places): series.places for run in self.runs for series in run.series}
        number = {key: i for i, key in enumerate(places)}  # several series may share a table
        for run in self.runs:
            series = []
            for s in run.series:
                described = {"name": s.name, "evaluated": s.evaluated, "best": s.best}
                series.append({**described, "table": number[id(s.places)], "values": _listed(s.values)})
            runs.append({"name": run.name, "series": series})
        tables = [{name: _listed(values) for name, values in table.items()} for table in places.values()]
        tracks = [vars(track) for track in self.tracks]
        data = {"title": self.title, "charts": self.charts, "runs": runs, "tables": tables, "tracks": tracks}
        scripts = ("training_curves.js", "training_snapshots.js", "training.js")
        return Page.of("training", self.title, data, scripts)

    def svg(self, chart: str = "", *, log: bool = False, width: float = 640.0) -> str:
        """Draw a quantity of all runs over their steps, as an SVG on a white background. Evaluations are dashed.

        Args:
            chart: one of ``charts``; by default the first, which is the loss if available.
            log: whether the vertical axis is logarithmic. width: in pixels.

        Raises ValueError for an unknown chart, or a width too small for the curves and their labels.
        """
        chart = chart or next(iter(self.charts), "")
        curves = [
            Curve(run.name + ", evaluation" * s.evaluated, s.places["step"], s.values, i, dashed=s.evaluated)
            for i, run in enumerate(self.runs)
            for s in run.series
            if s.name == chart
        ]
        if not curves:
            raise ValueError(f"there is no chart {chart!r}; choose from: {', '.join(self.charts) or 'none'}")
        return draw(self.title, "step", chart, curves, (False, log), width)

    def _drawn(self) -> str:
        return super()._drawn() if self.charts else ""

    def __repr__(self) -> str:
        names = ", ".join(run.name for run in self.runs)
        charts = ", ".join(self.charts) or "nothing logged yet"
        return f"<training of {names}: {charts}; .save('x.html') or .svg()>"


def training(
    *runs: Any, names: Sequence[str] = (), snapshots: Any = None, weights: bool = True, title: str = ""
) -> TrainingView:
    """Show the loss, learning rate, gradient norm, evaluations and speed of training runs over steps, time or tokens.

        training("runs/toy").save("toy.html")
        training("runs/a", "runs/b", names=["post-norm", "pre-norm"]).save("norms.svg")

        def picture(step, state):
            model.load_state_dict(state)
            return viz.graph(loss(model, batch), modules={"model": model}, colour="gradient")

        training("runs/toy", snapshots={"graph": picture}).save("toy.html")

    Runs can be drawn while they train. A loss with label smoothing gets its own chart.

    Args:
        runs: each a run folder, its log.jsonl, or a list of log entries. An entry is a mapping with "step" (if all lack
            it, entries are counted from 1) and any numbers. Numbers under "evaluation" are drawn as dots.
        names: the names of the runs.
        snapshots: pictures to show next to the curves for the current step: a mapping from steps to pictures, or
            several such mappings by name. Instead of a mapping, a function (step, model state) -> picture is called for
            each checkpoint of the first run with a folder: its snapshots (see ``keep_snapshots`` and ``snapshot_every``
            in the Trainer's settings), the best and the last. A picture is SVG text, or an object with ``svg()``.
        weights: whether to show every parameter's norm, heat map and histogram over the snapshots in the run folders.
        title: the page title.

    Raises FileNotFoundError if a folder has no log; TypeError for objects that are not runs or pictures; and ValueError
    if a line is not a JSON object or a string is not SVG.
    """
    read = read_runs(runs, names)
    tracks = tracks_of(snapshots, read)
    for i, run in enumerate(read if weights else ()):
        steps, parameters = read_weights(run.folder) if run.folder is not None else ([], [])
        if parameters:
            table = [parameter.as_data() for parameter in parameters]
            tracks.append(Track(f"weights of {run.name}", steps, table=table, run=i))
    return TrainingView(read, tracks, title or "Training: " + ", ".join(run.name for run in read))


def _listed(values: Any) -> list[float | int]:
    """Convert numbers for JSON. Integers get no decimal point, and the numbers of a long list 7 digits."""
    finite = values[np.isfinite(values)]
    if finite.size == values.size and np.abs(finite).max(initial=0) < 2**53 and (finite == np.rint(finite)).all():
        whole: list[float | int] = values.astype(np.int64).tolist()
        return whole
    if len(values) <= _EXACT_POINTS:
        return list(values.tolist())
    return [float(f"{value:.7g}") for value in values.tolist()]


def checkpoints(folder: Path) -> dict[int, Path]:
    """The paths of a run's snapshots, best and last weights by step: at most MOST_SNAPSHOTS, evenly spaced."""
    run = RunFolder(folder)
    paths: dict[int, Path] = {}
    for path in (run.best, run.last):
        if path.exists() and (content := _read(path)) is not None and isinstance(content.get("step"), int):
            paths[content["step"]] = path
    snapshots = sorted((folder / "snapshots").glob("*.safetensors"))
    paths.update((int(path.stem), path) for path in snapshots if path.stem.isdigit())
    steps = sorted(paths)
    if len(steps) > MOST_SNAPSHOTS:
        steps = [steps[i] for i in np.linspace(0, len(steps) - 1, MOST_SNAPSHOTS).round().astype(int)]
    return {step: paths[step] for step in steps}


def states(paths: Mapping[int, Path]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The steps, and the model state at each. Unreadable checkpoints are skipped with a warning."""
    for step, path in paths.items():
        if (content := _read(path)) is not None:
            yield step, content["model"]


def _read(path: Path) -> dict[str, Any] | None:
    try:
        return read_checkpoint(path, mmap=True)
    except FileNotFoundError:  # training deletes old snapshots
        return None
    except RuntimeError as error:
        warnings.warn(f"skipped: {error}", stacklevel=5)
        return None


@dataclass
class Parameter:
    """A parameter in all snapshots: its name and shape in the model state, and how it changes."""

    name: str
    shape: tuple[int, ...]
    # A number per snapshot: norm, change (‖w − w'‖ / ‖w'‖ from the previous snapshot; NaN for the first), mean, std,
    # min, max, and, if there are any, the number of weights that are "not finite".
    statistics: dict[str, list[float]]
    heat: Floats  # (snapshots, rows, columns): means over cells of equal size; rows follow the first axis
    histogram: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, BINS), np.int64))  # counts, over
    range: tuple[float, float] = (0.0, 0.0)  # the smallest and largest weight of all snapshots

    def as_data(self) -> dict[str, Any]:
        """Data for the page: heat maps in 255 shades, histograms in 256 heights."""
        scale = float(np.abs(self.heat).max(initial=0.0, where=np.isfinite(self.heat)))
        shades = np.nan_to_num(self.heat / (scale or 1.0) * 127, nan=-128, posinf=127, neginf=-127)
        heights = self.histogram * (255 / max(int(self.histogram.max(initial=0)), 1))
        packed = {"heat": coded(np.round(shades), "i1"), "histogram": coded(np.ceil(heights), "u1")}
        return {**vars(self), "scale": scale, "cells": self.heat.shape[1:], **packed}


def read_weights(folder: Path) -> tuple[list[int], list[Parameter]]:
    """The steps of a run's snapshots, and the parameters that have the same shape in all of them."""
    snapshots = []
    for step, state in states(checkpoints(folder)):
        arrays = {name: getattr(value, "array", None) for name, value in state.items()}
        floats = {name: a for name, a in arrays.items() if isinstance(a, np.ndarray) and a.dtype.kind == "f"}
        snapshots.append((step, floats))
    if not snapshots:
        return [], []
    shapes = [{name: array.shape for name, array in arrays.items()} for _, arrays in snapshots]
    names = [n for n, shape in shapes[-1].items() if all(other.get(n) == shape for other in shapes)]
    matrices = sum(len(shapes[-1][name]) > 1 for name in names) * len(snapshots)
    most = int(min(_MOST_CELLS, max(_LEAST_CELLS, math.sqrt(_ALL_CELLS / max(matrices, 1)))))
    with np.errstate(invalid="ignore", over="ignore"):  # differences of infinities are undefined
        parameters = [_parameter(name, [arrays[name] for _, arrays in snapshots], most) for name in names]
    return [step for step, _ in snapshots], parameters


def _parameter(name: str, arrays: list[Array], most: int) -> Parameter:
    rows = [statistics(array) for array in arrays]
    for (before, row), (old, new) in zip(pairwise(rows), pairwise(arrays), strict=True):
        row["change"] = statistics(new - old)["norm"] / before["norm"] if before["norm"] > 0 else math.nan
    names = ("norm", "change", "mean", "std", "min", "max")
    columns = {name: [row.get(name, math.nan) for row in rows] for name in names}
    if any(row["nan"] for row in rows):
        columns["not finite"] = [row["nan"] for row in rows]
    parameter = Parameter(name, arrays[0].shape, columns, np.stack([heat_map(array, most) for array in arrays]))
    low, high = min(columns["min"]), max(columns["max"])
    if math.isfinite(low) and math.isfinite(high):
        parameter.range = low, high
        parameter.histogram = np.stack([np.histogram(array, BINS, (low, high))[0] for array in arrays])
    return parameter


def heat_map(array: Array, most: int) -> Floats:
    """Average over cells: at most 1 × 64 for a vector, or else ``most`` × ``most``. Rows follow the first axis."""
    if not array.size:
        return np.zeros((1, 1))
    flat = array.reshape(1, -1) if array.ndim < 2 else array.reshape(array.shape[0], -1)
    tall, wide = flat.shape
    return cell_means(flat, equal_parts(tall, most), equal_parts(wide, _ROW_CELLS if tall == 1 else most))


@dataclass(frozen=True)
class Track:
    """Pictures by step, or a table of parameters in a run."""

    name: str
    steps: list[int]  # ascending
    frames: list[str] | None = None  # an SVG per step
    table: list[dict[str, Any]] | None = None
    run: int = 0  # the index of the run that the steps belong to


def tracks_of(snapshots: Any, runs: tuple[Run, ...]) -> list[Track]:
    """The tracks for the caller's pictures, which are the ``snapshots`` of ``training``."""
    if snapshots is None:
        return []
    several = isinstance(snapshots, Mapping) and all(isinstance(key, str) for key in snapshots)
    tracks = []
    for name, pictures in (snapshots if several else {"snapshots": snapshots}).items():
        if isinstance(pictures, Mapping):
            tracks.append(_in_order(name, pictures.items()))
            continue
        if not callable(pictures):
            kind = type(pictures).__name__
            raise TypeError(
                f"{name} must be a mapping from steps to pictures, or a function (step, state) -> picture, not {kind}"
            )
        of_run, folder = next(((i, run.folder) for i, run in enumerate(runs) if run.folder), (0, None))
        if folder is None:
            raise ValueError(f"{name}: a function of (step, state) needs a run folder to read checkpoints from")
        frames = ((step, pictures(step, state)) for step, state in states(checkpoints(folder)))
        tracks.append(_in_order(name, frames, of_run))
        if not tracks[-1].steps:
            raise ValueError(f"{name}: {folder} has no checkpoints")
    return [track for track in tracks if track.steps]


def _in_order(name: str, pictures: Iterable[tuple[Any, Any]], run: int = 0) -> Track:
    """Convert pictures, whose steps can be in any order, to SVG text. Each is drawn before the next is requested, as a
    graph keeps all arrays of its step in memory."""
    frames: dict[int, str] = {}
    for step, picture in pictures:
        if not isinstance(step, int | np.integer) or isinstance(step, bool):
            raise TypeError(f"{name}: a step must be an integer, not {step!r}")
        place, draw = f"{name}, step {step}", getattr(picture, "svg", None) or getattr(picture, "_repr_svg_", None)
        if not isinstance(picture, str) and not callable(draw):
            kind = type(picture).__name__
            raise TypeError(f"{place}: a picture must be the text of an SVG, or an object with svg(), not {kind}")
        text = draw() if callable(draw) else picture
        text = text.decode() if isinstance(text, bytes) else str(text)
        if not text.lstrip("\ufeff \n").startswith(("<svg", "<?xml", "<!--", "<!DOCTYPE svg")):
            raise ValueError(f"{place}: a string must be an SVG, but this one begins with {text[:30]!r}")
        frames[int(step)] = text.encode(errors="replace").decode()  # without lone surrogates
    steps = sorted(frames)
    return Track(name, steps, frames=[frames[step] for step in steps], run=run)
