"""Convolution, pooling and resampling. A convolution unrolls its windows into columns, and is then one matrix product.

Arrays are (N, C, *lengths) with any number of spatial axes. ``Window`` defines the kernel's positions ("places").
``columns`` (im2col) copies the elements under the kernel, and ``overlay`` (col2im) adds them back, so each is the
other's gradient. Likewise, each of ``convolve``, ``convolve_back`` and ``convolve_weight`` has the others as gradients.
"""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

import numpy as np

from ..backend import products, xp
from ..backend.dtype import Array, counted
from ..backend.window import Ints, Taps, Window
from .complex import IN_PLACE_OF
from .op import op
from .reduction import first_of, sum as sum_over


def padded(x: Array, window: Window, value: float = 0) -> Array:
    """x padded as the window requires."""
    if not any(map(any, window.padding)):
        return x
    lengths = x.shape[2:]
    out = xp(x).full((*x.shape[:2], *window.padded(lengths)), value, x.dtype)
    out[(..., *window.inner(lengths))] = x
    return out


@op("dx = overlay(g)", x=lambda g, shape, window: overlay(g, window, shape[2:]))
def columns(x: Array, window: Window) -> Array:
    """The input under each kernel element at each position (im2col): (N, C, *lengths) -> (C, *kernel, N, *places)"""
    places = window.places(x.shape[2:])
    rows = padded(x, window).swapaxes(0, 1)
    out = xp(x).empty((x.shape[1], *window.kernel, x.shape[0], *places), x.dtype)
    for index, at in window.taps(places):
        out[(slice(None), *index)] = rows[(..., *at)]
    return out


@op("dx = columns(g)", x=lambda g, window: columns(g, window))
def overlay(x: Array, window: Window, lengths: Ints) -> Array:
    """The elements of the columns, added to their sources (col2im): (C, *kernel, N, *places) -> (N, C, *lengths)"""
    n = len(window.kernel)
    kind = np.float32 if x.dtype == np.float16 else x.dtype  # many numbers are added
    out = xp(x).zeros((x.shape[n + 1], x.shape[0], *window.padded(lengths)), kind)
    rows = out.swapaxes(0, 1)
    for index, at in window.taps(x.shape[n + 2 :]):
        rows[(..., *at)] += x[(slice(None), *index)]
    return xp(x).ascontiguousarray(out[(..., *window.inner(lengths))], dtype=x.dtype)


