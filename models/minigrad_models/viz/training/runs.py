"""The data to draw for a run: each quantity in its log, over steps, time and tokens."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from minigrad.autograd.tape import Variable
from minigrad.nn.module import Module
from minigrad.viz.numbers import Floats

from ...schema import short
from ...training.checkpoints import RunFolder, read_checkpoint, read_log

AXES = ("step", "seconds", "tokens")  # the x axes of a curve
_LARGEST = 1e150  # products of numbers up to this are finite
_PLACES = (*AXES, "epoch")
_MOST_COLUMNS = 1_000
FIRST = ("loss", "learning rate", "gradient norm", "tokens per second")  # before all other quantities
_ADDED = {"label_smoothing": "label smoothing", "r_drop": "R-Drop"}  # with these, a loss is not a mean cross-entropy
_WORDS = {"lr": "learning rate", "grad_norm": "gradient norm", "tokens_per_second": "tokens per second"}


@dataclass(frozen=True)
class Series:
    """A quantity of a run."""

    name: str  # "loss", "training loss with label smoothing 0.1", "gradient norm", "bleu"
    evaluated: bool  # whether it comes from evaluations
    places: Mapping[str, Floats]  # "step", "seconds", "tokens" and "epoch" of each point, if logged
    values: Floats  # (n,), in order of steps, including NaN and infinities
    best: tuple[int, ...] = ()  # the points that were the best evaluation so far


@dataclass(frozen=True)
class Run:
    """A run's name, its metrics and, if it has one, its folder."""

    name: str
    series: tuple[Series, ...]
    folder: Path | None = None


def read_runs(sources: Sequence[Any], names: Sequence[str] = ()) -> tuple[Run, ...]:
    """All runs, each with a unique name. ``sources`` are those of ``training``, or a mapping from names to them."""
    if isinstance(names, str):
        raise ValueError(f"names must be a list of strings, not one: {short(names)}")
    if len(sources) == 1 and isinstance(sources[0], Mapping):
        names, sources = names or [str(name) for name in sources[0]], list(sources[0].values())
    if names and len(names) != len(sources):
        raise ValueError(f"there are {len(sources)} runs, but {len(names)} names")
    if not sources:
        raise ValueError("there are no runs: give a folder, a log file, or a list of entries")
    runs = [_read(source, f"run {number}") for number, source in enumerate(sources, 1)]
    if not names:  # append numbers to repeated names
        different: dict[str, None] = {}
        for run in runs:
            candidates = (f"{run.name} ({i})" if i > 1 else run.name for i in count(1))
            different[next(c for c in candidates if c not in different)] = None
        names = list(different)
    return tuple(replace(run, name=name) for run, name in zip(runs, names, strict=True))


def _read(source: Any, name: str) -> Run:
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        folder = path.is_dir()
        place = path.resolve()
        name = place.name if folder or path.name != "log.jsonl" else place.parent.name
        try:
            entries: Iterable[Any] = read_log(path)
        except FileNotFoundError as error:
            what = "has no log.jsonl" if folder else "is not a run folder or a log"
            raise FileNotFoundError(f"{path} {what}: a Trainer writes a log to its folder") from error
        objective = _objective(path if folder else path.parent)
        return Run(name, _series(entries, str(path), objective), path if folder else None)
    if isinstance(source, Iterable) and not isinstance(source, Variable | Module | Mapping):
        return Run(name, _series(source, name))
    raise TypeError(f"a run must be a folder, a log file or a list of entries, not a {type(source).__name__}")


def _objective(folder: Path) -> str:
    """The name of a run's training loss. This is "loss", unless the last checkpoint's settings add terms to it."""
    try:
        settings = read_checkpoint(RunFolder(folder).last, mmap=True)["extra"]["settings"]["training"]
        more = [f"{word} {settings[name]:g}" for name, word in _ADDED.items() if settings.get(name)]
    except (OSError, RuntimeError, LookupError, TypeError, ValueError, AttributeError):  # it has no such settings
        return "loss"
    return f"training loss with {' and '.join(more)}" if more else "loss"


