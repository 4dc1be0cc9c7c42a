"""An array as it can be shown: all numbers of a small one, statistics and a coarse heat map of a large one."""

from __future__ import annotations

import math
from dataclasses import is_dataclass
from functools import partial
from typing import Any

import numpy as np

from ...backend import dtype as dt
from ...backend import of, xp
from ...backend.dtype import Array
from ..numbers import cell_means, coded, statistics
from .graph_data import Value

TABLE = 64  # the most elements that are shown one by one
CELLS = 32  # the most rows, and columns, of a heat map
HEAT_BYTES = 1_500_000  # of all heat maps of a page together; where they are more, their cells get larger
FEW = 16  # elements that a line of text has as numbers
_UNKNOWN = 255  # the cell of a number that is not finite


def value_of(array: Array) -> Value:
    """What is shown of an array; of complex numbers a table of both parts in turn, else of the moduli."""
    shape, device = tuple(int(n) for n in array.shape), str(of(array).device_of(array))
    value = partial(Value, shape, dt.of(array).name, device, int(array.nbytes))
    if array.size <= TABLE:
        return value(_table(array))
    real = xp(array).absolute(array) if array.dtype.kind == "c" else array
    return value(None, statistics(real), _heat(real))


def outline(shape: tuple[int, ...], dtype: Any, device: str) -> Value:
    """An array whose numbers are gone, or not there yet: its shape (NumPy's dtype, the device's name)."""
    dtype = np.dtype(dtype)
    return Value(tuple(shape), dt.of_numpy(dtype).name, device, math.prod(shape) * dtype.itemsize)


def _table(array: Array) -> list[list[float]]:
    host = np.ascontiguousarray(_matrix(of(array).to_numpy(array)))
    if host.dtype.kind in "bc":
        host = host.view(np.uint8 if host.dtype.kind == "b" else host.real.dtype)
    rows: list[list[float]] = host.tolist()
    return rows


def _matrix(array: Array) -> Array:
    return array.reshape(math.prod(array.shape[:-1]), array.shape[-1] if array.shape else 1)


@np.errstate(all="ignore")  # of infinities of both signs the mean is NaN
def _heat(array: Array) -> list[list[float]]:
    """Means over cells of neighbours, in three digits; no cell has rows of two blocks."""
    matrix = _matrix(of(array).to_numpy(array))
    (rows, columns), count = matrix.shape, blocks(array.shape)
    high, wide = -(-(rows // count) // (CELLS // count)), -(-columns // CELLS)  # of a cell; the last may be smaller
    tops = [top for first in range(0, rows, rows // count) for top in range(first, first + rows // count, high)]
    cells = cell_means(matrix, [*tops, rows], [*range(0, columns, wide), columns])
    return [[float(f"{cell:.3g}") for cell in row] for row in cells.tolist()]


def blocks(shape: tuple[int, ...]) -> int:
    """How many matrices of an array, such as heads, stand apart in its heat map: all, if each has a row of cells."""
    count = math.prod(shape[:-2])
    return count if 1 < count <= CELLS else 1


def summary(value: Value) -> str:
    """Shape, and all of a few numbers; of more some statistics, and how many are not finite."""
    numbers = value.statistics
    if value.table is not None:
        array: Array = np.array(value.table, np.float64)
        array = (array.view(np.complex128) if value.dtype.startswith("complex") else array).reshape(value.shape)
        if array.size <= FEW:
            return f"{value.shape} = {_nested(array)}"
        numbers = statistics(np.absolute(array) if array.dtype.kind == "c" else array)
    if numbers is None:
        return str(value.shape)
    wrong = round(numbers["nan"])
    parts = [f"{name} {numbers[name]:.4g}" for name in ("min", "max", "norm") if wrong < math.prod(value.shape)]
    return f"{value.shape} with {', '.join(parts + [f'{wrong} not finite'] * (wrong > 0))}"


def _nested(array: Any) -> str:
    """All its numbers in brackets: "[[1, 2], [3, 4]]", "[1+2j]"."""
    return f"[{', '.join(map(_nested, array))}]" if array.ndim else f"{array.item() + 0.0:.4g}"


class Stored:
    """All values of a page, equal ones once. Heat maps get coarser where they are many (HEAT_BYTES)."""

    def __init__(self) -> None:
        self.values: list[Value] = []
        self._places: dict[str, int] = {}
        self._seen: dict[int, int] = {}  # by id: to write a value out takes long

    def encoded(self, data: Any) -> Any:
        """Data for JSON: dataclasses as dictionaries, and values by their places among those of the page."""
        if isinstance(data, Value):
            if id(data) not in self._seen:
                place = self._seen[id(data)] = self._places.setdefault(repr(data), len(self.values))
                if place == len(self.values):
                    self.values.append(data)
            return self._seen[id(data)]
        if isinstance(data, list | tuple):
            return [self.encoded(inner) for inner in data]
        if isinstance(data, dict):
            return {key: self.encoded(inner) for key, inner in data.items()}
        return self.encoded(vars(data)) if is_dataclass(data) else data

    def packed(self) -> list[dict[str, Any]]:
        cells = sum(len(value.heat) * len(value.heat[0]) for value in self.values if value.heat)
        step = max(1, math.ceil(math.sqrt(cells / HEAT_BYTES)))
        return [{**vars(value), "heat": heat(value.heat, step, blocks(value.shape))} for value in self.values]


@np.errstate(all="ignore")  # cells may hold infinities
def heat(cells: list[list[float]] | None, step: int = 1, blocks: int = 1) -> dict[str, Any] | None:
    """A heat map, a byte a cell, from ``low`` (0) to ``high`` (254); means over ``step`` × ``step`` cells."""
    if not cells or not cells[0]:
        return None
    rows, columns = len(cells), len(cells[0])
    array = cell_means(np.array(cells), [*range(0, rows, step), rows], [*range(0, columns, step), columns])
    known = array[np.isfinite(array)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 0.0)
    scale = (254 / (high - low)) if high > low else 0.0
    shades = np.where(np.isfinite(array), np.rint((array - low) * scale), _UNKNOWN)
    sizes = {"rows": len(array), "columns": array.shape[1], "blocks": 1 if rows // blocks % step else blocks}
    return {**sizes, "low": low, "high": high, "cells": coded(shades, "u1")}
