"""The LSTM and the GRU over all steps. The rows of a batch are independent, so each thread processes all steps for
some of them without synchronization."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from .. import blas
from ..compiled.functions import at, sigmoid, tanh
from ..compiled.loops import FLOAT32, Flat, Indices, Strided, inline, laid, loop
from ..compiled.native import row, sgemm
from ..dtype import Array
from ..products import column_sums, matmul
from . import Gradients, Needs, wanted

F = np.float32
ROWS = 16  # rows of the batch that a thread takes at a time: with fewer, products are less efficient


def plan(sizes: tuple[int, ...], reverse: bool) -> Array:
    """(first row, number of rows) of each step, in the order of the steps, as int64."""
    counts = np.array(sizes, np.int64)
    steps = np.stack([np.cumsum(counts) - counts, counts], 1)
    return np.ascontiguousarray(steps[::-1] if reverse else steps)


def unfit(sizes: tuple[int, ...], *arrays: Any) -> bool:
    """Whether compiled loops do not support these arrays, so that NumPy must be used."""
    return not sizes or any(type(a) is not np.ndarray or a.dtype != np.float32 or not a.size for a in arrays)


@inline
def sigmoid_of_sum(to: int, more: int, count: int) -> None:
    """a ← σ(a + b), for the ``count`` float32 at two addresses."""
    a, b = row(to, count), row(more, count)
    for j in range(count):
        a[j] = sigmoid(a[j] + b[j])


@inline
def tanh_of_sum(to: int, more: int, count: int) -> None:
    """a ← tanh(a + b)"""
    a, b = row(to, count), row(more, count)
    for j in range(count):
        a[j] = tanh(a[j] + b[j])


@inline
def copy(to: int, source: int, count: int) -> None:
    """a ← b"""
    a, b = row(to, count), row(source, count)
    for j in range(count):
        a[j] = b[j]


@loop
def lstm(
    start: int, stop: int, gemm: int, steps: Indices, x: Strided, turned: Strided, out: Strided, last: Strided,
    cell: Strided, keep: int, acts: Strided, before: Strided, cells: Strided, tops: Strided, inner: int,
) -> None:  # fmt: skip
    """Process rows [start, stop) of the batch. If the gates, the previous h and c, and tanh c are kept, each step
    stores them in its own rows. Otherwise, all steps share the same memory."""
    width = 4 * inner
    for s in range(len(steps) // 2):
        n = min(stop, steps[2 * s + 1]) - start
        if n <= 0:
            continue
        first = steps[2 * s] + start
        base = first if keep else start
        copy(at(before) + 4 * base * inner, at(last) + 4 * start * inner, n * inner)
        a, b = at(acts) + 4 * base * width, at(before) + 4 * base * inner
        sgemm(gemm, False, False, n, width, inner, F(1.0), b, inner, at(turned), width, F(0.0), a, width)
        for r in range(n):
            place, source = a + 4 * r * width, at(x) + 4 * (first + r) * width
            sigmoid_of_sum(place, source, 2 * inner)
            tanh_of_sum(place + 8 * inner, source + 8 * inner, inner)
            sigmoid_of_sum(place + 12 * inner, source + 12 * inner, inner)
            i, f = row(place, inner), row(place + 4 * inner, inner)
            g, o = row(place + 8 * inner, inner), row(place + 12 * inner, inner)
            c = row(at(cell) + 4 * (start + r) * inner, inner)
            top = row(at(tops) + 4 * (base + r) * inner, inner)
            copy(at(cells) + 4 * (base + r) * inner, at(cell) + 4 * (start + r) * inner, inner)
            for j in range(inner):
                c[j] = f[j] * c[j] + i[j] * g[j]
            for j in range(inner):
                top[j] = tanh(c[j])
            h = row(at(out) + 4 * (first + r) * inner, inner)
            for j in range(inner):
                h[j] = o[j] * top[j]
            copy(at(last) + 4 * (start + r) * inner, at(out) + 4 * (first + r) * inner, inner)


@loop
def lstm_back(
    start: int, stop: int, gemm: int, steps: Indices, g: Strided, weight: Strided, dh: Strided, dc: Strided,
    acts: Strided, cells: Strided, tops: Strided, grad: Strided, inner: int,
) -> None:  # fmt: skip
    """Gradients for the rows, from the last step to the first. ``grad`` becomes the gradient for the gates' inputs.
    ``dh`` and ``dc`` begin as the gradients for the last states, and become those for the first."""
    width = 4 * inner
    for s in range(len(steps) // 2 - 1, -1, -1):
        n = min(stop, steps[2 * s + 1]) - start
        if n <= 0:
            continue
        first = steps[2 * s] + start
        for r in range(n):
            place, to = at(acts) + 4 * (first + r) * width, at(grad) + 4 * (first + r) * width
            back, flow = row(at(dh) + 4 * (start + r) * inner, inner), row(at(g) + 4 * (first + r) * inner, inner)
            dcell = row(at(dc) + 4 * (start + r) * inner, inner)
            top, old = row(at(tops) + 4 * (first + r) * inner, inner), row(at(cells) + 4 * (first + r) * inner, inner)
            i, f = row(place, inner), row(place + 4 * inner, inner)
            new, o = row(place + 8 * inner, inner), row(place + 12 * inner, inner)
            di, df = row(to, inner), row(to + 4 * inner, inner)
            dnew, do = row(to + 8 * inner, inner), row(to + 12 * inner, inner)
            for j in range(inner):
                back[j] += flow[j]
            for j in range(inner):
                do[j] = back[j] * top[j] * o[j] * (F(1.0) - o[j])
            for j in range(inner):
                dcell[j] += back[j] * o[j] * (F(1.0) - top[j] * top[j])
            for j in range(inner):
                di[j] = dcell[j] * new[j] * i[j] * (F(1.0) - i[j])
            for j in range(inner):
                dnew[j] = dcell[j] * i[j] * (F(1.0) - new[j] * new[j])
            for j in range(inner):
                df[j] = dcell[j] * old[j] * f[j] * (F(1.0) - f[j])
            for j in range(inner):
                dcell[j] *= f[j]
        a, c = at(grad) + 4 * first * width, at(dh) + 4 * start * inner
        sgemm(gemm, False, False, n, inner, width, F(1.0), a, width, at(weight), inner, F(0.0), c, inner)


def lstm_forward(
    needs: Needs, x: Array, weight: Array, project: Array | None, h: Array, c: Array, sizes: tuple[int, ...],
    reverse: bool,
) -> tuple[tuple[Array, Array, Array], Any]:  # fmt: skip
    if project is not None or unfit(sizes, x, weight, h, c) or not blas.sgemm():
        return NotImplemented
    inner, keep = c.shape[1], any(needs)
    out, last, cell = (np.empty((len(x), inner), FLOAT32), h.astype(FLOAT32, order="C"), c.astype(FLOAT32, order="C"))
    size = len(x) if keep else len(h)
    acts, (before, cells, tops) = np.empty((size, 4 * inner), FLOAT32), np.empty((3, size, inner), FLOAT32)
    steps, parts = plan(sizes, reverse), (acts, before, cells, tops)
    with blas.one_thread() as one, one:
        lstm(len(h), ROWS, blas.sgemm(), steps, laid(x), laid(weight.T), out, last, cell, int(keep), *parts, inner)
    return (out, last, cell), parts if keep else None


def lstm_backward(needs: Needs, saved: Any, g: tuple[Array, Array, Array], *args: Any) -> Gradients:
    _, weight, _, h, _, sizes, reverse = args
    acts, before, cells, tops = saved
    grad, dh, dc = np.empty_like(acts), g[1].astype(FLOAT32, order="C"), g[2].astype(FLOAT32, order="C")
    steps, parts = plan(sizes, reverse), (dh, dc, acts, cells, tops, grad)
    with blas.one_thread() as one, one:
        lstm_back(len(h), ROWS, blas.sgemm(), steps, laid(g[0]), laid(weight), *parts, cells.shape[1])
    return wanted(needs, grad, matmul(grad.T, before) if needs[1] else None, None, dh, dc)


@loop
def gru(
    start: int, stop: int, gemm: int, steps: Indices, x: Strided, turned: Strided, bias: Flat, out: Strided,
    last: Strided, keep: int, acts: Strided, before: Strided, shares: Strided, inner: int,
) -> None:  # fmt: skip
    """Process rows [start, stop) of the batch. If the gates, the previous h, and the part of W h + b for n are kept,
    each step stores them in its own rows. Otherwise, all steps share the same memory."""
    width, beta = 3 * inner, F(1.0) if bias.size else F(0.0)
    for s in range(len(steps) // 2):
        n = min(stop, steps[2 * s + 1]) - start
        if n <= 0:
            continue
        first = steps[2 * s] + start
        base = first if keep else start
        a, b = at(acts) + 4 * base * width, at(before) + 4 * base * inner
        copy(b, at(last) + 4 * start * inner, n * inner)
        for r in range(n):
            filled = row(a + 4 * r * width, width)
            for j in range(bias.size):
                filled[j] = bias[j]
        sgemm(gemm, False, False, n, width, inner, F(1.0), b, inner, at(turned), width, beta, a, width)
        for r in range(n):
            place, source = a + 4 * r * width, at(x) + 4 * (first + r) * width
            sigmoid_of_sum(place, source, 2 * inner)
            reset, z, new = row(place, inner), row(place + 4 * inner, inner), row(place + 8 * inner, inner)
            share, more = row(at(shares) + 4 * (base + r) * inner, inner), row(source + 8 * inner, inner)
            old, h = row(b + 4 * r * inner, inner), row(at(out) + 4 * (first + r) * inner, inner)
            for j in range(inner):
                share[j] = new[j]
            for j in range(inner):
                new[j] = tanh(more[j] + reset[j] * new[j])
            for j in range(inner):
                h[j] = new[j] + z[j] * (old[j] - new[j])
        copy(at(last) + 4 * start * inner, at(out) + 4 * first * inner, n * inner)


@loop
def gru_back(
    start: int, stop: int, gemm: int, steps: Indices, g: Strided, weight: Strided, dh: Strided, acts: Strided,
    before: Strided, shares: Strided, grad: Strided, dnew: Strided, inner: int,
) -> None:  # fmt: skip
    """Gradients for the rows, from the last step to the first. ``grad`` becomes the gradient for W h + b, and ``dnew``
    the one for tanh's input. ``dh`` begins as the gradient for the last h, and becomes the one for the first."""
    width = 3 * inner
    for s in range(len(steps) // 2 - 1, -1, -1):
        n = min(stop, steps[2 * s + 1]) - start
        if n <= 0:
            continue
        first = steps[2 * s] + start
        for r in range(n):
            place, to = at(acts) + 4 * (first + r) * width, at(grad) + 4 * (first + r) * width
            back, flow = row(at(dh) + 4 * (start + r) * inner, inner), row(at(g) + 4 * (first + r) * inner, inner)
            reset, z, new = row(place, inner), row(place + 4 * inner, inner), row(place + 8 * inner, inner)
            dr, dz, dshare = row(to, inner), row(to + 4 * inner, inner), row(to + 8 * inner, inner)
            dn, share = row(at(dnew) + 4 * (first + r) * inner, inner), row(at(shares) + 4 * (first + r) * inner, inner)
            old = row(at(before) + 4 * (first + r) * inner, inner)
            for j in range(inner):
                back[j] += flow[j]
            for j in range(inner):
                dz[j] = back[j] * (old[j] - new[j]) * z[j] * (F(1.0) - z[j])
            for j in range(inner):
                dn[j] = back[j] * (F(1.0) - z[j]) * (F(1.0) - new[j] * new[j])
            for j in range(inner):
                back[j] *= z[j]  # the direct path to the previous h
            for j in range(inner):
                dr[j] = dn[j] * share[j] * reset[j] * (F(1.0) - reset[j])
            for j in range(inner):
                dshare[j] = dn[j] * reset[j]
        a, c = at(grad) + 4 * first * width, at(dh) + 4 * start * inner
        sgemm(gemm, False, False, n, inner, width, F(1.0), a, width, at(weight), inner, F(1.0), c, inner)


def gru_forward(
    needs: Needs, x: Array, weight: Array, bias: Array | None, h: Array, sizes: tuple[int, ...], reverse: bool
) -> tuple[tuple[Array, Array], Any]:
    if unfit(sizes, x, weight, h, *(() if bias is None else (bias,))) or not blas.sgemm():
        return NotImplemented
    inner, keep = h.shape[1], any(needs)
    out, last, size = np.empty((len(x), inner), FLOAT32), h.astype(FLOAT32, order="C"), len(x) if keep else len(h)
    acts, (before, shares) = np.empty((size, 3 * inner), FLOAT32), np.empty((2, size, inner), FLOAT32)
    steps, inputs = plan(sizes, reverse), (laid(x), laid(weight.T), laid(bias))
    with blas.one_thread() as one, one:
        gru(len(h), ROWS, blas.sgemm(), steps, *inputs, out, last, int(keep), acts, before, shares, inner)
    return (out, last), (acts, before, shares) if keep else None


def gru_backward(needs: Needs, saved: Any, g: tuple[Array, Array], *args: Any) -> Gradients:
    _, weight, _, h, sizes, reverse = args
    acts, before, shares = saved
    grad, dnew, dh = np.empty_like(acts), np.empty_like(before), g[1].astype(FLOAT32, order="C")
    parts, inner = (acts, before, shares, grad, dnew), h.shape[1]
    with blas.one_thread() as one, one:
        gru_back(len(h), ROWS, blas.sgemm(), plan(sizes, reverse), laid(g[0]), laid(weight), dh, *parts, inner)
    dweight = matmul(grad.T, before) if needs[1] else None
    dbias = column_sums(grad) if needs[2] else None
    grad[:, 2 * inner :] = dnew  # now the gradient for x
    return wanted(needs, grad, dweight, dbias, dh)


KERNELS = {
    "gru": SimpleNamespace(forward=gru_forward, backward=gru_backward),
    "lstm": SimpleNamespace(forward=lstm_forward, backward=lstm_backward),
}