def _series(entries: Iterable[Any], source: str, objective: str = "loss") -> tuple[Series, ...]:
    """The quantities in a log, most important first. ``objective`` is the name of the training loss."""
    columns: dict[tuple[str, bool], list[tuple[int, float]]] = {}  # row and value
    log: list[Mapping[str, Any]] = []
    for row, entry in enumerate(entries):
        if not isinstance(entry, Mapping):
            raise ValueError(f"{source}, line {row + 1}, is not a log entry: {short(entry)}")
        for name, evaluated, value in _quantities(entry, log[-1] if log else {}):
            title = objective if name == "loss" and not evaluated else _WORDS.get(name, name)
            columns.setdefault((title, evaluated), []).append((row, value))
            if len(columns) > _MOST_COLUMNS:  # each is a curve to draw
                raise ValueError(f"{source}, line {row + 1}, exceeds the limit of {_MOST_COLUMNS:,} quantities")
        log.append(entry)
    places = {name: np.array([number(entry.get(name)) for entry in log]) for name in _PLACES}
    missing = ~np.isfinite(places["step"])
    if missing.all():
        places["step"] = np.arange(1.0, len(log) + 1)
    elif missing.any():
        raise ValueError(f"{source}, line {int(missing.argmax()) + 1}, has no step, but other lines do")
    best = {row for row, entry in enumerate(log) if entry.get("best") is True}
    shared: dict[bytes, dict[str, Floats]] = {}  # series with the same rows share a table of places
    series = []
    for (name, evaluated), points in columns.items():
        points.sort(key=lambda point: places["step"][point[0]])
        rows = np.array([row for row, _ in points])
        table = {n: a[rows] for n, a in places.items() if np.isfinite(a[rows]).all()}
        table = shared.setdefault(rows.tobytes(), table)
        places_of_best = sorted((i for i, (row, _) in enumerate(points) if row in best), key=rows.__getitem__)
        values = np.array([value for _, value in points])
        series.append(Series(name, evaluated, table, values, tuple(places_of_best) if evaluated else ()))
    return tuple(sorted(series, key=_rank))


def _quantities(entry: Mapping[str, Any], before: Mapping[str, Any]) -> Iterator[tuple[str, bool, float]]:
    """The numbers in an entry, as (name, whether from an evaluation, value). Nested numbers have dotted names."""
    for key, value in entry.items():
        evaluated = key == "evaluation" and isinstance(value, Mapping)
        if key not in _PLACES:
            yield from ((name, evaluated, x) for name, x in _flat(value if evaluated else {key: value}))
    if "evaluation" not in entry and "tokens_per_second" not in entry:  # evaluation time does not count
        seconds, tokens = (number(entry.get(key)) - number(before.get(key)) for key in ("seconds", "tokens"))
        if seconds > 0 and tokens >= 0 and math.isfinite(tokens / seconds):
            yield "tokens_per_second", False, tokens / seconds


def _flat(values: Mapping[Any, Any], prefix: str = "") -> Iterator[tuple[str, float]]:
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        elif value is None or (isinstance(value, Real) and not isinstance(value, bool)):
            yield f"{prefix}{key}", number(value)


def _rank(series: Series) -> tuple[int, bool, str]:
    """Sort key: loss, evaluations, learning rate, gradient norm, speed, then the rest by name."""
    if series.name == "loss" or series.name.startswith("training loss"):
        return 0, series.evaluated, ""
    if series.evaluated:
        return 1, True, series.name
    return (2 + FIRST.index(series.name), False, "") if series.name in FIRST else (9, False, series.name)


def number(value: Any) -> float:
    """Convert a number, or a tensor with a single number, to a float. Other types become NaN, and numbers too large to
    compute with become infinity."""
    if isinstance(value, Variable):
        value = value.item()  # type: ignore[attr-defined]
    try:
        plain = float(value) if isinstance(value, Real) else math.nan
    except OverflowError:
        plain = math.inf if value > 0 else -math.inf
    if abs(plain) > _LARGEST:
        return math.copysign(math.inf, plain)
    return 0.0 if abs(plain) < 1 / _LARGEST else plain
