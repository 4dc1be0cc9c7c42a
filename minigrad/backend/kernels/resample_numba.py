"""Resampling of an axis: rows of what lies behind it are added, or elements of the last axis."""

from __future__ import annotations

from math import prod

import numpy as np

from ..compiled.layout import at
from ..compiled.loops import FLOAT32, Flat, Indices, Strided, fits, grain, laid, loop
from ..compiled.native import row
from ..dtype import Array
from ..window import Taps
from . import Gradients, Needs, wanted

F = np.float32


@loop
def add_rows(
    start: int, stop: int, x: Strided, old: int, indices: Indices, weights: Flat, out: Strided, new: int, width: int
) -> None:
    """(count, old, width) -> (count, new, width), of which those from ``start`` on."""
    taps = len(indices) // new
    for i in range(start * new, stop * new):
        n, place = i // new, i % new
        to = row(at(out) + 4 * i * width, width)
        for k in range(taps):
            index, weight = indices[k * new + place], weights[k * new + place]
            seen = row(at(x) + 4 * (n * old + max(index, 0)) * width, width)
            if index < 0:
                if k == 0:
                    for j in range(width):
                        to[j] = F(0.0)
            elif k == 0:
                for j in range(width):
                    to[j] = weight * seen[j]
            else:
                for j in range(width):
                    to[j] += weight * seen[j]


@loop
def add_elements(
    start: int, stop: int, x: Strided, old: int, indices: Indices, weights: Flat, out: Strided, new: int
) -> None:
    """(count, old) -> (count, new), of which those from ``start`` on."""
    taps = len(indices) // new
    for n in range(start, stop):
        seen, to = row(at(x) + 4 * n * old, old), row(at(out) + 4 * n * new, new)
        for i in range(new):
            total = F(0.0)
            for k in range(taps):
                index = indices[k * new + i]
                total += weights[k * new + i] * seen[index] if index >= 0 else F(0.0)
            to[i] = total


def _applied(x: Array, axis: int, taps: Taps) -> Array:
    new, width = taps.indices.shape[1], prod(x.shape[axis + 1 :])
    shape = (*x.shape[:axis], new, *x.shape[axis + 1 :])
    out, count = np.empty(shape, FLOAT32), prod(x.shape[:axis])
    weights = np.ones(taps.indices.shape) if taps.weights is None else taps.weights
    given = laid(x), taps.length, taps.indices, weights.astype(FLOAT32, order="C"), out, new
    if width == 1:
        add_elements(count, grain(count, 4 * (taps.length + new)), *given)
    else:
        add_rows(count, grain(count, 4 * (taps.length + new) * width), *given, width)
    return out


def forward(needs: Needs, x: Array, axis: int, taps: Taps) -> tuple[Array, None]:
    return (_applied(x, axis, taps), None) if fits(x) and taps.indices.size else NotImplemented


def backward(needs: Needs, saved: None, g: Array, x: None, axis: int, taps: Taps) -> Gradients:
    return wanted(needs, _applied(g, axis, taps.turned))
