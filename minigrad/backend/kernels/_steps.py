"""What the recurrent kernels share: the steps of packed rows, and σ through tanh.

These kernels are loops of a few calls a step, in the array's own namespace: CuPy runs them as well as NumPy.
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


def sigmoid(m: Any, x: Array) -> Array:
    """σ(x) = ½ tanh(x / 2) + ½, which never overflows"""
    return m.tanh(x * 0.5) * 0.5 + 0.5


def columns(x: Array, count: int) -> list[Array]:
    """(n, count · width) as ``count`` views of (n, width)."""
    width = x.shape[1] // count
    return [x[:, i * width : (i + 1) * width] for i in range(count)]
