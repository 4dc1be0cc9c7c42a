"""Arithmetic of curves: smoothing, and fewer points with the same shape."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from minigrad.viz.numbers import Floats


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
