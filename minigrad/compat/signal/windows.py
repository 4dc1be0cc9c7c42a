"""``torch.signal.windows``: windows of M points, as in SciPy, and the five windows in ``torch`` itself.

A window is a vector of heights from edge to edge. It is symmetric by default; ``sym=False`` omits the last of M + 1
points, where the next period would begin. All accept ``dtype`` (float32 or float64), ``device`` and ``requires_grad``.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from inspect import unwrap
from typing import Any

import numpy as np

from ...backend import dtype as dt
from ...backend.dtype import Array
from ...functions.arguments import Maybe
from ...functions.creation import creating, float_dtype
from ...functions.define import named
from ...tensor import Tensor
from ..ops.approximations import scaled_modified

__all__ = ["bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming"]
__all__ += ["hann", "kaiser", "nuttall"]


def _window(heights: Callable[..., Array]) -> Callable[..., Tensor]:
    """Make a window function from a function that computes heights in float64."""

    @functools.wraps(heights)
    def window(M: int, *, dtype: Maybe, **options: Any) -> Array:
        name = heights.__name__
        if M < 0:
            raise ValueError(f"{name} requires non-negative window length, got M={M}")
        kind = dt.get_default_dtype() if dtype is None else dt.as_dtype(dtype)
        if kind not in (dt.float32, dt.float64):
            raise ValueError(f"{name} expects float32 or float64 dtypes, got: {kind}")
        return heights(M, **options).astype(kind.numpy)

    return creating(window)


@_window
def bartlett(M: int, *, sym: bool = True) -> Array:
    """A triangle that is 0 at the edges: (M,)."""
    return 1 - np.abs(_places(M, sym))


@_window
def cosine(M: int, *, sym: bool = True) -> Array:
    """sin(π (k + ½) / M) for k = 0 ... M - 1: (M,)."""
    return np.sin(math.pi * (np.arange(M) + 0.5) / max(_points(M, sym), 1))


@_window
def exponential(M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True) -> Array:
    """e^(-|k - center| / tau) for k = 0 ... M - 1, centred in the middle by default: (M,).

    Raises ValueError if ``tau`` is not positive, or if ``center`` is passed for a symmetric window.
    """
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    middle = (_points(M, sym) - 1) / 2 if center is None else center
    return np.exp(-np.abs(np.arange(M) - middle) / tau)


@_window
def gaussian(M: int, *, std: float = 1.0, sym: bool = True) -> Array:
    """e^(-d² / (2 std²)) at a distance of d from the middle: (M,). Raises ValueError if ``std`` is not positive."""
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    return np.exp(-0.5 * ((np.arange(M) - (_points(M, sym) - 1) / 2) / std) ** 2)


@_window
def general_cosine(M: int, *, a: Sequence[float], sym: bool = True) -> Array:
    """Σ (-1)ⁱ aᵢ cos 2πit for t from 0 to 1: (M,). A single point is 1.

    Raises TypeError if ``a`` is not a list or tuple, and ValueError if it is empty.
    """
    if not isinstance(a, (list, tuple)):
        raise TypeError("Coefficients must be a list/tuple")
    if not a:
        raise ValueError("Coefficients cannot be empty")
    return _cosines(M, a, sym)


@_window
def general_hamming(M: int, *, alpha: float = 0.54, sym: bool = True) -> Array:
    """alpha - (1 - alpha) cos 2πt for t from 0 to 1: (M,)."""
    return _cosines(M, (alpha, 1 - alpha), sym)


@_window
def kaiser(M: int, *, beta: float = 12.0, sym: bool = True) -> Array:
    """I₀(beta √(1 - d²)) / I₀(beta) for d from -1 to 1: (M,). Raises ValueError for a negative ``beta``."""
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got {beta}")
    inner, most = beta * np.sqrt(np.maximum(1 - _places(M, sym) ** 2, 0)), np.array(float(beta))
    return scaled_modified(inner, 0) / scaled_modified(most, 0) * np.exp(inner - most)


def _points(M: int, sym: bool) -> int:
    """The number of points from edge to edge."""
    return M if sym or M <= 1 else M + 1


def _places(M: int, sym: bool) -> Array:
    """Positions of the points, from -1 to 1; a single point is at 0."""
    return np.linspace(-1, 1, _points(M, sym))[:M] if M != 1 else np.zeros(1)


def _cosines(M: int, a: Sequence[float], sym: bool) -> Array:
    if M == 1:
        return np.ones(1)
    angles = math.pi * (_places(M, sym) + 1)
    return sum(((-1) ** i * height * np.cos(i * angles) for i, height in enumerate(a)), np.zeros(M))


def _of_cosines(name: str, doc: str, *a: float) -> Callable[..., Tensor]:
    def heights(M: int, *, sym: bool = True) -> Array:
        return _cosines(M, a, sym)

    return _window(named(heights, name, f"{doc} for t from 0 to 1: (M,)."))


blackman = _of_cosines("blackman", "0.42 - 0.5 cos 2πt + 0.08 cos 4πt", 0.42, 0.5, 0.08)
hamming = _of_cosines("hamming", "0.54 - 0.46 cos 2πt", 0.54, 0.46)
hann = _of_cosines("hann", "(1 - cos 2πt) / 2", 0.5, 0.5)
nuttall = _of_cosines(
    "nuttall", "Four cosine terms with minimal side lobes (Nuttall 1981),", 0.3635819, 0.4891775, 0.1365995, 0.0106411
)


def _periodic(window: Callable[..., Tensor], length: int, periodic: bool, dtype: Maybe, **options: Any) -> Array:
    """The heights of a window, in any floating-point dtype."""
    if length < 0:
        raise RuntimeError(f"a window's length cannot be negative: {length}")
    heights: Array = unwrap(window)(length, sym=not periodic, **options)
    return heights.astype(float_dtype(dtype))


@creating
def hamming_window(
    window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, *, dtype: Maybe
) -> Any:
    """alpha - beta cos 2πt, (window_length,)."""
    return _periodic(general_cosine, window_length, periodic, dtype, a=(alpha, beta))


@creating
def kaiser_window(window_length: int, periodic: bool = True, beta: float = 12.0, *, dtype: Maybe) -> Any:
    """I₀(beta √(1 - (2t - 1)²)) / I₀(beta), (window_length,)."""
    return _periodic(kaiser, window_length, periodic, dtype, beta=abs(beta))


def _without_options(name: str, doc: str, like: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def window(window_length: int, periodic: bool = True, *, dtype: Maybe) -> Any:
        return _periodic(like, window_length, periodic, dtype)

    return creating(named(window, name, f"{doc}, (window_length,)."))


bartlett_window = _without_options("bartlett_window", "A triangle", bartlett)
blackman_window = _without_options("blackman_window", "0.42 - 0.5 cos 2πt + 0.08 cos 4πt", blackman)
hann_window = _without_options("hann_window", "(1 - cos 2πt) / 2", hann)
