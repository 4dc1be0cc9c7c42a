"""The taps of a resampled axis: of which old elements each new one is the sum."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np


class Taps:
    """The old elements of which each new one is the sum.

    Attributes:
        indices: of the old elements, (taps, new) int64; -1 for none.
        weights: of each, (taps, new) float64; None if all are 1.
        length: the number of old elements.
    """

    def __init__(self, indices: Any, weights: Any, length: int) -> None:
        self.indices = np.ascontiguousarray(indices, np.int64)
        self.weights, self.length = weights, length

    def __repr__(self) -> str:
        return f"Taps({self.length} -> {self.indices.shape[1]}, of {len(self.indices)})"

    @cached_property
    def turned(self) -> Taps:
        """The transpose: the new elements to which each old one has given, with the same weights."""
        weights = np.ones(self.indices.shape) if self.weights is None else self.weights
        taps, new = np.nonzero((self.indices >= 0) & (weights != 0))
        olds = self.indices[taps, new]
        order = np.lexsort((new, olds))
        olds, taps, new = olds[order], taps[order], new[order]
        count = np.bincount(olds.astype(np.intp), minlength=self.length)
        place = np.arange(len(olds)) - (np.cumsum(count) - count)[olds]
        indices = np.full((max(1, count.max(initial=0)), self.length), -1, np.int64)
        indices[place, olds] = new
        shares = np.zeros(indices.shape)
        shares[place, olds] = weights[taps, new]
        return Taps(indices, shares, self.indices.shape[1])
