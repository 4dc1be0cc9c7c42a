"""A run as it can be drawn: what its log says of each quantity, over steps, time and tokens."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...autograd.tape import Variable
from ...nn.module import Module
from ...training.log import read_log

Floats = NDArray[np.float64]
AXES = ("step", "seconds", "tokens")  # what a curve can be drawn over
_PLACES = (*AXES, "epoch")
FIRST = ("loss", "learning rate", "gradient norm", "tokens per second")  # the others come after these
_WORDS = {"lr": "learning rate", "grad_norm": "gradient norm", "tokens_per_second": "tokens per second"}


@dataclass(frozen=True)
class Series:
    """One quantity of a run.

    Attributes:
        name: "loss", "gradient norm", "bleu". evaluated: whether it was measured in evaluations.
        places: of each point its "step", "seconds", "tokens" and "epoch", as far as the log tells them.
        values: (n,), in order of steps; NaN and infinities as they were.
        best: the points that were the best evaluation when they were made.
    """

    name: str
    evaluated: bool
    places: Mapping[str, Floats]
    values: Floats
    best: tuple[int, ...] = ()


@dataclass(frozen=True)
class Run:
    """A run's name, its quantities, and its folder, if it has one."""

    name: str
    series: tuple[Series, ...]
    folder: Path | None = None


def read_runs(sources: Sequence[Any], names: Sequence[str] = ()) -> tuple[Run, ...]:
    """All runs, each with a name of its own.

    Args:
        sources: folders of ``minigrad.training``, log files, lists of entries, or one mapping from names to
            such. names: of the runs, in order; else those of the folders.

    Raises:
        FileNotFoundError: a folder has no log. TypeError: something that is no run.
        ValueError: a line that is no JSON object, an entry without a step, or as many names as not.
    """
    if isinstance(names, str):
        raise ValueError(f"names is a list of texts, not one text: {_short(names)}")
    if len(sources) == 1 and isinstance(sources[0], Mapping):
        names, sources = names or [str(name) for name in sources[0]], list(sources[0].values())
    if names and len(names) != len(sources):
        raise ValueError(f"there are {len(sources)} runs and {len(names)} names")
    if not sources:
        raise ValueError("there is no run: give a folder, a log file, or a list of entries")
    found: list[Run] = []
    for number, source in enumerate(sources, 1):
        run = _read(source, f"run {number}")
        found.append(Run(names[number - 1] if names else run.name, run.series, run.folder))
    return tuple(found) if names else _told_apart(found)


def _read(source: Any, name: str) -> Run:
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        folder = path.is_dir()
        place = path.resolve()
        own = place.name if folder or path.name != "log.jsonl" else place.parent.name
        try:
            entries: Iterable[Any] = read_log(path)
        except FileNotFoundError as error:
            what = "holds no log.jsonl" if folder else "is no folder of a run, and no log"
            raise FileNotFoundError(f"{path} {what}: a Trainer writes one to its folder") from error
        return Run(own, _series(entries, str(path)), path if folder else None)
    if isinstance(source, Iterable) and not isinstance(source, Variable | Module | Mapping):
        return Run(name, _series(source, name))
    raise TypeError(f"a run is a folder, a log file or a list of entries, not a {type(source).__name__}")


def _told_apart(runs: list[Run]) -> tuple[Run, ...]:
    """With numbers behind names that are there more than once."""
    found: dict[str, Run] = {}
    for run in runs:
        name, number = run.name, 1
        while name in found:
            number += 1
            name = f"{run.name} ({number})"
        found[name] = Run(name, run.series, run.folder)
    return tuple(found.values())


@dataclass
class _Column:
    """What one quantity is collected in: rows of the log, and values."""

    rows: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    best: list[int] = field(default_factory=list)