@op(
    "dx = g laid over itself by W; dW = Σ g x over all places; db = Σ g",
    x=lambda g, weight, shape, window, groups: convolve_back(g, weight, window, groups, shape[2:]),
    weight=lambda g, x, window, groups: convolve_weight(x, g, window, groups),
    bias=lambda g: sum_over(g, (0, *range(2, len(g.shape))), False),
    holomorphic=True,
)
def convolve(x: Array, weight: Array, bias: Array, window: Window, groups: int = 1) -> Array:
    """Σ weight x over a window (LeCun et al. 1989): (N, C, *lengths) -> (N, O, *places)"""
    n, o, places = x.shape[0], weight.shape[0], window.places(x.shape[2:])
    a = weight.reshape(groups, o // groups, prod(weight.shape[1:]))
    out = products.matmul(a, _columns(x, window, groups)).reshape(o, n, *places).swapaxes(0, 1)
    if bias is None:
        return xp(x).ascontiguousarray(out)
    shift = bias.reshape(o, *(1,) * len(places))
    return xp(x).add(out, shift, out=xp(x).empty(out.shape, out.dtype))


@op(
    "dy = g convolved by W; dW = Σ y g over all places",
    y=lambda g, weight, window, groups: convolve(g, weight, None, window, groups),
    weight=lambda g, y, window, groups: convolve_weight(g, y, window, groups),
    holomorphic=True,
)
def convolve_back(y: Array, weight: Array, window: Window, groups: int, lengths: Ints) -> Array:
    """The kernel times each element of y, with overlaps added: (N, O, *places) -> (N, C, *lengths)"""
    o, c = weight.shape[0], weight.shape[1] * groups
    a = weight.reshape(groups, o // groups, prod(weight.shape[1:])).swapaxes(1, 2)
    patches = products.matmul(a, _by_group(y, groups)).reshape(c, *window.kernel, y.shape[0], *y.shape[2:])
    return overlay(patches, window, lengths)


@op(
    "dx = y laid over itself by g; dy = x convolved by g",
    x=lambda g, y, shape, window, groups: convolve_back(y, g, window, groups, shape[2:]),
    y=lambda g, x, window, groups: convolve(x, g, None, window, groups),
    holomorphic=True,
)
def convolve_weight(x: Array, y: Array, window: Window, groups: int) -> Array:
    """Σ y x over all positions: (N, C, *lengths), (N, O, *places) -> (O, C/groups, *kernel)"""
    product_of = products.matmul(_by_group(y, groups), _columns(x, window, groups).swapaxes(1, 2))
    return product_of.reshape(y.shape[1], x.shape[1] // groups, *window.kernel)


def _columns(x: Array, window: Window, groups: int) -> Array:
    """``columns`` as a matrix for each group, (groups, C/groups · kernel, N · places)."""
    patches = columns(x, window)
    rows = x.shape[1] // groups * prod(window.kernel)
    return patches.reshape(groups, rows, prod(patches.shape[len(window.kernel) + 1 :]))


def _by_group(y: Array, groups: int) -> Array:
    """(N, O, *P) as a matrix for each group, (groups, O/groups, N · P)."""
    return y.swapaxes(0, 1).reshape(groups, y.shape[1] // groups, y.shape[0] * prod(y.shape[2:]))


@op("dx = Σ g over the windows that hold an element", x=lambda g, shape, window: window_spread(g, window, shape[2:]))
def window_sum(x: Array, window: Window) -> Array:
    """Σ x over a window: (N, C, *lengths) -> (N, C, *places)"""
    places = window.places(x.shape[2:])
    out = xp(x).zeros((*x.shape[:2], *places), x.dtype)
    wide = padded(x, window)
    for _, at in window.taps(places):
        out += wide[(..., *at)]
    return out


@op("dx = Σ g over the window of an element", x=lambda g, window: window_sum(g, window))
def window_spread(x: Array, window: Window, lengths: Ints) -> Array:
    """Each element added to all elements of its window: (N, C, *places) -> (N, C, *lengths)"""
    out = xp(x).zeros((*x.shape[:2], *window.padded(lengths)), x.dtype)
    for _, at in window.taps(x.shape[2:]):
        out[(..., *at)] += x
    return xp(x).ascontiguousarray(out[(..., *window.inner(lengths))])


@op("dx = zeros with g added at cells", x=lambda g, shape, cells: put_picked(g, cells, shape[2:]))
def pick(x: Array, cells: Array) -> Array:
    """The elements whose flat indices in their plane are ``cells``: (N, C, *lengths) -> (N, C, *places)"""
    return xp(x).take(x.reshape(-1), _flat(cells, prod(x.shape[2:]))).reshape(cells.shape)


@op("dx = g at cells", x=lambda g, cells: pick(g, cells))
def put_picked(x: Array, cells: Array, lengths: Ints) -> Array:
    """Zeros, with each element of x added at its cell: the inverse of ``pick``"""
    m, planes, size = xp(x), x.shape[0] * x.shape[1], prod(lengths)
    out = m.zeros(planes * size, x.dtype)
    m.add.at(out, _flat(cells, size), x.reshape(-1))
    return out.reshape(*x.shape[:2], *lengths)


def _flat(cells: Array, size: int) -> Array:
    """The indices in the flattened array, from the flat indices in each plane."""
    m, planes = xp(cells), cells.shape[0] * cells.shape[1]
    each = cells.reshape(planes, prod(cells.shape[2:]))
    return (each + m.arange(planes)[:, None] * size).reshape(-1)


@op
def largest_cells(x: Array, window: Window) -> Array:
    """The flat index of each window's largest element, the first one in a tie; NaN counts as the largest"""
    m, places = xp(x), window.places(x.shape[2:])
    least = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    wide = padded(x, window, least)
    best = m.full((*x.shape[:2], *places), least, x.dtype)
    winner = m.zeros(best.shape, np.int32)  # the index (from 1) of the window's largest element so far
    steps = [0]  # the distance from the window's first element to each, in flat indices
    for number, (index, at) in enumerate(window.taps(places), 1):
        steps.append(_cell(x.shape[2:], [i * d for i, d in zip(index, window.dilation, strict=True)]))
        values = m.ascontiguousarray(wide[(..., *at)])
        better = (values > best) | (values != values)
        best = m.maximum(best, values)
        winner = m.maximum(winner, better * np.int32(number))  # faster than where, as it has no branches
    starts = [m.arange(p) * s - b for p, s, (b, _) in zip(places, window.stride, window.padding, strict=True)]
    firsts = [m.maximum(start, start % d) for start, d in zip(starts, window.dilation, strict=True)]
    cells = _grid(x.shape[2:], starts) + m.take(m.asarray(steps), winner)
    return counted(m.where(winner == 0, _grid(x.shape[2:], firsts), cells))  # all -inf: the first cell


def _cell(lengths: Ints, along: Any) -> Any:
    """The flat index of an element from its index along each axis, or of many elements from arrays that broadcast."""
    cell: Any = 0
    for n, place in zip(lengths, along, strict=True):
        cell = cell * n + place
    return cell


def _grid(lengths: Ints, along: list[Array]) -> Array:
    """The flat indices of all combinations of indices along the axes."""
    n = len(lengths)
    return _cell(lengths, [a.reshape((-1,) + (1,) * (n - i - 1)) for i, a in enumerate(along)])


@op
def largest_cells_at(x: Array, samples: Array, kernel: Ints, places: Ints) -> Array:
    """The flat index of each window's largest element, where a number s in [0, 1) places the windows along an axis

    x (N, C, *lengths), samples (N, C, axes) -> (N, C, *places). Window i < P - 1 begins at ⌊(i + s) α⌋ - ⌊s α⌋, where
    α = (L - K) / (P - 1), and window P - 1 is at the end of the axis (Graham 2014)."""
    m, n, lengths = xp(x), len(kernel), x.shape[2:]
    along = []
    for axis, (size, k, count) in enumerate(zip(lengths, kernel, places, strict=True)):
        sample, step = samples[..., axis, None], (size - k) / max(count - 1, 1)
        starts = m.trunc((m.arange(count) + sample) * step) - m.trunc(sample * step)
        starts[..., -1] = size - k
        shape = (*x.shape[:2], *(count if a == axis else 1 for a in range(n)), *(1,) * n)
        offsets = m.arange(k).reshape(tuple(k if a == axis else 1 for a in range(n)))
        along.append(starts.astype(np.int64).reshape(shape) + offsets)
    cells = m.broadcast_to(_cell(lengths, along), (*x.shape[:2], *places, *kernel))
    cells = cells.reshape(*x.shape[:2], *places, prod(kernel))
    windows = prod(places) * prod(kernel)
    values = m.take_along_axis(x.reshape(*x.shape[:2], prod(lengths)), cells.reshape(*x.shape[:2], windows), -1)
    return m.take_along_axis(cells, first_of(values.reshape(cells.shape), "argmax", -1)[..., None], -1)[..., 0]


@op
def largest_cells_of_bins(x: Array, sizes: Ints) -> Array:
    """The flat index of each bin's largest element, with ``sizes`` bins per axis"""
    m, lengths = xp(x), x.shape[2:]
    number = m.arange(prod(lengths)).reshape(lengths)
    out = m.empty((*x.shape[:2], *sizes), np.int64)
    for place in product(*map(range, sizes)):
        at = tuple(slice(*bin_of(i, n, size)) for i, n, size in zip(place, lengths, sizes, strict=True))
        part = x[(..., *at)]
        best = first_of(part.reshape(*x.shape[:2], prod(part.shape[2:])), "argmax", -1)
        out[(..., *place)] = m.take(number[at].reshape(-1), best)
    return out


def bin_of(i: int, length: int, bins: int) -> tuple[int, int]:
    """The start and end of bin ``i`` of ``bins``. Bins overlap unless the length is a multiple of ``bins``."""
    return i * length // bins, -((i + 1) * length // -bins)


@op("dx = the transposed sum of g", x=lambda g, axis, taps: resample(g, axis, taps.turned))
def resample(x: Array, axis: int, taps: Taps) -> Array:
    """Σ weights x[indices] along an axis: (..., old, ...) -> (..., new, ...)"""
    m, shape = xp(x), (-1, *(1,) * (x.ndim - axis - 1))
    if taps.indices.min(initial=0) < 0:  # -1 then refers to this last element
        none = m.zeros((*x.shape[:axis], 1, *x.shape[axis + 1 :]), x.dtype)
        x = m.concatenate((x, none), axis=axis)
    total: Any = None
    for i, indices in enumerate(taps.indices):
        part = m.take(x, m.asarray(indices), axis=axis)
        if taps.weights is not None:
            part *= m.asarray(taps.weights[i].reshape(shape), x.real.dtype)
        total = part if total is None else total + part
    return total


IN_PLACE_OF.update({columns: columns, overlay: overlay, resample: resample})
