"""What softmax and its logarithm share: along which axis their loops run."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..compiled.loops import FLOAT32, Loop, fits, grain, laid, scratch
from ..dtype import Array

COLUMNS = 256  # worked on at once where rows lie across: as many of each row are in cache


def along(dim: int, by_rows: Loop, by_columns: Loop, *inputs: Array) -> Any:
    """One of the loops on (rows, n) or on (count, n, after), as the axis is the last or not; returns what it wrote.

    Args:
        by_rows: called with the inputs and the result.
        by_columns: called with the number of pieces of ``COLUMNS`` columns, the inputs, the result, and memory.
    """
    x = inputs[0]
    if not x.ndim or not fits(*inputs):
        return NotImplemented
    axis = dim % x.ndim
    length, after = x.shape[axis], math.prod(x.shape[axis + 1 :])
    out = np.empty(x.shape, FLOAT32)
    given = [laid(a) for a in inputs]
    each = (len(given) + 1) * 4 * length
    if after == 1:
        rows = x.size // length
        shaped = [a.reshape(rows, length) for a in (*given, out)]
        by_rows(rows, grain(rows, each), *shaped)
    else:
        shaped = [a.reshape(-1, length, after) for a in (*given, out)]
        pieces = -(-after // COLUMNS)
        count = len(shaped[0]) * pieces
        by_columns(count, grain(count, each * min(after, COLUMNS)), pieces, *shaped, scratch(2 * COLUMNS))
    return out


