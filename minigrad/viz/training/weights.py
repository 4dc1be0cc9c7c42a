"""A run's weights over its steps: each parameter's statistics, heat maps and histograms, from checkpoints."""

from __future__ import annotations

import base64
import math
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...training.checkpoints import RunFolder, read_checkpoint

Floats = NDArray[np.float64]
MOST_SNAPSHOTS = 40
BINS = 40  # of a histogram
STATISTICS = ("norm", "change", "mean", "std", "min", "max", "not finite")
_MOST_CELLS, _LEAST_CELLS, _ALL_CELLS = 24, 6, 1_000_000  # a side of a heat map; in all heat maps together
_ROW_CELLS = 64  # of a vector's heat map
_CHUNK = 1 << 20  # elements that are made float64 at a time


@dataclass
class Parameter:
    """One parameter over the snapshots.

    Attributes:
        name, shape: as in the model's state.
        statistics: by name (STATISTICS), one number a snapshot. "change" is ‖w − w'‖ / ‖w'‖, of the weights
            and those in the snapshot before; NaN in the first.
        heat: (snapshots, rows, columns): means over cells of equal size; a row of the first axis each.
        histogram: (snapshots, BINS), counts, over ``range``: the smallest and largest weight of all.
    """

    name: str
    shape: tuple[int, ...]
    statistics: dict[str, list[float]]
    heat: Floats
    histogram: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, BINS), np.int64))
    range: tuple[float, float] = (0.0, 0.0)

    def as_data(self) -> dict[str, Any]:
        """For the page: heat in 255 shades, histogram in 256 heights, as base64 of bytes."""
        scale = float(np.abs(self.heat).max(initial=0.0, where=np.isfinite(self.heat)))
        shades = np.nan_to_num(self.heat / (scale or 1.0) * 127, nan=-128, posinf=127, neginf=-127)
        heights = self.histogram * (255 / max(int(self.histogram.max(initial=0)), 1))
        return {
            "name": self.name,
            "shape": self.shape,
            "statistics": self.statistics,
            "scale": scale,
            "cells": self.heat.shape[1:],
            "heat": _packed(np.round(shades).astype(np.int8)),
            "histogram": _packed(np.ceil(heights).astype(np.uint8)),
            "range": self.range,
        }


def checkpoints(folder: Path) -> dict[int, Path]:
    """A run's snapshots, best and last weights, by their steps: at most MOST_SNAPSHOTS, evenly chosen."""
    run = RunFolder(folder)
    found: dict[int, Path] = {}
    for path in (run.best, run.last):
        if path.exists() and (content := _read(path)) is not None and isinstance(content.get("step"), int):
            found[content["step"]] = path
    found.update(
        (int(path.stem), path) for path in sorted((folder / "snapshots").glob("*.safetensors")) if path.stem.isdigit()
    )
    steps = sorted(found)
    if len(steps) > MOST_SNAPSHOTS:
        places = np.linspace(0, len(steps) - 1, MOST_SNAPSHOTS).round().astype(int)
        steps = [steps[i] for i in places]
    return {step: found[step] for step in steps}


