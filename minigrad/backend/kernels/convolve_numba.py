"""Convolution over one or two axes. The windows of some output rows are unrolled into a block that stays in cache, and
multiplied there. A thread handles some output rows or channels of one image. For the weight's gradient, it handles some
channels of several images."""

from __future__ import annotations

from math import prod
from types import SimpleNamespace
from typing import Any

import numpy as np

from .. import blas
from ..compiled.functions import at
from ..compiled.loops import FLOAT32, Flat, Indices, Strided, fits, inline, laid, loop, scratch
from ..compiled.native import row, sgemm
from ..dtype import Array
from ..window import Ints, Window
from . import Gradients, Needs, wanted

F = np.float32
SPACE = 1 << 16  # float32 values in a block: half of an L2 cache
CHANNELS = 16  # channels in a block, for gradients
PARTS = 8  # the smallest number of work items for the weight's gradient


@inline
def inside(n: int, count: int, step: int, offset: int) -> tuple[int, int]:
    """The range [first, last) of the ``count`` positions ("places") for which 0 <= place · step + offset < n."""
    first = max(0, (-offset + step - 1) // step)
    last = min(count, (n - 1 - offset) // step + 1)
    return min(first, count), max(min(first, count), last)


@inline
def unroll(shape: Any, image: int, channels: int, y: int, rows: int, to: int) -> None:
    """The inputs under each kernel element, for ``rows`` output rows starting at ``y``: (channels · kernel, places)."""
    height, width, places, kh, kw = shape[1], shape[2], shape[5], shape[6], shape[7]
    for i in range(channels * kh * kw):
        c, ky, kx = i // (kh * kw), i // kw % kh, i % kw
        first, last = inside(width, places, shape[9], kx * shape[13] - shape[11])
        for r in range(rows):
            there = (y + r) * shape[8] + ky * shape[12] - shape[10]
            out = row(to + 4 * (i * rows + r) * places, places)
            if there < 0 or there >= height or first == last:
                for j in range(places):
                    out[j] = F(0.0)
                continue
            for j in range(first):
                out[j] = F(0.0)
            for j in range(last, places):
                out[j] = F(0.0)
            start = (c * height + there) * width + first * shape[9] + kx * shape[13] - shape[11]
            part, img = row(to + 4 * ((i * rows + r) * places + first), last - first), row(image + 4 * start, width)
            if shape[9] == 1:
                for j in range(last - first):
                    part[j] = img[j]
            else:
                for j in range(last - first):
                    part[j] = img[j * shape[9]]


@inline
def overlay(shape: Any, source: int, channels: int, y: int, rows: int, image: int) -> None:
    """The transpose of ``unroll``, which adds the elements back to the image."""
    height, width, places, kh, kw = shape[1], shape[2], shape[5], shape[6], shape[7]
    for i in range(channels * kh * kw):
        c, ky, kx = i // (kh * kw), i // kw % kh, i % kw
        first, last = inside(width, places, shape[9], kx * shape[13] - shape[11])
        for r in range(rows):
            there = (y + r) * shape[8] + ky * shape[12] - shape[10]
            if there < 0 or there >= height or first == last:
                continue
            start = (c * height + there) * width + first * shape[9] + kx * shape[13] - shape[11]
            part, img = row(source + 4 * ((i * rows + r) * places + first), last - first), row(image + 4 * start, width)
            if shape[9] == 1:
                for j in range(last - first):
                    img[j] += part[j]
            else:
                for j in range(last - first):
                    img[j * shape[9]] += part[j]


@loop
def convolve(
    start: int, stop: int, thread: int, gemm: int, shape: Indices, x: Strided, weight: Strided, bias: Flat,
    out: Strided, space: Strided, size: int, tall: int,
) -> None:  # fmt: skip
    """y = W x + b. A work item is an image, a group and ``tall`` output rows."""
    channels, count, high, places, groups = shape[0], shape[3], shape[4], shape[5], shape[14]
    inner, outer, depth = channels // groups, count // groups, channels // groups * shape[6] * shape[7]
    tiles, area, plane = (high + tall - 1) // tall, high * places, shape[1] * shape[2]
    beta = F(1.0) if bias.size else F(0.0)
    for task in range(start, stop):
        n, group, y = task // (groups * tiles), task // tiles % groups, task % tiles * tall
        rows = min(tall, high - y)
        image = at(x) + 4 * (n * channels + group * inner) * plane
        block, lead = at(space) + 4 * thread * size, rows * places
        if shape[15]:
            block, lead = image + 4 * y * places, area
        else:
            unroll(shape, image, inner, y, rows, block)
        to = at(out) + 4 * ((n * count + group * outer) * area + y * places)
        if bias.size:
            for o in range(outer):
                line, shift = row(to + 4 * o * area, rows * places), bias[group * outer + o]
                for j in range(rows * places):
                    line[j] = shift
        a = at(weight) + 4 * group * outer * depth
        sgemm(gemm, False, False, outer, rows * places, depth, F(1.0), a, depth, block, lead, beta, to, area)


@loop
def convolve_data(
    start: int, stop: int, thread: int, gemm: int, shape: Indices, g: Strided, weight: Strided, out: Strided,
    space: Strided, size: int, tall: int, wide: int,
) -> None:  # fmt: skip
    """dx = the overlapping sum of Wᵀ g. A work item is an image, a group and ``wide`` channels."""
    channels, count, high, places, groups = shape[0], shape[3], shape[4], shape[5], shape[14]
    inner, outer, kernel = channels // groups, count // groups, shape[6] * shape[7]
    blocks, area, plane = (inner + wide - 1) // wide, high * places, shape[1] * shape[2]
    for task in range(start, stop):
        n, group, c = task // (groups * blocks), task // blocks % groups, task % blocks * wide
        several = min(wide, inner - c)
        image, block = at(out) + 4 * (n * channels + group * inner + c) * plane, at(space) + 4 * thread * size
        a = at(weight) + 4 * (group * outer * inner + c) * kernel
        if not shape[15]:
            empty = row(image, several * plane)
            for j in range(several * plane):
                empty[j] = F(0.0)
        for y in range(0, high, tall):
            rows = min(tall, high - y)
            lead = rows * places
            if shape[15]:
                block, lead = image + 4 * y * places, area
            b = at(g) + 4 * ((n * count + group * outer) * area + y * places)
            m, k = several * kernel, inner * kernel
            sgemm(gemm, True, False, m, rows * places, outer, F(1.0), a, k, b, area, F(0.0), block, lead)
            if not shape[15]:
                overlay(shape, block, several, y, rows, image)


@loop
def convolve_weight(
    start: int, stop: int, thread: int, gemm: int, shape: Indices, x: Strided, g: Strided, out: Strided, space: Strided,
    size: int, tall: int, wide: int, images: int, parts: int,
) -> None:  # fmt: skip
    """dW = g xᵀ. A work item is some of the ``images``, a group and ``wide`` channels, with its own partial sum."""
    channels, count, high, places, groups = shape[0], shape[3], shape[4], shape[5], shape[14]
    inner, outer, kernel = channels // groups, count // groups, shape[6] * shape[7]
    blocks, area, plane = (inner + wide - 1) // wide, high * places, shape[1] * shape[2]
    for task in range(start, stop):
        part, group, c = task // (groups * blocks), task // blocks % groups, task % blocks * wide
        several, beta = min(wide, inner - c), F(0.0)
        to = at(out) + 4 * ((part * count + group * outer) * inner + c) * kernel
        for n in range(images * part // parts, images * (part + 1) // parts):
            image = at(x) + 4 * (n * channels + group * inner + c) * plane
            for y in range(0, high, tall):
                rows = min(tall, high - y)
                block, lead = at(space) + 4 * thread * size, rows * places
                if shape[15]:
                    block, lead = image + 4 * y * places, area
                else:
                    unroll(shape, image, several, y, rows, block)
                a = at(g) + 4 * ((n * count + group * outer) * area + y * places)
                m, k = several * kernel, inner * kernel
                sgemm(gemm, False, True, outer, m, rows * places, F(1.0), a, area, block, lead, beta, to, k)
                beta = F(1.0)


def geometry(window: Window, channels: int, lengths: Ints, count: int, groups: int) -> Array:
    """Channels, lengths, channels of the result, places, kernel, stride, padding before, dilation, groups, and whether
    the windows are the single elements in order, in which case ``unroll`` would change nothing."""
    pads = [before for before, _ in window.padding]
    one = prod(window.kernel) == prod(window.stride) == 1 and not any(map(any, window.padding))
    pairs = (lengths, window.places(lengths), window.kernel, window.stride, pads, window.dilation)
    size, places, kernel, stride, pad, apart = (((0 if values is pads else 1), *values)[-2:] for values in pairs)
    return np.array([channels, *size, count, *places, *kernel, *stride, *pad, *apart, groups, one], np.int64)


def takes(window: Window, *arrays: Array | None) -> bool:
    """Whether the compiled loops support these arrays."""
    return len(window.kernel) <= 2 and all(fits(a) for a in arrays if a is not None) and bool(blas.sgemm())


def _cut(shape: Array, channels: int) -> tuple[int, int]:
    """The number of output rows in a block of ``channels``, and the block's size."""
    each = channels * int(shape[6] * shape[7] * shape[5])  # an output row
    tall = max(1, min(SPACE // each, int(shape[4])))
    return tall, 0 if shape[15] else tall * each


def apply(x: Array, weight: Array, bias: Array | None, window: Window, groups: int) -> Array:
    """The result of the convolution."""
    lengths = x.shape[2:]
    shape = geometry(window, x.shape[1], lengths, len(weight), groups)
    out = np.empty((len(x), len(weight), *window.places(lengths)), FLOAT32)
    tall, size = _cut(shape, weight.shape[1])
    tasks = len(x) * groups * -(-int(shape[4]) // tall)
    inputs = (laid(x), laid(weight), laid(bias))
    with blas.one_thread() as one, one:
        convolve(tasks, 1, blas.sgemm(), shape, *inputs, out, scratch(size), size, tall)
    return out


def apply_back(g: Array, weight: Array, window: Window, groups: int, lengths: Ints) -> Array:
    """The gradient for x."""
    inner = weight.shape[1]
    shape = geometry(window, inner * groups, lengths, len(weight), groups)
    out, wide = np.empty((len(g), inner * groups, *lengths), FLOAT32), min(CHANNELS, inner)
    tall, size = _cut(shape, wide)
    tasks, inputs = len(g) * groups * -(-inner // wide), (laid(g), laid(weight))
    with blas.one_thread() as one, one:
        convolve_data(tasks, 1, blas.sgemm(), shape, *inputs, out, scratch(size), size, tall, wide)
    return out


def apply_weight(x: Array, g: Array, window: Window, groups: int) -> Array:
    """The gradient for the weight."""
    inner = x.shape[1] // groups
    shape, wide = geometry(window, x.shape[1], x.shape[2:], g.shape[1], groups), min(CHANNELS, inner)
    tall, size = _cut(shape, wide)
    pieces = groups * -(-inner // wide)
    parts = min(len(x), -(-PARTS // pieces))
    out, inputs = np.empty((parts, g.shape[1], inner, *window.kernel), FLOAT32), (laid(x), laid(g))
    with blas.one_thread() as one, one:
        convolve_weight(
            parts * pieces, 1, blas.sgemm(), shape, *inputs, out, scratch(size), size, tall, wide, len(x), parts
        )
    total: Array = out[0] if parts == 1 else out.sum(0)
    return total


def forward(
    needs: Needs, x: Array, weight: Array, bias: Array | None, window: Window, groups: int
) -> tuple[Array, None]:
    return (apply(x, weight, bias, window, groups), None) if takes(window, x, weight, bias) else NotImplemented


def backward(needs: Needs, saved: None, g: Array, *args: Any) -> Gradients:
    x, weight, _, window, groups = args
    dx = apply_back(g, weight, window, groups, x.shape[2:]) if needs[0] else None
    dweight = apply_weight(x, g, window, groups) if needs[1] else None
    dbias = None
    if needs[2]:
        planes = laid(g).reshape(-1, prod(g.shape[2:]))
        with blas.one_thread() as one, one:  # otherwise, OpenBLAS's threads wake and take cores from the next loops
            dbias = (planes @ np.ones(planes.shape[1], FLOAT32)).reshape(g.shape[:2]).sum(0)
    return wanted(needs, dx, dweight, dbias)


def back_forward(
    needs: Needs, y: Array, weight: Array, window: Window, groups: int, lengths: Ints
) -> tuple[Array, None]:
    return (apply_back(y, weight, window, groups, lengths), None) if takes(window, y, weight) else NotImplemented


def back_backward(needs: Needs, saved: None, g: Array, *args: Any) -> Gradients:
    y, weight, window, groups, _ = args
    dy = apply(g, weight, None, window, groups) if needs[0] else None
    return wanted(needs, dy, apply_weight(g, y, window, groups) if needs[1] else None)


KERNELS = {
    "convolve": SimpleNamespace(forward=forward, backward=backward),
    "convolve_back": SimpleNamespace(forward=back_forward, backward=back_backward),  # gradients are convolutions
}
