"""Many arrays in one launch, as a model's parameters, their gradients and an optimiser's state: rows of arrays.

Kernels get a table of the arrays' addresses and the list of the parts into which all rows are cut, a block of threads
for each. Both stay on the GPU until they change: most steps upload nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from .dtype import Array
from .kernels._launch import BLOCK, launch
from .registry import xp

PART = 4096  # elements
_KEPT = 64  # tables on the GPU: gradients may alternate between a few places


class Many:
    """Rows of arrays, each of as many arrays.

    Attributes:
        rows: the argument. device: the GPU of the first array.
        fits: for each row whether kernels take it: contiguous arrays of one size and one floating dtype on that GPU;
            none where two rows have one memory.
        parts: how many parts there are.
    """

    def __init__(self, rows: Sequence[tuple[Array, ...]]) -> None:
        self.rows, self.device = rows, rows[0][0].device
        self._sizes = [_size(row, type(rows[0][0]), self.device.id) for row in rows]
        places = [row[0].data.ptr for row, size in zip(rows, self._sizes, strict=True) if size > 0]
        if len({*places}) < len(places):
            self._sizes = [-1] * len(rows)
        self.fits = [size >= 0 for size in self._sizes]
        self.parts = sum(-(-size // PART) for size in self._sizes if size > 0)

    def each(self, source: str, name: str, *args: Any, rates: Sequence[tuple[float, ...]] | None = None) -> None:
        """Run a kernel ``(MANY, args..., the row's rates...)``, once for all rows of one dtype and equal rates."""
        groups: dict[Any, list[int]] = {}
        for i, (row, size) in enumerate(zip(self.rows, self._sizes, strict=True)):
            if size > 0:
                groups.setdefault((row[0].dtype, rates[i] if rates else ()), []).append(i)
        before = 0
        for (_, numbers), members in groups.items():
            rows = [self.rows[i] for i in members]
            like, lib = rows[0][0], xp(rows[0][0])
            table = _table(lib, self.device.id, tuple(a.data.ptr for row in rows for a in row))
            parts = _parts(lib, self.device.id, tuple(self._sizes[i] for i in members))
            launch(like, source, name, (len(parts),), (BLOCK,), (table, parts, len(rows[0]), before, *args, *numbers))
            before += len(parts)


def _size(row: tuple[Any, ...], kind: Any, device: int) -> int:
    """The elements of each array of a row, -1 where kernels do not take it."""
    dtype, size = row[0].dtype, row[0].size
    for a in row:
        if type(a) is not kind or a.device.id != device or not a.flags.c_contiguous:
            return -1
        if a.dtype != dtype or a.size != size:
            return -1
    return int(size) if dtype.kind == "f" else -1


@lru_cache(_KEPT)
def _table(lib: Any, device: int, addresses: tuple[int, ...]) -> Array:
    return lib.asarray(np.array(addresses, np.int64))


@lru_cache(_KEPT)
def _parts(lib: Any, device: int, sizes: tuple[int, ...]) -> Array:
    """Of each part its row, its first element, where it stops, and where the row's parts begin and end."""
    parts: list[tuple[int, ...]] = []
    for i, n in enumerate(sizes):
        ends = len(parts), len(parts) + -(-n // PART)
        parts += [(i, k, min(k + PART, n), *ends) for k in range(0, n, PART)]
    return lib.asarray(np.array(parts, np.int64))
