"""The LSTM over all steps: a thread takes some rows of the batch through all of them (_recurrent_numba.py)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import blas
from ..compiled.functions import tanh
from ..compiled.layout import at
from ..compiled.loops import FLOAT32, Indices, Strided, laid, loop
from ..compiled.native import row, sgemm
from ..dtype import Array
from ..products import matmul
from . import Gradients, Needs, wanted
from ._recurrent_numba import ROWS, F, copy, plan, sigmoid_of_sum, tanh_of_sum, unfit


@loop
def run(
    start: int,
    stop: int,
    gemm: int,
    steps: Indices,
    x: Strided,
    turned: Strided,
    out: Strided,
    last: Strided,
    cell: Strided,
    kept: int,
    acts: Strided,
    before: Strided,
    cells: Strided,
    tops: Strided,
    inner: int,
) -> None:
    """Rows [start, stop) of the batch. Each step's gates, h and c of before, and tanh c lie where the step's rows do if
    they are ``kept``, else all steps' in the same place."""
    width = 4 * inner
    for s in range(len(steps) // 2):
        n = min(stop, steps[2 * s + 1]) - start
        if n <= 0:
            continue
        first = steps[2 * s] + start
        base = first if kept else start
        copy(at(before) + 4 * base * inner, at(last) + 4 * start * inner, n * inner)
        a, b = at(acts) + 4 * base * width, at(before) + 4 * base * inner
        sgemm(gemm, False, False, n, width, inner, F(1.0), b, inner, at(turned), width, F(0.0), a, width)
        for r in range(n):
            place, given = a + 4 * r * width, at(x) + 4 * (first + r) * width
            sigmoid_of_sum(place, given, 2 * inner)
            tanh_of_sum(place + 8 * inner, given + 8 * inner, inner)
            sigmoid_of_sum(place + 12 * inner, given + 12 * inner, inner)
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
def run_back(
    start: int,
    stop: int,
    gemm: int,
    steps: Indices,
    g: Strided,
    weight: Strided,
    dh: Strided,
    dc: Strided,
    acts: Strided,
    cells: Strided,
    tops: Strided,
    slope: Strided,
    inner: int,
) -> None:
    """The same rows, from the last step to the first: ``slope`` becomes the gradient of what the gates act on, ``dh``
    and ``dc`` those of the states, first the last ones and then the first ones."""
    width = 4 * inner
    for s in range(len(steps) // 2 - 1, -1, -1):
        n = min(stop, steps[2 * s + 1]) - start
        if n <= 0:
            continue
        first = steps[2 * s] + start
        for r in range(n):
            place, to = at(acts) + 4 * (first + r) * width, at(slope) + 4 * (first + r) * width
            back, flow = row(at(dh) + 4 * (start + r) * inner, inner), row(at(g) + 4 * (first + r) * inner, inner)
            held = row(at(dc) + 4 * (start + r) * inner, inner)
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
                held[j] += back[j] * o[j] * (F(1.0) - top[j] * top[j])
            for j in range(inner):
                di[j] = held[j] * new[j] * i[j] * (F(1.0) - i[j])
            for j in range(inner):
                dnew[j] = held[j] * i[j] * (F(1.0) - new[j] * new[j])
            for j in range(inner):
                df[j] = held[j] * old[j] * f[j] * (F(1.0) - f[j])
            for j in range(inner):
                held[j] *= f[j]
        a, c = at(slope) + 4 * first * width, at(dh) + 4 * start * inner
        sgemm(gemm, False, False, n, inner, width, F(1.0), a, width, at(weight), inner, F(0.0), c, inner)


def forward(
    needs: Needs,
    x: Array,
    weight: Array,
    project: Array | None,
    h: Array,
    c: Array,
    sizes: tuple[int, ...],
    reverse: bool,
) -> tuple[tuple[Array, Array, Array], Any]:
    if project is not None or unfit(sizes, x, weight, h, c) or not blas.sgemm():
        return NotImplemented
    inner, keep = c.shape[1], any(needs)
    out, last, cell = (np.empty((len(x), inner), FLOAT32), h.astype(FLOAT32, order="C"), c.astype(FLOAT32, order="C"))
    kept = len(x) if keep else len(h)
    acts, (before, cells, tops) = np.empty((kept, 4 * inner), FLOAT32), np.empty((3, kept, inner), FLOAT32)
    steps, parts = plan(sizes, reverse), (acts, before, cells, tops)
    with blas.one_thread() as one, one:
        run(len(h), ROWS, blas.sgemm(), steps, laid(x), laid(weight.T), out, last, cell, int(keep), *parts, inner)
    return (out, last, cell), parts if keep else None


def backward(needs: Needs, saved: Any, g: tuple[Array, Array, Array], *args: Any) -> Gradients:
    _, weight, _, h, _, sizes, reverse = args
    acts, before, cells, tops = saved
    slope, dh, dc = np.empty_like(acts), g[1].astype(FLOAT32, order="C"), g[2].astype(FLOAT32, order="C")
    steps, parts = plan(sizes, reverse), (dh, dc, acts, cells, tops, slope)
    with blas.one_thread() as one, one:
        run_back(len(h), ROWS, blas.sgemm(), steps, laid(g[0]), laid(weight), *parts, cells.shape[1])
    return wanted(needs, slope, matmul(slope.T, before) if needs[1] else None, None, dh, dc)
