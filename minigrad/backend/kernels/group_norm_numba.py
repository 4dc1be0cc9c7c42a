"""Group norm, a group at a time: a row is a channel of a sample, and ``size`` rows are a group."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled.loops import FLOAT32, Flat, Rows, fits, grain, laid, loop
from ..dtype import Array
from . import Gradients, Needs, wanted

F = np.float32
_PART = 4096  # elements that are added one after the other in float32; their sums are added in float64


@loop
def normalise(
    start: int,
    stop: int,
    x: Rows,
    size: int,
    weight: Flat,
    bias: Flat,
    channels: int,
    eps: float,
    out: Rows,
    mean: Flat,
    scale: Flat,
) -> None:
    """y = (x - mean) · scale · weight + bias, where scale = 1 / √(variance + eps)."""
    width = x.shape[1]
    share = F(1.0) / F(size * width)
    for i in range(start, stop):
        total, squares = 0.0, 0.0
        for r in range(i * size, (i + 1) * size):
            for a in range(0, width, _PART):
                some, part = x[r, a : a + _PART], F(0.0)
                for j in range(some.size):
                    part += some[j]
                total += float(part)
        middle = F(total / (size * width))
        for r in range(i * size, (i + 1) * size):
            for a in range(0, width, _PART):
                some, part = x[r, a : a + _PART], F(0.0)
                for j in range(some.size):
                    part += (some[j] - middle) * (some[j] - middle)
                squares += float(part)
        mean[i], scale[i] = middle, np.sqrt(F(1.0) / (F(squares) * share + F(eps)))
        if scale[i] == F(0.0):  # the squares overflow
            squares = 0.0
            for r in range(i * size, (i + 1) * size):
                for j in range(width):
                    squares += np.float64(x[r, j] - middle) * np.float64(x[r, j] - middle)
            scale[i] = F(1.0 / np.sqrt(squares / (size * width) + eps))
        for r in range(i * size, (i + 1) * size):
            factor = scale[i] * weight[r % channels] if weight.size else scale[i]
            offset = bias[r % channels] if bias.size else F(0.0)
            for j in range(width):
                out[r, j] = (x[r, j] - middle) * factor + offset


def forward(
    needs: Needs, x: Array, weight: Array | None, bias: Array | None, groups: int, eps: float
) -> tuple[Array, Any]:
    if not fits(x, weight, bias):
        return NotImplemented
    rows, channels, out = _rows(x), x.shape[1], np.empty(x.shape, FLOAT32)
    size = channels // groups
    mean, scale = np.empty((2, len(rows) // size), FLOAT32)
    block = grain(len(mean), 8 * size * rows.shape[1])
    given = (rows, size, laid(weight), laid(bias), channels, eps)
    normalise(len(mean), block, *given, _rows(out), mean, scale)
    return out, (mean, scale)


def _rows(x: Array) -> Array:
    """(N, C, ...) -> (N C, n)."""
    count = x.shape[0] * x.shape[1]
    return laid(x).reshape(count, x.size // count)


@loop
def slope(
    start: int,
    stop: int,
    g: Rows,
    x: Rows,
    size: int,
    weight: Flat,
    channels: int,
    mean: Flat,
    scale: Flat,
    out: Rows,
    tilts: Flat,
    levels: Flat,
) -> None:
    """dx = scale (gw - mean(gw) - x̂ mean(gw x̂)); and each row's Σ g x̂, Σ g. ``out`` may have no elements."""
    width = x.shape[1]
    share = F(1.0) / F(size * width)
    for i in range(start, stop):
        middle, factor = mean[i], scale[i]
        total, total_tilt = 0.0, 0.0
        for r in range(i * size, (i + 1) * size):
            row, row_tilt = 0.0, 0.0
            for a in range(0, width, _PART):
                some, slopes, plain, crossed = x[r, a : a + _PART], g[r, a : a + _PART], F(0.0), F(0.0)
                for j in range(some.size):
                    plain += slopes[j]
                    crossed += slopes[j] * (some[j] - middle)
                row += float(plain)
                row_tilt += float(crossed)
            levels[r], tilts[r] = F(row), F(row_tilt) * factor
            w = weight[r % channels] if weight.size else F(1.0)
            total += w * levels[r]
            total_tilt += w * tilts[r]
        level, tilt = F(total), F(total_tilt)
        if out.size == 0:
            continue
        level *= share
        tilt *= share * factor
        for r in range(i * size, (i + 1) * size):
            w = weight[r % channels] if weight.size else F(1.0)
            for j in range(width):
                out[r, j] = factor * (w * g[r, j] - level - (x[r, j] - middle) * tilt)


def backward(
    needs: Needs, saved: Any, g: Array, x: Array, weight: Array | None, bias: Any, groups: int, eps: float
) -> Gradients:
    (mean, scale), rows = saved, _rows(x)
    out = np.empty(x.shape, FLOAT32) if needs[0] else None
    sums = np.empty((2, *x.shape[:2]), FLOAT32)
    size = len(rows) // len(mean)
    given = (_rows(g), rows, size, laid(weight), x.shape[1], mean, scale)
    slope(len(mean), grain(len(mean), 12 * x.size // len(mean)), *given, None if out is None else _rows(out), *sums)
    return wanted(needs, out, *sums.sum(axis=1))
