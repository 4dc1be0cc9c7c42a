"""Compares the results of the two sides."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors import safe_open

TOLERANCE = 1e-4
SMALLEST = 1e-3  # the smallest scale: a gradient of 1e-9, which is rounding error, need not have the same digits


class Results(NamedTuple):
    """The results of an example."""

    arrays: dict[str, np.ndarray]  # numbers, by name
    equal: dict[str, Any]  # values that must be equal, by name
    seconds: float = 0.0  # running time


def read(path: Path) -> Results:
    """Read the file that ``run.py`` wrote."""
    with safe_open(path, "np") as file:
        metadata = file.metadata()
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (the file is no mapping)
    return Results(arrays, json.loads(metadata["equal"]), float(metadata["seconds"]))


def largest(ours: Results, theirs: Results) -> float:
    """The largest difference between two numbers, relative to the largest number in their array."""
    both = [name for name in theirs.arrays if name in ours.arrays]
    return max((distance(ours.arrays[name], theirs.arrays[name]) for name in both), default=0.0)


def distance(ours: np.ndarray, theirs: np.ndarray) -> float:
    """The largest difference relative to scale; infinite if the shapes, or the places of NaN or ∞, differ."""
    if ours.shape != theirs.shape:
        return np.inf
    a, b = ours.astype(np.float64), theirs.astype(np.float64)
    finite = np.isfinite(b)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True) or not np.isfinite(a[finite]).all():
        return np.inf
    scale = max(np.abs(b[finite]).max(initial=0.0), SMALLEST)
    return float(np.abs(a[finite] - b[finite]).max(initial=0.0) / scale)


def problems(ours: Results, theirs: Results) -> Iterator[str]:
    """Describe the differences: more than ``TOLERANCE`` in a float, and any difference in other values."""
    if not theirs.arrays and not theirs.equal:
        yield "the example returned nothing"
    for what, mine, other in (
        ("array", set(ours.arrays), set(theirs.arrays)),
        ("value", set(ours.equal), set(theirs.equal)),
    ):
        for name in sorted(mine ^ other):
            yield f"{what} {name} is {'missing' if name in other else 'one too many'}"
    for name in theirs.equal.keys() & ours.equal.keys():
        if ours.equal[name] != theirs.equal[name]:
            yield f"{name} is {ours.equal[name]!r}, PyTorch's {theirs.equal[name]!r}"
    for name in theirs.arrays.keys() & ours.arrays.keys():
        a, b = ours.arrays[name], theirs.arrays[name]
        if a.dtype != b.dtype or a.shape != b.shape:
            yield f"{name} is {a.dtype}{list(a.shape)}, PyTorch's {b.dtype}{list(b.shape)}"
        elif (difference := distance(a, b)) > (TOLERANCE if b.dtype.kind == "f" else 0.0):
            yield f"{name} differs by {difference:.1e}"
