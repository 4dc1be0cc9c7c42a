"""What the compiled recurrent kernels share: where each step's rows lie, products of a step, gates.

The rows of a batch do not ask for one another: a thread takes some of them through all steps, and waits for nobody.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled.functions import sigmoid, tanh
from ..compiled.loops import inline
from ..compiled.native import row
from ..dtype import Array

F = np.float32
ROWS = 16  # of the batch, that a thread takes at a time: with fewer a product is slower for each


def plan(sizes: tuple[int, ...], reverse: bool) -> Array:
    """(first row, how many) of each step, in the order in which the steps are taken, as int64."""
    counts = np.array(sizes, np.int64)
    steps = np.stack([np.cumsum(counts) - counts, counts], 1)
    return np.ascontiguousarray(steps[::-1] if reverse else steps)


def unfit(sizes: tuple[int, ...], *arrays: Any) -> bool:
    """Whether compiled loops leave these to NumPy."""
    return not sizes or any(type(a) is not np.ndarray or a.dtype != np.float32 or not a.size for a in arrays)


@inline
def sigmoid_of_sum(to: int, more: int, count: int) -> None:
    """a ← σ(a + b), of the ``count`` float32 at two addresses."""
    a, b = row(to, count), row(more, count)
    for j in range(count):
        a[j] = sigmoid(a[j] + b[j])


@inline
def tanh_of_sum(to: int, more: int, count: int) -> None:
    """a ← tanh(a + b)"""
    a, b = row(to, count), row(more, count)
    for j in range(count):
        a[j] = tanh(a[j] + b[j])


@inline
def copy(to: int, source: int, count: int) -> None:
    """a ← b"""
    a, b = row(to, count), row(source, count)
    for j in range(count):
        a[j] = b[j]
