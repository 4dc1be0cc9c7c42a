"""Windows for pieces of a signal, as spectra need them, by PyTorch's names."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...functions.arguments import Maybe
from ...functions.creation import creating, float_dtype
from ...functions.define import named
from ...tensor import Tensor

Shape = Callable[[Any], Any]  # the window's height at places from 0 to 1


def _window(length: int, periodic: bool, shape: Shape, dtype: Maybe) -> Any:
    """A window of a shape; a periodic one leaves out the last point, where the next would begin."""
    if length < 0:
        raise RuntimeError(f"a window's length cannot be negative: {length}")
    points = length + 1 if periodic else length
    heights = shape(np.arange(length) / max(points - 1, 1)) if length > 1 else np.ones(length)
    return heights.astype(float_dtype(dtype))


@creating
def hamming_window(
    window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, *, dtype: Maybe
) -> Any:
    """alpha - beta cos 2πt, (window_length,)."""
    return _window(window_length, periodic, lambda t: alpha - beta * np.cos(2 * math.pi * t), dtype)


def _fixed(name: str, doc: str, shape: Shape) -> Callable[..., Tensor]:
    """A window without parameters of its shape."""

    def window(window_length: int, periodic: bool = True, *, dtype: Maybe) -> Any:
        return _window(window_length, periodic, shape, dtype)

    return creating(named(window, name, f"{doc}, (window_length,)."))


bartlett_window = _fixed("bartlett_window", "A triangle", lambda t: 1 - np.abs(2 * t - 1))
hann_window = _fixed("hann_window", "(1 - cos 2πt) / 2", lambda t: 0.5 - 0.5 * np.cos(2 * math.pi * t))
blackman_window = _fixed(
    "blackman_window",
    "0.42 - 0.5 cos 2πt + 0.08 cos 4πt",
    lambda t: 0.42 - 0.5 * np.cos(2 * math.pi * t) + 0.08 * np.cos(4 * math.pi * t),
)


@creating
def kaiser_window(window_length: int, periodic: bool = True, beta: float = 12.0, *, dtype: Maybe) -> Any:
    """I₀(beta √(1 - (2t - 1)²)) / I₀(beta), (window_length,)."""
    shape: Shape = lambda t: np.i0(beta * np.sqrt(np.maximum(1 - (2 * t - 1) ** 2, 0))) / np.i0(beta)
    return _window(window_length, periodic, shape, dtype)
