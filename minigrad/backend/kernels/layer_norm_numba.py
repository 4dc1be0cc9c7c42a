"""Layer norm and RMS norm (which does not subtract the mean) over the last axis, row by row, and group norm."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from ..compiled.loops import FLOAT32, Cube, Flat, Rows, fits, grain, laid, loop
from ..dtype import Array
from . import Gradients, Needs, wanted

F = np.float32
_LONG = 1 << 16  # float32 sums of longer rows lose digits that NumPy's sums keep
_PART = 4096  # elements of a group that are summed in float32; these sums are added in float64
_SUMMED = 1 << 20  # bytes in a block whose columns are summed: large, as the blocks' sums are added at the end


@loop
def normalise(
    start: int, stop: int, x: Rows, weight: Flat, bias: Flat, eps: float, centred: int, out: Rows, stats: Rows
) -> None:
    """y = (x - mean) · scale · weight + bias, where scale = 1 / √(variance + eps). ``stats`` gets mean and scale."""
    width = x.shape[1]
    share = F(1.0) / F(width)
    for i in range(start, stop):
        total = F(0.0)
        if centred:
            for j in range(width):
                total += x[i, j]
        middle = total / F(width)
        squares = F(0.0)
        for j in range(width):
            squares += (x[i, j] - middle) * (x[i, j] - middle)
        factor = np.sqrt(F(1.0) / (squares * share + F(eps)))  # 1 / √ would be approximate, and NaN for infinity
        if factor == F(0.0):  # the squares overflow
            long = 0.0
            for j in range(width):
                long += np.float64(x[i, j] - middle) * np.float64(x[i, j] - middle)
            factor = F(1.0 / np.sqrt(long / width + eps))
        stats[0, i], stats[1, i] = middle, factor
        for j in range(width):
            out[i, j] = (x[i, j] - middle) * factor * weight[j] + bias[j]


def forward(
    needs: Needs, x: Array, weight: Array | None, bias: Array | None, eps: float, centred: bool = True
) -> tuple[Array, Any]:
    if not fits(x, weight, bias) or x.shape[-1] > _LONG:
        return NotImplemented
    x, out = laid(x), np.empty(x.shape, FLOAT32)
    shift = np.zeros(x.shape[-1], FLOAT32) if bias is None else laid(bias)
    count = x.size // x.shape[-1]
    stats = np.empty((2, count), FLOAT32)
    normalise(count, grain(count, 8 * x.shape[-1]), x, _weight(weight, x), shift, eps, centred, out, stats)
    return out, (stats, centred)


def _weight(weight: Array | None, x: Array) -> Array:
    return np.ones(x.shape[-1], FLOAT32) if weight is None else laid(weight)


@loop
def grad(
    start: int, stop: int, g: Rows, x: Rows, weight: Flat, stats: Rows, centred: int, out: Rows, sums: Cube, step: int
) -> None:
    """dx = scale (gw - mean(gw) - x̂ mean(gw x̂)); and each block's Σ g x̂, Σ g. Either output may be empty."""
    width = x.shape[1]
    share = F(1.0) / F(width)
    block = start // step
    if sums.size:
        for j in range(width):
            sums[block, 0, j] = sums[block, 1, j] = F(0.0)
    for i in range(start, stop):
        middle, factor = stats[0, i], stats[1, i]
        if sums.size:
            for j in range(width):
                sums[block, 0, j] += g[i, j] * ((x[i, j] - middle) * factor)
                sums[block, 1, j] += g[i, j]
        if out.size == 0:
            continue
        level, tilt = F(0.0), F(0.0)
        for j in range(width):
            level += g[i, j] * weight[j]
            tilt += g[i, j] * weight[j] * (x[i, j] - middle)
        level = level * share if centred else F(0.0)
        tilt = F(np.float64(tilt) * share * factor * factor)  # as factor² may underflow
        for j in range(width):
            out[i, j] = factor * (g[i, j] * weight[j] - level - (x[i, j] - middle) * tilt)


