"""What is shown beside the curves and follows the step: weights, pictures, arrays, numbers."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...autograd.tape import Variable
from .runs import Run
from .weights import checkpoints, heat_map, read_weights, states

_MOST_CELLS = 64  # a side of an array's heat map
_MOST_PANELS = 64  # heat maps of one step


@dataclass(frozen=True)
class Track:
    """Pictures by step.

    Attributes:
        name: what they show. steps: ascending. frames: one a step, as the page reads them; or ``table``:
            quantities with a number a step each. run: the number of the run whose steps these are.
    """

    name: str
    steps: list[int]
    frames: list[dict[str, Any]] | None = None
    table: list[dict[str, Any]] | None = None
    run: int = 0

    def as_data(self) -> dict[str, Any]:
        """For the page."""
        return {"name": self.name, "steps": self.steps, "frames": self.frames, "table": self.table, "run": self.run}


def weights_of(runs: tuple[Run, ...]) -> list[Track]:
    """The weights of all runs whose folders hold checkpoints."""
    tracks = []
    for i, run in enumerate(runs):
        if run.folder is not None:
            steps, parameters = read_weights(run.folder)
            if parameters:
                table = [parameter.as_data() for parameter in parameters]
                tracks.append(Track(f"weights of {run.name}", steps, table=table, run=i))
    return tracks


def given_tracks(snapshots: Any, runs: tuple[Run, ...]) -> list[Track]:
    """What the caller gave: a mapping from steps, several by name, or a function of a step and a state.

    Raises:
        TypeError, ValueError: something that is none of these, or a picture that cannot be shown.
    """
    if snapshots is None:
        return []
    named: Mapping[str, Any] = {"snapshots": snapshots}
    if isinstance(snapshots, Mapping) and all(isinstance(key, str) for key in snapshots):
        named = snapshots
    return [made for name, inner in named.items() if (made := _given(name, inner, runs)).steps]


def _given(name: str, snapshots: Any, runs: tuple[Run, ...]) -> Track:
    if isinstance(snapshots, Mapping):
        return track(name, snapshots.items())
    if callable(snapshots):
        return _made_from_checkpoints(name, snapshots, runs)
    raise TypeError(
        f"{name} is a mapping from steps to pictures, or a function (step, state) -> picture, not "
        f"{type(snapshots).__name__}"
    )


def _made_from_checkpoints(name: str, make: Callable[..., Any], runs: tuple[Run, ...]) -> Track:
    number, folder = next(((i, run.folder) for i, run in enumerate(runs) if run.folder), (0, None))
    if folder is None:
        raise ValueError(f"{name}: a function of checkpoints needs a run's folder to read these from")
    found = track(name, ((step, make(step, state)) for step, state in states(checkpoints(folder))), number)
    if not found.steps:
        raise ValueError(f"{name}: {folder} holds no checkpoint")
    return found


def track(name: str, pictures: Iterable[tuple[Any, Any]], run: int = 0) -> Track:
    """Pictures of steps, which may come in any order. Each is drawn before the next is asked for: a graph
    holds all arrays of its step.

    Raises:
        TypeError: a step that is no integer, a picture of a kind that is not known, or both numbers and
            pictures.
    """
    frames: dict[int, dict[str, Any]] = {}
    numbers: dict[int, Mapping[str, Any]] = {}
    for step, picture in pictures:
        if not isinstance(step, int | np.integer) or isinstance(step, bool):
            raise TypeError(f"{name}: a step is an integer, not {step!r}")
        if isinstance(picture, Mapping):
            numbers[int(step)] = picture
        else:
            frames[int(step)] = frame(picture, f"{name}, step {step}")
    if frames and numbers:
        raise TypeError(f"{name}: step {min(frames)} has a picture, and step {min(numbers)} numbers")
    steps = sorted(frames or numbers)
    if numbers:
        return Track(name, steps, table=_table([numbers[step] for step in steps]), run=run)
    return Track(name, steps, frames=[frames[step] for step in steps], run=run)


def _table(frames: list[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Numbers by name, or statistics by name of quantities by name, as a table over the steps."""
    names = dict.fromkeys(str(name) for one in frames for name in one)
    rows = []
    for name in names:
        here = [one.get(name) for one in frames]
        kinds = dict.fromkeys(str(k) for value in here if isinstance(value, Mapping) for k in value)
        told = {kind: [_number(v.get(kind) if isinstance(v, Mapping) else None) for v in here] for kind in kinds}
        rows.append({"name": name, "shape": None, "statistics": told or {"value": [_number(value) for value in here]}})
    return rows


def _number(value: Any) -> float:
    if isinstance(value, Variable):
        value = value.item()  # type: ignore[attr-defined]
    return float(value) if isinstance(value, Real | np.generic) else math.nan


def frame(value: Any, place: str = "a picture") -> dict[str, Any]:
    """One picture for the page: {"svg": text} or {"heat": panels}.

    Args:
        value: the text of an SVG, something that makes one (``svg()`` or ``_repr_svg_()``), or an array:
            (rows, columns), or with further axes before these, one heat map for each of their elements.

    Raises:
        TypeError: something else. ValueError: a text that is no SVG, an array without two axes.
    """
    if isinstance(value, Variable) or (hasattr(value, "shape") and hasattr(value, "dtype")):
        return {"heat": _panels(_on_host(value), place)}
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


def _on_host(value: Any) -> NDArray[Any]:
    if isinstance(value, Variable):
        value = value.detach().cpu().array  # type: ignore[attr-defined]
    return np.asarray(value.get() if hasattr(value, "get") else value)  # get: CuPy's


def _panels(array: NDArray[Any], place: str) -> list[dict[str, Any]]:
    if array.ndim < 2 or array.dtype.kind not in "fiub" or not array.size:
        raise ValueError(f"{place}: an array has two axes or more, and numbers; not {array.shape} {array.dtype}")
    before = array.shape[:-2]
    places = list(np.ndindex(before))
    if len(places) > _MOST_PANELS:
        raise ValueError(f"{place}: {len(places)} heat maps of {array.shape} are too many: select some")
    panels = []
    for index in places:
        cells = heat_map(array[index], _MOST_CELLS, _MOST_CELLS)
        panels.append(
            {
                "name": " · ".join(map(str, index)),
                "shape": array.shape[-2:],
                "cells": cells.shape,
                "values": base64.b64encode(cells.astype("<f4").tobytes()).decode(),
            }
        )
    return panels
