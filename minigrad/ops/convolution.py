"""Convolution. A window is unrolled into columns, so that it becomes one product of matrices.

Arrays are (N, C, *lengths) with any number of spatial axes. ``Window`` says where the kernel goes; ``columns`` takes
out what it meets there and ``overlay`` adds it back: each is the other's gradient. The products ``convolve``,
``convolve_back`` (the transposed convolution) and ``convolve_weight`` are each other's, too.
"""

from __future__ import annotations

from math import prod

import numpy as np

from ..backend import products, xp
from ..backend.dtype import Array
from ..backend.window import Ints, Window
from .complex import IN_PLACE_OF
from .op import op
from .reduction import sum as sum_over


def padded(x: Array, window: Window, value: float = 0) -> Array:
    """x with the window's padding."""
    if not any(map(any, window.padding)):
        return x
    lengths = x.shape[2:]
    out = xp(x).full((*x.shape[:2], *window.padded(lengths)), value, x.dtype)
    out[(..., *window.inner(lengths))] = x
    return out


@op("dx = overlay(g)", x=lambda g, shape, window: overlay(g, window, shape[2:]))
def columns(x: Array, window: Window) -> Array:
    """What each element of a kernel meets at each place: (N, C, *lengths) -> (C, *kernel, N, *places)"""
    places = window.places(x.shape[2:])
    rows = padded(x, window).swapaxes(0, 1)
    out = xp(x).empty((x.shape[1], *window.kernel, x.shape[0], *places), x.dtype)
    for index, at in window.taps(places):
        out[(slice(None), *index)] = rows[(..., *at)]
    return out


@op("dx = columns(g)", x=lambda g, window: columns(g, window))
def overlay(x: Array, window: Window, lengths: Ints) -> Array:
    """What ``columns`` takes out, added back: (C, *kernel, N, *places) -> (N, C, *lengths)"""
    n = len(window.kernel)
    kind = np.float32 if x.dtype == np.float16 else x.dtype  # many are added up
    out = xp(x).zeros((x.shape[n + 1], x.shape[0], *window.padded(lengths)), kind)
    rows = out.swapaxes(0, 1)
    for index, at in window.taps(x.shape[n + 2 :]):
        rows[(..., *at)] += x[(slice(None), *index)]
    return xp(x).ascontiguousarray(out[(..., *window.inner(lengths))], dtype=x.dtype)


IN_PLACE_OF.update({columns: columns, overlay: overlay})


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
    """Each element of y times the kernel, laid over each other: (N, O, *places) -> (N, C, *lengths)"""
    o, c = weight.shape[0], weight.shape[1] * groups
    a = weight.reshape(groups, o // groups, prod(weight.shape[1:])).swapaxes(1, 2)
    taken = products.matmul(a, _by_group(y, groups)).reshape(c, *window.kernel, y.shape[0], *y.shape[2:])
    return overlay(taken, window, lengths)


@op(
    "dx = y laid over itself by g; dy = x convolved by g",
    x=lambda g, y, shape, window, groups: convolve_back(y, g, window, groups, shape[2:]),
    y=lambda g, x, window, groups: convolve(x, g, None, window, groups),
    holomorphic=True,
)
def convolve_weight(x: Array, y: Array, window: Window, groups: int) -> Array:
    """Σ y x over all places: (N, C, *lengths), (N, O, *places) -> (O, C/groups, *kernel)"""
    product_of = products.matmul(_by_group(y, groups), _columns(x, window, groups).swapaxes(1, 2))
    return product_of.reshape(y.shape[1], x.shape[1] // groups, *window.kernel)


def _columns(x: Array, window: Window, groups: int) -> Array:
    """``columns`` as a matrix for each group, (groups, C/groups · kernel, N · places)."""
    taken = columns(x, window)
    rows = x.shape[1] // groups * prod(window.kernel)
    return taken.reshape(groups, rows, prod(taken.shape[len(window.kernel) + 1 :]))


def _by_group(y: Array, groups: int) -> Array:
    """(N, O, *P) as a matrix for each group, (groups, O/groups, N · P)."""
    return y.swapaxes(0, 1).reshape(groups, y.shape[1] // groups, y.shape[0] * prod(y.shape[2:]))
