"""Convolution with steps of 1 over one or two axes, without unrolling: a product for each element of the kernel.

A padded image lies row behind row. What one element of the kernel meets at all places is then the image itself, from
some element on: at the end of each row come a few numbers too many, whose results are left out.
"""

from __future__ import annotations

from math import prod

import numpy as np

from . import blas
from .compiled.layout import at
from .compiled.loops import FLOAT32, Flat, Indices, Strided, laid, loop, scratch
from .compiled.native import row, sgemm
from .dtype import Array
from .window import Ints, Window

F = np.float32
SPACE = 1 << 17  # float32 of a thread: of a padded image and its result, for a second-level cache
CHANNELS = 16  # from which on a product with an element is worth its call


@loop
def convolve(
    start: int,
    stop: int,
    thread: int,
    gemm: int,
    shape: Indices,
    x: Strided,
    taps: Strided,
    bias: Flat,
    out: Strided,
    space: Strided,
    size: int,
    tall: int,
) -> None:
    """y = Σ W x + b, for (image, group, ``tall`` rows of places); ``taps`` are W as (*kernel, O, C)."""
    inner, outer, groups = shape[0], shape[1], shape[2]
    height, width, high, places, kh, kw = shape[3], shape[4], shape[5], shape[6], shape[7], shape[8]
    above, left, dy, dx = shape[9], shape[10], shape[11], shape[12]
    wide, tiles = places + (kw - 1) * dx, (high + tall - 1) // tall
    for task in range(start, stop):
        n, group, y = task // (groups * tiles), task // tiles % groups, task % tiles * tall
        rows = min(tall, high - y)
        deep, block = rows + (kh - 1) * dy, at(space) + 4 * thread * size
        result = block + 4 * inner * deep * wide
        for i in range(inner * deep):
            there = y + i % deep - above
            line = row(block + 4 * i * wide, wide)
            if there < 0 or there >= height:
                for j in range(wide):
                    line[j] = F(0.0)
                continue
            seen = row(at(x) + 4 * (((n * groups + group) * inner + i // deep) * height + there) * width, width)
            for j in range(left):
                line[j] = F(0.0)
            for j in range(width):
                line[left + j] = seen[j]
            for j in range(left + width, wide):
                line[j] = F(0.0)
        count = rows * wide - (kw - 1) * dx
        for t in range(kh * kw):
            a = at(taps) + 4 * (t * groups + group) * outer * inner
            b = block + 4 * (t // kw * dy * wide + t % kw * dx)
            beta = F(1.0) if t else F(0.0)
            sgemm(gemm, False, False, outer, count, inner, F(1.0), a, inner, b, deep * wide, beta, result, rows * wide)
        for i in range(outer * rows):
            o = group * outer + i // rows
            shift = bias[o] if bias.size else F(0.0)
            found = row(result + 4 * i * wide, places)
            to = row(at(out) + 4 * (((n * groups * outer + o) * high) + y + i % rows) * places, places)
            for j in range(places):
                to[j] = found[j] + shift


def takes(window: Window, channels: int) -> bool:
    """Whether this is the faster way; ``channels``: of a group."""
    return prod(window.stride) == 1 < prod(window.kernel) and channels >= CHANNELS


def apply(x: Array, weight: Array, bias: Array | None, window: Window, groups: int) -> Array:
    """The convolution of x (N, groups · C, *lengths) by a weight (O, C, *kernel)."""
    n, lengths, places = len(x), x.shape[2:], window.places(x.shape[2:])
    outer, inner = len(weight) // groups, weight.shape[1]
    pads = [before for before, _ in window.padding]
    pairs = (lengths, places, window.kernel, pads, window.dilation)
    size, (high, wide), kernel, before, apart = (((0 if values is pads else 1), *values)[-2:] for values in pairs)
    deep, wide = (kernel[0] - 1) * apart[0], wide + (kernel[1] - 1) * apart[1]
    tall = min(high, max(1, (SPACE // wide - inner * deep) // (inner + outer)))
    shape = np.array([inner, outer, groups, *size, high, places[-1], *kernel, *before, *apart], np.int64)
    taps = np.ascontiguousarray(weight.reshape(*weight.shape[:2], -1).transpose(2, 0, 1), FLOAT32)
    out = np.empty((n, len(weight), *places), FLOAT32)
    space = (inner * (tall + deep) + outer * tall) * wide
    tasks, given = n * groups * -(-high // tall), (laid(x), taps, laid(bias))
    with blas.one_thread() as one, one:
        convolve(tasks, 1, blas.sgemm(), shape, *given, out, scratch(space), space, tall)
    return out


def turned(weight: Array, window: Window, groups: int) -> tuple[Array, Window] | None:
    """The weight and the window of the convolution that gives the gradient of x; None if it has more padding than the
    kernel reaches."""
    span = window.span()
    padding = tuple((n - 1 - before, n - 1 - after) for n, (before, after) in zip(span, window.padding, strict=True))
    if min(map(min, padding)) < 0:
        return None
    count, inner, *kernel = weight.shape
    flipped = np.flip(weight, tuple(range(2, weight.ndim))).reshape(groups, count // groups, inner, *kernel)
    return flipped.swapaxes(1, 2).reshape(groups * inner, count // groups, *kernel), window._replace(padding=padding)


def apply_back(g: Array, weight: Array, window: Window, groups: int, lengths: Ints) -> Array | None:
    """The gradient of x, of these lengths; None if this is not the way to it."""
    back = turned(weight, window, groups) if takes(window, len(weight) // groups) else None
    if back is None or back[1].places(g.shape[2:]) != lengths:
        return None
    return apply(g, back[0], None, back[1], groups)
