"""The windows of convolutions and pooling, and the input elements from which resampling computes an axis."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

import numpy as np

Ints = tuple[int, ...]


class Window(NamedTuple):
    """The geometry of a kernel along each spatial axis: its size, the ``stride`` between positions, the ``dilation``
    between elements, and the ``padding`` (before, after)."""

    kernel: Ints
    stride: Ints
    padding: tuple[tuple[int, int], ...]
    dilation: Ints

    def padded(self, lengths: Ints) -> Ints:
        return tuple(n + before + after for n, (before, after) in zip(lengths, self.padding, strict=True))

    def span(self) -> Ints:
        """The extent of the kernel along each axis."""
        return tuple(d * (k - 1) + 1 for k, d in zip(self.kernel, self.dilation, strict=True))

    def places(self, lengths: Ints) -> Ints:
        """The number of kernel positions along each axis."""
        axes = zip(self.padded(lengths), self.span(), self.stride, strict=True)
        return tuple((n - span) // s + 1 for n, span, s in axes)

    def taps(self, places: Ints) -> Iterator[tuple[Ints, tuple[slice, ...]]]:
        """For each element of the kernel, its index and the slices of the padded array under it."""
        for index in product(*map(range, self.kernel)):
            axes = zip(index, self.dilation, places, self.stride, strict=True)
            yield index, tuple(slice(i * d, i * d + n * s, s) for i, d, n, s in axes)

    def inner(self, lengths: Ints) -> tuple[slice, ...]:
        """The slices that remove the padding from the padded array."""
        return tuple(slice(before, before + n) for n, (before, _) in zip(lengths, self.padding, strict=True))


class Taps:
    """How each new element along an axis is a weighted sum of old ones: the old elements' ``indices``, (taps, new)
    int64, -1 for none; their ``weights``, (taps, new) float64, or None if all are 1; and the old axis's ``length``."""

    def __init__(self, indices: Any, weights: Any, length: int) -> None:
        self.indices = np.ascontiguousarray(indices, np.int64)
        self.weights, self.length = weights, length

    def __repr__(self) -> str:
        return f"Taps({self.length} -> {self.indices.shape[1]}, of {len(self.indices)})"

    @cached_property
    def turned(self) -> Taps:
        """The transpose: the new elements to which each old element contributes, with the same weights."""
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
