"""What is shown beside the curves and follows the step: weights, pictures, arrays, numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from ...autograd.tape import Variable
from ..numbers import Array, coded, host
from .runs import Run
from .weights import checkpoints, heat_map, read_weights, states

_MOST_CELLS = 64  # a side of an array's heat map
_MOST_PANELS = 64  # heat maps of one step


@dataclass(frozen=True)
class Track:
    """Pictures by step, or a table of quantities with a number a step."""

    name: str
    steps: list[int]  # ascending
    frames: list[dict[str, Any]] | None = None  # one a step, as the page reads them
    table: list[dict[str, Any]] | None = None
    run: int = 0  # the number of the run whose steps these are


def weights_of(runs: tuple[Run, ...]) -> list[Track]:
    """The weights of all runs whose folders hold checkpoints."""
    tracks = []
    for i, run in enumerate(runs):
        steps, parameters = read_weights(run.folder) if run.folder is not None else ([], [])
        if parameters:
            table = [parameter.as_data() for parameter in parameters]
            tracks.append(Track(f"weights of {run.name}", steps, table=table, run=i))
    return tracks


def tracks_of(snapshots: Any, runs: tuple[Run, ...]) -> list[Track]:
    """What the caller shows: a mapping from steps, several by name, or a function of a step and a state. Raises
    TypeError, ValueError: something that is none of these, or a picture that cannot be shown."""
    if snapshots is None:
        return []
    several = isinstance(snapshots, Mapping) and all(isinstance(key, str) for key in snapshots)
    tracks = [_track(name, one, runs) for name, one in (snapshots if several else {"snapshots": snapshots}).items()]
    return [track for track in tracks if track.steps]


def _track(name: str, snapshots: Any, runs: tuple[Run, ...]) -> Track:
    if isinstance(snapshots, Mapping):
        return _in_order(name, snapshots.items())
    if not callable(snapshots):
        raise TypeError(
            f"{name} is a mapping from steps to pictures, or a function (step, state) -> picture, not "
            f"{type(snapshots).__name__}"
        )
    number, folder = next(((i, run.folder) for i, run in enumerate(runs) if run.folder), (0, None))
    if folder is None:
        raise ValueError(f"{name}: a function of checkpoints needs a run's folder to read these from")
    track = _in_order(name, ((step, snapshots(step, state)) for step, state in states(checkpoints(folder))), number)
    if not track.steps:
        raise ValueError(f"{name}: {folder} holds no checkpoint")
    return track


def _in_order(name: str, pictures: Iterable[tuple[Any, Any]], run: int = 0) -> Track:
    """Pictures of steps, which may come in any order. Each is drawn before the next is asked for: a graph
    holds all arrays of its step."""
    frames: dict[int, dict[str, Any]] = {}
    numbers: dict[int, Mapping[str, Any]] = {}
    for step, picture in pictures:
        if not isinstance(step, int | np.integer) or isinstance(step, bool):
            raise TypeError(f"{name}: a step is an integer, not {step!r}")
        if isinstance(picture, Mapping):
            numbers[int(step)] = picture
        else:
            frames[int(step)] = _frame(picture, f"{name}, step {step}")
    if frames and numbers:
        raise TypeError(f"{name}: step {min(frames)} has a picture, and step {min(numbers)} numbers")
    steps = sorted(frames or numbers)
    if numbers:
        return Track(name, steps, table=_table([numbers[step] for step in steps]), run=run)
    return Track(name, steps, frames=[frames[step] for step in steps], run=run)


def _table(frames: list[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Numbers by name, or statistics by name of quantities by name, as a table over the steps."""
    rows = []
    for name in dict.fromkeys(str(name) for one in frames for name in one):
        values = [one.get(name) for one in frames]
        nested = [value if isinstance(value, Mapping) else {} for value in values]
        kinds = dict.fromkeys(str(kind) for value in nested for kind in value)
        columns = {kind: [_number(value.get(kind)) for value in nested] for kind in kinds}
        columns = columns or {"value": [_number(value) for value in values]}
        rows.append({"name": name, "shape": None, "statistics": columns})
    return rows


def _number(value: Any) -> float:
    if isinstance(value, Variable):
        value = value.item()  # type: ignore[attr-defined]
    return float(value) if isinstance(value, Real | np.generic) else math.nan


def _frame(value: Any, place: str) -> dict[str, Any]:
    """One picture for the page: {"svg": text} or {"heat": panels}; of an array with further axes before rows and
    columns, a panel for each of their elements."""
    if isinstance(value, Variable) or (hasattr(value, "shape") and hasattr(value, "dtype")):
        return {"heat": _panels(host(value), place)}
    text = value if isinstance(value, str) else _drawn(value, place)
    if not text.lstrip("\ufeff \n").startswith(("<svg", "<?xml", "<!--", "<!DOCTYPE svg")):
        raise ValueError(f"{place}: a text must be an SVG, and this begins with {text[:30]!r}")
    return {"svg": text.encode(errors="replace").decode()}  # without halves of pairs


def _drawn(value: Any, place: str) -> str:
    for name in ("svg", "_repr_svg_"):
        if callable(make := getattr(value, name, None)):
            text = make()
            return text.decode() if isinstance(text, bytes) else str(text)
    raise TypeError(
        f"{place}: a picture is the text of an SVG, an object with svg(), an array or a mapping of numbers, "
        f"not {type(value).__name__}"
    )


def _panels(array: Array, place: str) -> list[dict[str, Any]]:
    if array.ndim < 2 or array.dtype.kind not in "fiub" or not array.size:
        raise ValueError(f"{place}: an array has two axes or more, and numbers; not {array.shape} {array.dtype}")
    panels: list[dict[str, Any]] = []
    if (count := math.prod(array.shape[:-2])) > _MOST_PANELS:
        raise ValueError(f"{place}: {count} heat maps of {array.shape} are too many: select some")
    for index in np.ndindex(array.shape[:-2]):
        cells = heat_map(array[index], _MOST_CELLS, _MOST_CELLS)
        name, shape = " · ".join(map(str, index)), array.shape[-2:]
        panels.append({"name": name, "shape": shape, "cells": cells.shape, "values": coded(cells, "<f4")})
    return panels
