"""Axes of charts: the range that shows all numbers, round numbers along it, and how these are written."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from minigrad.viz.numbers import Floats

ENDS = (-1.0, 0.0, 1.0, 100.0)  # of what many quantities can be: margins do not pass them


@dataclass(frozen=True)
class Axis:
    """The numbers from ``low`` to ``high``; ``log``: by their logarithms."""

    low: float
    high: float
    log: bool = False

    @classmethod
    def of(cls, values: Iterable[Floats], log: bool = False) -> Axis:
        """One on which all these values have a place (``bounds``)."""
        return cls(*bounds([*values], log), log)

    def places(self, values: Floats, start: float, stop: float) -> Floats:
        """Where values lie if the axis goes from ``start`` to ``stop``; NaN for those without a place."""
        low, high = self.low, self.high
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.log:
                values, low, high = np.log(np.where(values > 0, values, np.nan)), math.log(low), math.log(high)
            return start + (values - low) / (high - low) * (stop - start)

    def ticks(self, about: int, unit: float = 1.0) -> list[float]:
        """Round numbers of units along the axis; of a logarithmic one ``log_ticks``."""
        if self.log:
            return log_ticks(self.low / unit, self.high / unit)
        return ticks(self.low / unit, self.high / unit, about)


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
    same = high - low <= 1e-9 * max(abs(low), abs(high))  # but for rounding
    if log:
        margin = 2.0 if same else (high / low) ** 0.04
        return low / margin, high * margin
    if same and abs(high) < 1e-12:
        return 0.0, 1.0
    margin = abs(low) / 10 if same else 0.04 * (high - low)
    # What is never below 0 has an axis from there on, and a share or a cosine one that ends at 1.
    below = (end for end in ENDS if end < low or (end == low and not same))
    start = 0.0 if 0 <= low < 0.15 * high else max([low - margin, *below])
    return start, min([high + margin, *(end for end in ENDS if end >= high)])


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