def backward(
    needs: Needs, saved: Any, g: Array, x: Array, weight: Array | None, bias: Array | None, eps: float
) -> Gradients:
    stats, centred = saved
    width, count = x.shape[-1], stats.shape[1]
    step = grain(count, 12 * width, _SUMMED)
    out = np.empty(x.shape, FLOAT32) if needs[0] else None
    sums = np.empty((-(-count // step), 2, width), FLOAT32) if needs[1] or needs[2] else None
    grad(count, step, laid(g), laid(x), _weight(weight, x), stats, centred, out, sums, step)
    dweight, dbias = (None, None) if sums is None else sums.sum(axis=0)
    return wanted(needs, out, dweight, dbias)


def rms_forward(needs: Needs, x: Array, weight: Array | None, eps: float) -> tuple[Array, Any]:
    return forward(needs, x, weight, None, eps, False)


def rms_backward(needs: Needs, saved: Any, g: Array, x: Array, weight: Array | None, eps: float) -> Gradients:
    return *backward((*needs[:2], False), saved, g, x, weight, None, eps)[:2], None


@loop
def normalise_groups(
    start: int, stop: int, x: Rows, size: int, weight: Flat, bias: Flat, eps: float, out: Rows, stats: Rows
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
        scale = np.sqrt(F(1.0) / (F(squares) * share + F(eps)))
        if scale == F(0.0):  # the squares overflow
            squares = 0.0
            for r in range(i * size, (i + 1) * size):
                for j in range(width):
                    squares += np.float64(x[r, j] - middle) * np.float64(x[r, j] - middle)
            scale = F(1.0 / np.sqrt(squares / (size * width) + eps))
        stats[0, i], stats[1, i] = middle, scale
        for r in range(i * size, (i + 1) * size):
            factor = scale * weight[r % weight.size] if weight.size else scale
            offset = bias[r % bias.size] if bias.size else F(0.0)
            for j in range(width):
                out[r, j] = (x[r, j] - middle) * factor + offset


def group_forward(
    needs: Needs, x: Array, weight: Array | None, bias: Array | None, groups: int, eps: float
) -> tuple[Array, Any]:
    if not fits(x, weight, bias):
        return NotImplemented
    rows, size, out = _rows(x), x.shape[1] // groups, np.empty(x.shape, FLOAT32)
    count = len(rows) // size
    stats = np.empty((2, count), FLOAT32)
    arguments = (rows, size, laid(weight), laid(bias), eps, _rows(out), stats)
    normalise_groups(count, grain(count, 8 * size * rows.shape[1]), *arguments)
    return out, stats


def _rows(x: Array) -> Array:
    """(N, C, ...) -> (N C, n)."""
    count = x.shape[0] * x.shape[1]
    return laid(x).reshape(count, x.size // count)


@loop
def group_grad(
    start: int, stop: int, g: Rows, x: Rows, size: int, weight: Flat, stats: Rows, out: Rows, sums: Rows
) -> None:
    """dx = scale (gw - mean(gw) - x̂ mean(gw x̂)); and each row's Σ g x̂, Σ g. ``out`` may be empty."""
    width = x.shape[1]
    share = F(1.0) / F(size * width)
    for i in range(start, stop):
        middle, factor = stats[0, i], stats[1, i]
        total, total_tilt = 0.0, 0.0
        for r in range(i * size, (i + 1) * size):
            row, row_tilt = 0.0, 0.0
            for a in range(0, width, _PART):
                some, grads, plain, crossed = x[r, a : a + _PART], g[r, a : a + _PART], F(0.0), F(0.0)
                for j in range(some.size):
                    plain += grads[j]
                    crossed += grads[j] * (some[j] - middle)
                row += float(plain)
                row_tilt += float(crossed)
            sums[0, r], sums[1, r] = F(row_tilt) * factor, F(row)
            w = weight[r % weight.size] if weight.size else F(1.0)
            total += w * sums[1, r]
            total_tilt += w * sums[0, r]
        level, tilt = F(total), F(total_tilt)
        if out.size == 0:
            continue
        level *= share
        tilt *= share * factor
        for r in range(i * size, (i + 1) * size):
            w = weight[r % weight.size] if weight.size else F(1.0)
            for j in range(width):
                out[r, j] = factor * (w * g[r, j] - level - (x[r, j] - middle) * tilt)


def group_backward(
    needs: Needs, stats: Array, g: Array, x: Array, weight: Array | None, bias: Any, groups: int, eps: float
) -> Gradients:
    rows, count = _rows(x), stats.shape[1]
    out = np.empty(x.shape, FLOAT32) if needs[0] else None
    sums = np.empty((2, *x.shape[:2]), FLOAT32)
    arguments = (rows, len(rows) // count, laid(weight), stats, None if out is None else _rows(out))
    group_grad(count, grain(count, 12 * x.size // count), _rows(g), *arguments, sums.reshape(2, len(rows)))
    return wanted(needs, out, *sums.sum(axis=1))


KERNELS = {
    "group_norm": SimpleNamespace(forward=group_forward, backward=group_backward),
    "layer_norm": SimpleNamespace(forward=forward, backward=backward),
    "rms_norm": SimpleNamespace(forward=rms_forward, backward=rms_backward),
}
