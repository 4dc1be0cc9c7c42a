"""What the recurrent kernels share: the steps of packed rows, and σ through tanh.

These kernels are loops of a few calls a step, in the array's own namespace: CuPy runs them as well as NumPy.
σ(x) = ½ + ½ tanh(x / 2), so with x and the weights halved beforehand one tanh does for all gates.
"""

from __future__ import annotations

from typing import Any

from ..dtype import Array

Sizes = tuple[int, ...]  # of the batch at each step


def steps(sizes: Sizes, reverse: bool) -> list[tuple[slice, int]]:
    """The rows of each step, and how many they are, in the order in which the steps are taken."""
    parts, start = [], 0
    for n in sizes:
        parts.append((slice(start, start + n), n))
        start += n
    return parts[::-1] if reverse else parts


def halves(m: Any, parts: str, width: int, dtype: Any) -> Array:
    """For each part ``width`` times ½ (an "s", for σ) or 1 (a "t", for tanh), one after another."""
    return m.repeat(m.asarray([0.5 if p == "s" else 1.0 for p in parts], dtype), width)


def columns(x: Array, count: int) -> list[Array]:
    """(n, count · width) as ``count`` views of (n, width)."""
    width = x.shape[1] // count
    return [x[:, i * width : (i + 1) * width] for i in range(count)]
