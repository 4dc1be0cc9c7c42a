"""An array as it can be shown: all numbers of a small one, statistics and a coarse heat map of a large one.

Of an array on a GPU only the results of reductions are copied to the host. ``Stored`` is how such values
travel in a page: equal ones once, a byte for each cell of a heat map.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from ...backend import dtype as dt
from ...backend import of, xp
from ...backend.dtype import Array
from .data import Value

TABLE = 64  # the most elements that are shown one by one
CELLS = 32  # the most rows, and columns, of a heat map
HEAT_BYTES = 1_500_000  # of all heat maps of a page together; where they are more, their cells get larger
_BLOCK = 1 << 16  # elements that statistics are taken of at once on the CPU: they stay in cache
_SMALLEST, _LARGEST = 1e-140, 1e140  # what can be squared and added up in float64
_UNKNOWN = 255  # the cell of a number that is not finite


def value_of(array: Array) -> Value:
    """What is shown of an array of any dtype and shape.

    A table has 0 and 1 for bools, and of complex numbers the real and the imaginary parts in turn. Statistics
    and heat maps of complex numbers are those of their moduli. Statistics are of the finite elements.
    """
    table = found = cells = None
    if array.size <= TABLE:
        table = _table(array)
    else:
        m = xp(array)
        real = m.absolute(array) if array.dtype.kind == "c" else array
        found, cells = statistics(real), _heat(real)
    shape = tuple(int(n) for n in array.shape)
    device = str(of(array).device_of(array))
    return Value(shape, dt.of(array).name, device, int(array.nbytes), table, found, cells)


def outline(shape: tuple[int, ...], dtype: Any, device: str) -> Value:
    """An array whose numbers are gone, or not there yet: its shape (NumPy's dtype, the device's name)."""
    dtype = np.dtype(dtype)
    return Value(tuple(shape), dt.of_numpy(dtype).name, device, math.prod(shape) * dtype.itemsize)


def _table(array: Array) -> list[list[float]]:
    """Its elements as Python numbers, row by row of the last axis."""
    host = of(array).to_numpy(array).reshape(_rows_and_columns(array.shape))
    if host.dtype.kind == "c":
        host = np.stack((host.real, host.imag), -1).reshape(len(host), 2 * host.shape[1])
    if host.dtype.kind == "b":
        host = host.astype(np.uint8)
    rows: list[list[float]] = host.tolist()
    return rows


def _rows_and_columns(shape: tuple[int, ...]) -> tuple[int, int]:
    """Of the matrix whose columns are the last axis."""
    return math.prod(shape[:-1]), shape[-1] if shape else 1


@np.errstate(all="ignore")
def statistics(array: Array) -> dict[str, float]:
    """min, max, mean, std (divided by n) and norm of the finite elements; zeros and nan are counts.

    Mean and squares are added up in float64, block by block (Chan, Golub and LeVeque 1979, equation 2.1); of
    float64 numbers whose squares float64 does not hold, as parts of the largest.
    """
    m, flat = xp(array), array.reshape(-1)
    step = _BLOCK if m is np else flat.size
    low, high, count, mean, spread, zeros = math.inf, -math.inf, 0, 0.0, 0.0, 0
    for start in range(0, flat.size, step):
        block = flat[start : start + step]
        zeros += block.size - int(m.count_nonzero(block))
        if block.dtype.kind == "f" and not bool(m.isfinite(block).all()):
            block = block[m.isfinite(block)]
        if not (n := int(block.size)):
            continue
        low, high = min(low, float(block.min())), max(high, float(block.max()))
        wide = block.astype(np.float64)
        own = float(wide.mean())
        wide -= own
        apart = own - mean
        spread += float((wide * wide).sum()) + apart * apart * count * n / (count + n)
        mean += apart * n / (count + n)
        count += n
    if not count:
        low = high = mean = spread = math.nan
    std, norm = math.sqrt(spread / max(count, 1)), math.sqrt(spread + count * mean * mean)
    if (most := max(abs(low), abs(high))) > 0 and not _SMALLEST < most < _LARGEST:
        scaled = statistics(array / most)
        mean, std, norm = (most * scaled[name] for name in ("mean", "std", "norm"))
    return {"min": low, "max": high, "mean": mean, "std": std, "norm": norm, "zeros": zeros, "nan": flat.size - count}


@np.errstate(all="ignore")  # of infinities of both signs the mean is NaN
def _heat(array: Array) -> list[list[float]]:
    """Means over cells: neighbouring rows of the last axis and neighbouring columns go into one.

    Three digits, which is more than a colour can show, keep files small.
    """
    rows = array.reshape(_rows_and_columns(array.shape))
    cells = _merged(_merged(rows, 0), 1)
    return [[float(f"{cell:.3g}") for cell in row] for row in of(cells).to_numpy(cells).tolist()]


def _merged(array: Array, axis: int) -> Array:
    """Means over runs of equal length along an axis of a matrix, CELLS at most; the last is shorter."""
    n = array.shape[axis]
    run = max(1, -(-n // CELLS))
    whole = n - n % run
    if axis == 1:
        parts = [array[:, :whole].reshape(array.shape[0], -1, run).mean(axis=2, dtype=np.float64)]
        rest = array[:, whole:]
    else:
        parts = [array[:whole].reshape(-1, run, array.shape[1]).mean(axis=1, dtype=np.float64)]
        rest = array[whole:]
    if n % run:
        parts.append(rest.mean(axis=axis, keepdims=True, dtype=np.float64))
    return xp(array).concatenate(parts, axis=axis)


# In a page -------------------------------------------------------------------------------------------------


class Stored:
    """Values for a page, equal ones once: most gradients on an edge are those that arrive, as nothing else is
    added. Heat maps get coarser where they are many (HEAT_BYTES).

    Args:
        values: all that the page shows; it must keep them alive.
    """

    def __init__(self, values: Iterable[Value | None]) -> None:
        self.values: list[Value] = []
        self._places: dict[str, int] = {}
        self._seen: dict[int, int] = {}  # by id: to write a value out takes long
        for value in values:
            self.place(value)
        cells = sum(len(value.heat) * len(value.heat[0]) for value in self.values if value.heat)
        self._step = max(1, math.ceil(math.sqrt(cells / HEAT_BYTES)))

    def place(self, value: Value | None) -> int | None:
        """Where a value stands among those of the page; None for None."""
        if value is None:
            return None
        if id(value) not in self._seen:
            place = self._places.setdefault(repr(value), len(self.values))
            if place == len(self.values):
                self.values.append(value)
            self._seen[id(value)] = place
        return self._seen[id(value)]

    def packed(self) -> list[dict[str, Any]]:
        """All of them, for JSON."""
        return [{**vars(value), "heat": heat(value.heat, self._step)} for value in self.values]


@np.errstate(all="ignore")  # cells may hold infinities
def heat(cells: list[list[float]] | None, step: int = 1) -> dict[str, Any] | None:
    """A heat map, a byte a cell, from ``low`` (0) to ``high`` (254); means over ``step`` × ``step`` cells."""
    if not cells or not cells[0]:
        return None
    array = np.asarray(cells, np.float64)
    rows, columns = array.shape
    if step > 1:
        array = np.add.reduceat(array, range(0, rows, step), axis=0)
        array = np.add.reduceat(array, range(0, columns, step), axis=1)
        sizes = [np.diff([*range(0, length, step), length]) for length in (rows, columns)]
        array = array / np.outer(*sizes)
    known = array[np.isfinite(array)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 0.0)
    scale = (254 / (high - low)) if high > low else 0.0
    coded = np.where(np.isfinite(array), np.rint((array - low) * scale), _UNKNOWN)
    data = base64.b64encode(coded.astype(np.uint8).tobytes()).decode()
    return {"rows": array.shape[0], "columns": array.shape[1], "low": low, "high": high, "cells": data}
