"""Arithmetic of curves: smoothing, fewer points with the same shape, and round numbers for axes."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..numbers import Floats


def smooth(x: Floats, y: Floats, width: float) -> Floats:
    """Means of ``y`` weighed by exp(−|distance in x| / width), by a recursion to each side: no lag, and right where
    points are uneven. Values that are not finite have no weight, and stay as they are. ``x`` ascends."""
    if width <= 0 or len(y) < 3:
        return y
    known = np.isfinite(y)
    decay = np.exp(-np.diff(x) / width)
    sums = np.stack([np.where(known, y, 0.0), known.astype(np.float64)])
    total = _running(sums, decay) + _running(sums[:, ::-1], decay[::-1])[:, ::-1] - sums
    smoothed: Floats = np.where(known, total[0] / np.where(known, total[1], 1.0), y)
    return smoothed


def _running(rows: Floats, decay: Floats) -> Floats:
    """s[i] = rows[i] + decay[i−1] · s[i−1], of two rows at once."""
    values, weights = rows.tolist()
    a, b = values[0], weights[0]
    sums = [(a, b)]
    for value, weight, d in zip(values[1:], weights[1:], decay.tolist(), strict=True):
        a, b = value + d * a, weight + d * b
        sums.append((a, b))
    return np.array(sums).T


def thin(x: Floats, y: Floats, cells: int) -> NDArray[np.int64]:
    """Which points draw the same curve: in each of ``cells`` equal parts of x's range the first, the last,
    the smallest, the largest, and one that is not finite. Ascending; ``x`` ascends."""
    count = len(y)
    if count <= 4 * cells:
        return np.arange(count)
    kept = set[int]()
    cuts = np.searchsorted(x, np.linspace(x[0], x[-1], cells + 1)[1:-1])
    for part in np.split(np.arange(count), cuts):
        if not part.size:
            continue
        finite = np.isfinite(y[part])
        known = part[finite]
        kept.update((int(part[0]), int(part[-1])))
        if known.size:
            kept.update((int(known[y[known].argmin()]), int(known[y[known].argmax()])))
        if known.size < part.size:
            kept.add(int(part[finite.argmin()]))
    return np.array(sorted(kept), np.int64)


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers (1, 2 or 5 times a power of ten apart) within a range."""
    if not high > low:
        return [low]
    rough = (high - low) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = min((f * power for f in (1, 2, 5, 10)), key=lambda s: abs(math.log(s / rough)))
    first = math.ceil(low / step - 1e-9)
    return [float(f"{k * step:.12g}") for k in range(first, math.floor(high / step + 1e-9) + 1)]


def log_ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Powers of ten in a range of positive numbers; with 2 and 5 times them where these are few."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in ((1, 2, 5), (1, 3), (1,)):
        chosen = [f * 10.0**p for p in powers for f in factors if low <= f * 10.0**p <= high]
        if len(chosen) <= most:
            return chosen if len(chosen) > 2 else ticks(low, high, 4)
    return chosen[:: math.ceil(len(chosen) / most)]


def bounds(values: list[Floats], log: bool) -> tuple[float, float]:
    """The range of an axis that shows all these values: finite ones, on a logarithmic axis positive ones."""
    together = np.concatenate(values) if values else np.empty(0)
    together = together[np.isfinite(together) & (together > 0 if log else True)]
    if not together.size:
        return (0.1, 1.0) if log else (0.0, 1.0)
    low, high = float(together.min()), float(together.max())
    if high - low <= 1e-9 * max(abs(low), abs(high)):  # the same, but for rounding
        return (low / 2, high * 2) if log else (low - abs(low) / 10 - 1e-12, high + abs(high) / 10 + 1e-12)
    if log:
        margin = (high / low) ** 0.04
        return low / margin, high * margin
    margin = 0.04 * (high - low)
    return (0.0 if 0 <= low < 0.15 * high else low - margin), high + margin


def on_axis(value: float) -> str:
    """A number as it stands at an axis: 0.25, 1,500, 20k, 3M, 2.5e-5."""
    size = abs(value)
    if size >= 1e9 or 0 < size < 1e-4:
        mantissa, exponent = f"{value:.2e}".split("e")
        return f"{float(mantissa):g}e{int(exponent)}"
    for unit, letter in ((1e6, "M"), (1e3, "k")):
        if size >= 10 * unit or (unit == 1e6 and size >= unit):
            return f"{value / unit:g}{letter}"
    return f"{value:,.6g}"
