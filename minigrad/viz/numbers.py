"""Arrays on their way into pages and pictures: off a device, into few cells, and into text."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Floats = NDArray[np.float64]


def host(value: Any) -> Array:
    """A tensor, an array on any device, or nested lists, as a NumPy array: a copy only where that is needed."""
    if hasattr(value, "detach"):
        return np.asarray(value.detach().cpu().numpy())
    return np.asarray(value.get() if hasattr(value, "get") and hasattr(value, "shape") else value)  # get: CuPy's


def coded(numbers: Any, kind: str | None = None) -> str:
    """Numbers as base64 of their bytes, for ``viz.bytes`` in assets/base.js; ``kind`` is their dtype: "<f4"."""
    return base64.b64encode(np.ascontiguousarray(numbers, kind).tobytes()).decode()


def equal_parts(size: int, most: int) -> list[int]:
    """The borders between at most so many parts of an axis, of equal length or nearly: 0, ..., size."""
    parts = min(size, most)
    return [i * size // parts for i in range(parts + 1)]


def cell_means(matrix: Array, tall: Sequence[int], wide: Sequence[int]) -> Floats:
    """Means over the cells between borders of rows and borders of columns (see ``equal_parts``)."""
    sums = np.add.reduceat(matrix, tall[:-1], axis=0, dtype=np.float64)
    sums = np.add.reduceat(sums, wide[:-1], axis=1)
    means: Floats = sums / np.outer(np.diff(tall), np.diff(wide))
    return means


def checked_texts(name: str, texts: Any) -> tuple[str, ...]:
    """A list of texts, of whatever it holds.

    Raises:
        ValueError: it is one text, not a list.
    """
    if isinstance(texts, str):
        raise ValueError(f"{name} is a list of texts, not one text: {texts[:24]!r}")
    return tuple(map(str, texts))
