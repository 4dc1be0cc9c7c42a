"""The five windows in ``torch``. A window is a vector of heights from edge to edge, for t from 0 to 1. By default it is
periodic: the last of window_length + 1 points, where the next period begins, is omitted."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...backend.dtype import Array
from ...functions.arguments import Maybe
from ...functions.creation import creating, float_dtype
from ...functions.define import named
from ...tensor import Tensor
from ..ops.approximations import scaled_modified


def _heights(length: int, periodic: bool, dtype: Maybe, height: Callable[[Array], Array]) -> Array:
    """The heights at all points in any floating-point dtype; a single point is in the middle."""
    if length < 0:
        raise RuntimeError(f"a window's length cannot be negative: {length}")
    points = length + 1 if periodic and length > 1 else length
    heights: Array = height(np.linspace(0, 1, points)[:length] if length != 1 else np.full(1, 0.5))
    return heights.astype(float_dtype(dtype))


def _cosines(*a: float) -> Callable[[Array], Array]:
    """Σ (-1)ⁱ aᵢ cos 2πit, and 1 in the middle of a window with a single point."""

    def height(t: Array) -> Array:
        total = sum((-1) ** i * factor * np.cos(2 * math.pi * i * t) for i, factor in enumerate(a))
        return np.ones(1) if len(t) == 1 else np.asarray(total)

    return height


@creating
def hamming_window(
    window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, *, dtype: Maybe
) -> Any:
    """alpha - beta cos 2πt, (window_length,)."""
    return _heights(window_length, periodic, dtype, _cosines(alpha, beta))


@creating
def kaiser_window(window_length: int, periodic: bool = True, beta: float = 12.0, *, dtype: Maybe) -> Any:
    """I₀(beta √(1 - (2t - 1)²)) / I₀(beta), (window_length,)."""

    def height(t: Array) -> Array:
        inner, most = abs(beta) * np.sqrt(np.maximum(1 - (2 * t - 1) ** 2, 0)), np.array(float(abs(beta)))
        return scaled_modified(inner, 0) / scaled_modified(most, 0) * np.exp(inner - most)

    return _heights(window_length, periodic, dtype, height)


def _without_options(name: str, doc: str, height: Callable[[Array], Array]) -> Callable[..., Tensor]:
    def window(window_length: int, periodic: bool = True, *, dtype: Maybe) -> Any:
        return _heights(window_length, periodic, dtype, height)

    return creating(named(window, name, f"{doc}, (window_length,)."))


bartlett_window = _without_options("bartlett_window", "A triangle", lambda t: 1 - np.abs(2 * t - 1))
blackman_window = _without_options("blackman_window", "0.42 - 0.5 cos 2πt + 0.08 cos 4πt", _cosines(0.42, 0.5, 0.08))
hann_window = _without_options("hann_window", "(1 - cos 2πt) / 2", _cosines(0.5, 0.5))