def states(paths: Mapping[int, Path]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The steps, and the model's state at each; what cannot be read is left out, with a warning."""
    for step, path in paths.items():
        if (content := _read(path)) is not None:
            yield step, content["model"]


def _read(path: Path) -> dict[str, Any] | None:
    try:
        return read_checkpoint(path, mmap=True)
    except FileNotFoundError:  # a training that goes on deletes old ones
        return None
    except RuntimeError as error:
        warnings.warn(f"left out of the picture: {error}", stacklevel=5)
        return None


def read_weights(folder: Path) -> tuple[list[int], list[Parameter]]:
    """The steps of a run's snapshots, and its parameters at each: of those that all snapshots have alike."""
    found = [(step, _arrays(state)) for step, state in states(checkpoints(folder))]
    if not found:
        return [], []
    shapes = [{name: array.shape for name, array in arrays.items()} for _, arrays in found]
    names = [n for n, shape in shapes[-1].items() if all(other.get(n) == shape for other in shapes)]
    matrices = sum(len(shapes[-1][name]) > 1 for name in names) * len(found)
    most = int(min(_MOST_CELLS, max(_LEAST_CELLS, math.sqrt(_ALL_CELLS / max(matrices, 1)))))
    with np.errstate(invalid="ignore", over="ignore"):  # of infinities there are no differences
        made = [_parameter(name, [arrays[name] for _, arrays in found], most) for name in names]
    return [step for step, _ in found], made


def _arrays(state: Mapping[str, Any]) -> dict[str, Any]:
    """The arrays of floating-point numbers in a model's state."""
    arrays = {name: getattr(value, "array", None) for name, value in state.items()}
    return {name: a for name, a in arrays.items() if isinstance(a, np.ndarray) and a.dtype.kind == "f"}


def _parameter(name: str, arrays: list[NDArray[Any]], most: int) -> Parameter:
    statistics: dict[str, list[float]] = {key: [] for key in STATISTICS}
    for i, array in enumerate(arrays):
        for key, value in _statistics(array, arrays[i - 1] if i else None).items():
            statistics[key].append(value)
    heat = np.stack([heat_map(array, most) for array in arrays])
    made = Parameter(name, arrays[0].shape, statistics, heat)
    low, high = min(statistics["min"]), max(statistics["max"])
    if math.isfinite(low) and math.isfinite(high):
        made.range = low, high
        made.histogram = np.stack([_counts(array, low, high) for array in arrays])
    if not any(statistics["not finite"]):
        del statistics["not finite"]
    return made


def _statistics(array: NDArray[Any], before: NDArray[Any] | None) -> dict[str, float]:
    """Those of the finite elements, summed in float64."""
    total = squares = moved = was = 0.0
    low, high, wrong = math.inf, -math.inf, 0
    for part, old in zip(_parts(array), _parts(array if before is None else before), strict=True):
        finite = part[np.isfinite(part)]
        wrong += part.size - finite.size
        total += float(finite.sum())
        squares += float(finite @ finite)
        low, high = min(low, finite.min(initial=math.inf)), max(high, finite.max(initial=-math.inf))
        moved += float(((part - old) ** 2).sum())
        was += float(old @ old)
    count = max(array.size - wrong, 1)
    change = math.nan if before is None else math.sqrt(moved / was) if was > 0 else math.nan
    return {
        "norm": math.sqrt(squares),
        "change": change,
        "mean": total / count,
        "std": math.sqrt(max(squares / count - (total / count) ** 2, 0.0)),
        "min": float(low),
        "max": float(high),
        "not finite": wrong,
    }


def _parts(array: NDArray[Any]) -> Iterator[Floats]:
    flat = array.reshape(-1)
    for begin in range(0, flat.size, _CHUNK):
        yield flat[begin : begin + _CHUNK].astype(np.float64)


def _counts(array: NDArray[Any], low: float, high: float) -> NDArray[np.int64]:
    counts = np.zeros(BINS, np.int64)
    for part in _parts(array):
        counts += np.histogram(part[np.isfinite(part)], BINS, (low, high))[0]
    return counts


def heat_map(array: NDArray[Any], most: int, row: int = _ROW_CELLS) -> Floats:
    """Means over cells: (n,) -> (1, ≤ row); (m, …) -> (≤ most, ≤ most), a row of the first axis each."""
    if not array.size:
        return np.zeros((1, 1))
    flat = array.reshape(1, -1) if array.ndim < 2 else array.reshape(array.shape[0], -1)
    rows, columns = min(flat.shape[0], most), min(flat.shape[1], row if flat.shape[0] == 1 else most)
    tall, wide = _edges(flat.shape[0], rows), _edges(flat.shape[1], columns)
    sums = np.add.reduceat(flat, tall[:-1], axis=0, dtype=np.float64)
    sums = np.add.reduceat(sums, wide[:-1], axis=1)
    found: Floats = sums / (np.diff(tall)[:, None] * np.diff(wide))
    return found


def _edges(size: int, parts: int) -> NDArray[np.int64]:
    return np.arange(parts + 1) * size // parts


def _packed(array: NDArray[Any]) -> str:
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
