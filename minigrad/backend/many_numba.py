"""Many arrays in one compiled loop, as a model's parameters, their gradients and an optimiser's state: rows of arrays.

A row is what belongs together, a parameter and its gradient for example: contiguous float32 of one size. Loops get a
table of the array objects' addresses, and the list of parts into which all rows are cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np

from .compiled.crew import DTYPE, FLAGS
from .compiled.layout import HEAD, at, volume
from .compiled.loops import FLOAT32, Indices, loop
from .compiled.native import word
from .dtype import Array

PART = 4096  # elements
GRAIN = 8  # parts that a thread takes at once: many arrays are small
_CONTIGUOUS, _WRITEABLE = 0x1, 0x400  # NumPy's flags
_FITTING = _CONTIGUOUS | _WRITEABLE
_KIND = HEAD - 8  # where every object has its type


@loop
def look(start: int, stop: int, table: Indices, kind: int, dtype: int, sizes: Indices, places: Indices) -> None:
    """Of each row the elements of an array, -1 where a loop cannot take it, and where the first array's data are."""
    columns = table.size // sizes.size
    for i in range(start, stop):
        size, places[i] = -1, -i
        for j in range(columns):
            a = table[i * columns + j]
            if word(a + _KIND) != kind or word(a + DTYPE) != dtype or (word(a + FLAGS) & _FITTING) != _FITTING:
                size = -1
            elif j == 0:
                size = volume(a, 0)
                places[i] = at(a) if size else -i
            elif size != volume(a, 0):
                size = -1
        sizes[i] = size


class Many:
    """Rows of arrays, each of as many arrays.

    Attributes:
        table: the addresses of their objects, (rows, arrays of a row).
        fits: for each row whether loops take it; none where two rows have one memory.
        parts: the (row, first element, elements) of each part, of all rows that fit.
    """

    def __init__(self, rows: Sequence[tuple[Array, ...]]) -> None:
        sizes = self._look(rows)
        if min(sizes) < 0:
            rows = [tuple(map(_known, row)) for row in rows]
            sizes = self._look(rows)
        self.rows = rows  # for as long as their addresses are in use
        self.fits = [size >= 0 for size in sizes]
        self.parts = _parts(tuple(sizes))

    def each(self, update: Any, *args: Any) -> None:
        """Run a loop ``(start, stop, parts, table, arrays of a row, args...)`` over all parts."""
        update(len(self.parts), GRAIN, self.parts, self.table, len(self.rows[0]), *args)

    def _look(self, rows: Sequence[tuple[Array, ...]]) -> list[int]:
        """Each row's elements, -1 where loops do not take it."""
        count = len(rows)
        self.table = np.fromiter(map(id, chain.from_iterable(rows)), np.int64, count * len(rows[0]))
        sizes, places = np.empty((2, count), np.int64)
        look(count, count, self.table, id(np.ndarray), id(FLOAT32), sizes, places)
        return [-1] * count if len({*places.tolist()}) < count else sizes.tolist()


def _known(array: Array) -> Array:
    """An array that was unpickled has a dtype of its own, which loops do not know: the same memory with NumPy's."""
    return array.view(FLOAT32) if type(array) is np.ndarray and array.dtype == FLOAT32 else array


@lru_cache(64)
def _parts(sizes: tuple[int, ...]) -> Array:
    """Rows of these sizes, cut."""
    cut = [(i, k, min(PART, n - k)) for i, n in enumerate(sizes) for k in range(0, n, PART)]
    return np.array(cut, np.int64).reshape(-1, 3)
