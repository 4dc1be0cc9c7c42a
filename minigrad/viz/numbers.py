"""Prepares arrays for pages and images: encodes them, averages them over cells, and computes their statistics."""

from __future__ import annotations

import base64
import difflib
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backend import xp

Array = NDArray[Any]
Floats = NDArray[np.float64]
_BLOCK = 1 << 16  # elements per block of statistics on the CPU, which fits into the cache
_SMALLEST, _LARGEST = 1e-140, 1e140  # numbers between these can be squared and summed in float64


def coded(numbers: Any, kind: str | None = None) -> str:
    """Encode numbers in base64, for ``viz.bytes`` in assets/base.js. ``kind`` is the dtype to store, such as "<f4"."""
    return base64.b64encode(np.ascontiguousarray(numbers, kind).tobytes()).decode()


def equal_parts(size: int, most: int) -> list[int]:
    """The boundaries 0, ..., size of at most ``most`` parts of nearly equal length along an axis."""
    parts = min(size, most)
    return [i * size // parts for i in range(parts + 1)]


def cell_means(matrix: Array, tall: Sequence[int], wide: Sequence[int]) -> Floats:
    """The mean of each cell. ``tall`` and ``wide`` are the row and column boundaries (see ``equal_parts``)."""
    sums = np.add.reduceat(matrix, wide[:-1], axis=1, dtype=np.float64)
    sums = np.add.reduceat(sums, tall[:-1], axis=0)
    means: Floats = sums / np.outer(np.diff(tall), np.diff(wide))
    return means


def checked_number(name: str, number: int, count: int, holder: str = "there are") -> int:
    """Normalise a layer or head index, which may be negative, to 0 or more. Raises ValueError if it is out of range."""
    if not -count <= number < count:
        raise ValueError(f"there is no {name} {number}: {holder} {count}" + f", from 0 to {count - 1}" * (count > 0))
    return number % count


def similar(name: str, candidates: Iterable[str]) -> str:
    """The most similar names, for a message: "; there is 'cat', 'cart'". Returns "" if no name is similar."""
    names = difflib.get_close_matches(name, [*candidates], 3, 0.5)
    return f"; there is {', '.join(map(repr, names))}" if names else ""


@np.errstate(all="ignore")
def statistics(array: Any) -> dict[str, float]:
    """The min, max, mean, std (dividing by n) and norm of the finite elements, and the counts of zeros and non-finite
    elements. Sums are computed in float64, block by block (Chan, Golub and LeVeque 1979, equation 2.1)."""
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
        centre = float(wide.mean())
        wide -= centre
        apart = centre - mean
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