def _series(entries: Iterable[Any], source: str) -> tuple[Series, ...]:
    """The quantities that a log tells of, the best known first."""
    columns: dict[tuple[str, bool], _Column] = {}
    places: dict[str, list[float]] = {name: [] for name in _PLACES}
    before: Mapping[str, Any] = {}
    for row, entry in enumerate(entries):
        if not isinstance(entry, Mapping):
            raise ValueError(f"{source}, line {row + 1}, is no entry of a log: {_short(entry)}")
        for name in _PLACES:
            places[name].append(_number(entry.get(name)))
        _collect(columns, row, entry)
        told = "evaluation" in entry or "tokens_per_second" in entry
        if not told and (rate := _rate(before, entry)) is not None:
            _add(columns, "tokens_per_second", False, row, rate)
        before = entry
    arrays = {name: np.array(values, np.float64) for name, values in places.items()}
    _steps(arrays, source)
    shared: dict[bytes, dict[str, Floats]] = {}  # of the same rows: one table of places
    made = [_made(key, column, arrays, shared) for key, column in columns.items()]
    return tuple(sorted(made, key=_rank))


def _steps(arrays: dict[str, Floats], source: str) -> None:
    """Steps for all entries: their own, or where none has any, their numbers."""
    steps = arrays["step"]
    missing = ~np.isfinite(steps)
    if missing.all():
        arrays["step"] = np.arange(1.0, len(steps) + 1)
    elif missing.any():
        raise ValueError(f"{source}, line {int(missing.argmax()) + 1}, has no step, and others have")


def _collect(columns: dict[tuple[str, bool], _Column], row: int, entry: Mapping[str, Any]) -> None:
    """Note an entry's numbers: the nested ones under dotted names, an evaluation's under their own."""
    for key, value in entry.items():
        if key in _PLACES:
            continue
        if key == "evaluation" and isinstance(value, Mapping):
            for name, number in _flat(value):
                _add(columns, name, True, row, number, entry.get("best") is True)
        else:
            for name, number in _flat({key: value}):
                _add(columns, name, False, row, number)


def _flat(values: Mapping[Any, Any], prefix: str = "") -> Iterable[tuple[str, float]]:
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        elif value is None or (_is_number(value) and not isinstance(value, bool)):
            yield f"{prefix}{key}", _number(value)


def _add(
    columns: dict[tuple[str, bool], _Column], name: str, evaluated: bool, row: int, value: float, best: bool = False
) -> None:
    column = columns.setdefault((_WORDS.get(name, name), evaluated), _Column())
    if best:
        column.best.append(len(column.rows))
    column.rows.append(row)
    column.values.append(value)


def _rate(before: Mapping[str, Any], entry: Mapping[str, Any]) -> float | None:
    """Tokens per second since the line before, which may be an evaluation's: its time does not count."""
    passed = _number(entry.get("seconds")) - _number(before.get("seconds"))
    made = _number(entry.get("tokens")) - _number(before.get("tokens"))
    return made / passed if passed > 0 and made >= 0 and math.isfinite(made / passed) else None


def _made(
    key: tuple[str, bool], column: _Column, arrays: dict[str, Floats], shared: dict[bytes, dict[str, Floats]]
) -> Series:
    """A series, its points in order of steps."""
    rows = np.array(column.rows, np.int64)
    steps = arrays["step"][rows]
    order = np.argsort(steps, kind="stable")
    rows = rows[order]
    if (places := shared.get(rows.tobytes())) is None:
        places = {n: a[rows] for n, a in arrays.items() if np.isfinite(a[rows]).all()}
        shared[rows.tobytes()] = places
    rank = {int(old): new for new, old in enumerate(order)} if column.best else {}
    best = tuple(rank[i] for i in column.best)
    return Series(key[0], key[1], places, np.array(column.values, np.float64)[order], best)


def _rank(series: Series) -> tuple[int, bool, str]:
    """Loss, evaluations, learning rate, gradient norm, speed, and then the rest by name."""
    if series.name == "loss":
        return 0, series.evaluated, ""
    if series.evaluated:
        return 1, True, series.name
    return (2 + FIRST.index(series.name), False, "") if series.name in FIRST else (9, False, series.name)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating)


def _number(value: Any) -> float:
    """A number as a float, what is none as NaN, and one that is too large as infinity."""
    if value is None or isinstance(value, bool) or not _is_number(value):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= 60 else text[:59] + "…"
