"""Where the kernel of a convolution or of pooling goes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

Ints = tuple[int, ...]


class Window(NamedTuple):
    """Where a kernel goes: a number for each spatial axis.

    Attributes:
        kernel: how many elements it meets. stride: from one place to the next. dilation: from one element
            to the next. padding: how many are added (before, after).
    """

    kernel: Ints
    stride: Ints
    padding: tuple[tuple[int, int], ...]
    dilation: Ints

    def padded(self, lengths: Ints) -> Ints:
        """The lengths with the padding."""
        return tuple(n + before + after for n, (before, after) in zip(lengths, self.padding, strict=True))

    def span(self) -> Ints:
        """How far a kernel reaches."""
        return tuple(d * (k - 1) + 1 for k, d in zip(self.kernel, self.dilation, strict=True))

    def places(self, lengths: Ints) -> Ints:
        """To how many places it goes."""
        known = zip(self.padded(lengths), self.span(), self.stride, strict=True)
        return tuple((n - span) // s + 1 for n, span, s in known)

    def taps(self, places: Ints) -> Iterator[tuple[Ints, tuple[slice, ...]]]:
        """Each element of the kernel, by its index, and what it meets in the padded array."""
        for index in product(*map(range, self.kernel)):
            known = zip(index, self.dilation, places, self.stride, strict=True)
            yield index, tuple(slice(i * d, i * d + n * s, s) for i, d, n, s in known)

    def inner(self, lengths: Ints) -> tuple[slice, ...]:
        """What of the padded array is no padding."""
        return tuple(slice(before, before + n) for n, (before, _) in zip(lengths, self.padding, strict=True))
